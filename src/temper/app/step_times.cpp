#include "temper/app/step_times.h"

#include <fmt/format.h>

#include <algorithm>

#include "temper/app/inference.h"
#include "temper/app/options.h"
#include "temper/measure/timing_lock.h"
#include "temper/peers/interleave.h"
#include "temper/support/error.h"

namespace temper::app {
namespace {

constexpr int kWarmupRuns = 3;

double sum(const std::vector<StepTime>& steps, double StepTime::* seconds) {
  double all = 0;
  for (const StepTime& step : steps) all += step.*seconds;
  return all;
}

}  // namespace

std::vector<StepTime> time_steps(const graph::Program& program, const std::shared_ptr<const runtime::Plan>& plan,
                                 const StepTimesOptions& options) {
  Inference inference(plan, options.threads, true);
  inference.fill_random(options.seed);
  measure::TimingLock lock;
  const auto guard = lock.acquire(measure::TimingLock::Mode::Time, options.cancellation);
  std::vector<std::vector<double>> samples(program.steps.size());
  for (int run = 0; run < kWarmupRuns + options.runs; ++run) {
    options.cancellation.throw_if_requested();
    inference.run();
    if (run < kWarmupRuns) continue;
    const std::span<const double> seconds = inference.step_seconds();
    TEMPER_CHECK(seconds.size() == samples.size(), "the plan is of another program");
    for (std::size_t i = 0; i < samples.size(); ++i) samples[i].push_back(seconds[i]);
  }
  std::vector<StepTime> out;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const graph::Step& step = program.steps[i];
    const graph::Task& task = program.tasks[static_cast<std::size_t>(step.task)];
    const double fastest = *std::ranges::min_element(samples[i]);
    out.push_back({step.name, task.key.text(), task.work.flops, peers::median(std::move(samples[i])), fastest});
  }
  return out;
}

std::string text(const std::vector<StepTime>& steps) {
  const double all = sum(steps, &StepTime::median_seconds);
  std::string out = fmt::format("{:>12} {:>6} {:>12} {:>15}\n", "median", "", "min", "");
  for (const StepTime& step : steps) {
    out += fmt::format("{:>12} {:>5.1f}% {:>12} {:>7.1f} GFLOP/s  {:<28} {}\n", seconds_text(step.median_seconds),
                       all > 0 ? 100 * step.median_seconds / all : 0, seconds_text(step.min_seconds),
                       step.min_seconds > 0 ? step.flops / step.min_seconds * 1e-9 : 0, step.step, step.task);
  }
  return out + fmt::format("{:>12} {:>6} {:>12} in {} steps\n", seconds_text(all), "",
                           seconds_text(sum(steps, &StepTime::min_seconds)), steps.size());
}

nlohmann::json to_json(const std::vector<StepTime>& steps) {
  nlohmann::json out = nlohmann::json::array();
  for (const StepTime& step : steps) {
    out.push_back({{"step", step.step},
                   {"task", step.task},
                   {"flops", step.flops},
                   {"median_seconds", step.median_seconds},
                   {"min_seconds", step.min_seconds}});
  }
  return out;
}

}  // namespace temper::app
