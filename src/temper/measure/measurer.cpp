#include "temper/measure/measurer.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "temper/measure/placement.h"
#include "temper/measure/runner_client.h"
#include "temper/measure/statistics.h"
#include "temper/protocol/failure.h"
#include "temper/runtime/thread_pool.h"
#include "temper/support/error.h"

namespace temper::measure {
namespace {

using record::FailureKind;

/// Fills in what the options leave to the machine. `runs`: whether runners are started here.
MeasureOptions completed(MeasureOptions options, bool runs) {
  if (options.threads < 1) {
    throw Error(ErrorCode::InvalidArgument, "cannot time " + std::to_string(options.threads) + " threads", "threads",
                "use 1 or more");
  }
  const std::int64_t half_of_memory = sysconf(_SC_PHYS_PAGES) / 2 * sysconf(_SC_PAGESIZE);
  if (options.runner_memory_limit == 0) options.runner_memory_limit = half_of_memory;
  if (options.builder_memory_limit == 0) options.builder_memory_limit = half_of_memory;
  if (options.builders == 0) options.builders = static_cast<int>(runtime::allowed_cpus().size());
  if (options.cpus.empty() && runs) options.cpus = timing_cpus(options.threads);
  if (options.builder.empty()) options.builder = find_program("temper-builder");
  if (options.runner.empty() && runs) options.runner = find_program("temper-runner");
  if (options.lock_file.empty()) options.lock_file = TimingLock::default_file();
  return options;
}

BuilderOptions builder_options(const MeasureOptions& options) {
  BuilderOptions result;
  result.command = {options.builder, options.builder_memory_limit, {}};
  result.count = options.builders;
  result.build_limit_seconds = options.build_limit_seconds;
  return result;
}

RunnerOptions runner_options(const MeasureOptions& options) {
  RunnerOptions result;
  result.command = {options.runner, options.runner_memory_limit, options.cpus};
  return result;
}

record::Measurement measurement_of(const protocol::MeasureReply& reply, const std::vector<double>& samples) {
  record::Measurement result;
  result.failure = protocol::from_message(reply.failure());
  result.reason = reply.reason();
  result.max_error = reply.max_error();
  if (!result.ok()) return result;
  result.number = reply.number();
  result.repeats = static_cast<int>(samples.size());
  if (!samples.empty()) {
    result.min_seconds = minimum(samples);
    result.median_seconds = median(samples);
  }
  return result;
}

}  // namespace

Measurer::Measurer(std::string target, MeasureOptions options, const Clock& clock)
    : Measurer(std::move(target), std::move(options), clock, nullptr) {}

Measurer::Measurer(std::string target, MeasureOptions options, const Clock& clock, std::unique_ptr<RunnerAccess> runner)
    : target_(std::move(target)),
      options_(completed(std::move(options), runner == nullptr)),
      clock_(&clock),
      lock_(options_.lock_file),
      builder_(spawner_, builder_options(options_)),
      runner_(runner != nullptr ? std::move(runner)
                                : std::make_unique<RunnerClient>(spawner_, runner_options(options_))) {}

void Measurer::set_task(protocol::SetTask task, std::optional<double> best_seconds) {
  task.set_task(++task_);
  runner_->set_task(std::move(task));
  best_seconds_ = best_seconds;
}

TimingLock::Guard Measurer::lock(TimingLock::Mode mode, const CancellationToken& cancelled) {
  const double start = clock_->seconds();
  std::optional<TimingLock::Guard> guard = lock_.acquire(mode, cancelled);
  phases_.idle += clock_->seconds() - start;
  if (!guard) cancelled.throw_if_requested();
  return std::move(*guard);
}

std::optional<TimingLock::Guard> Measurer::lock_to_time(const CancellationToken& cancelled) {
  if (runner_->locks()) return std::nullopt;
  return lock(TimingLock::Mode::Time, cancelled);
}

template <class Reply>
double Measurer::count_run(double start, const Reply& reply) {
  disturbed_.clock += reply.disturbed().clock();
  disturbed_.others += reply.disturbed().others();
  if (reply.best_probe_seconds() > 0) best_probe_seconds_ = reply.best_probe_seconds();
  const double took = clock_->seconds() - start;
  const double idle = std::clamp(reply.waited_seconds(), 0.0, took);
  phases_.idle += idle;
  phases_.run += took - idle;
  return took - idle;
}

protocol::Timing Measurer::timing() const {
  protocol::Timing timing;
  timing.set_threads(options_.threads);
  timing.set_repeats(options_.repeats);
  timing.set_min_sample_seconds(options_.min_sample_seconds);
  timing.set_number(options_.number);
  timing.set_cold(options_.cold);
  timing.set_time_limit_seconds(options_.run_limit_seconds);
  timing.set_retakes(options_.retakes);
  timing.set_best_probe_seconds(best_probe_seconds_);
  if (best_seconds_ && options_.give_up_factor > 0)
    timing.set_give_up_above_seconds(*best_seconds_ * options_.give_up_factor);
  return timing;
}

void Measurer::keep_busy(const std::function<void()>& work, const CancellationToken& cancelled) {
  const TimingLock::Guard guard = lock(TimingLock::Mode::Build, cancelled);
  work();
}

std::vector<protocol::BuildReply> Measurer::build(std::span<const MeasureInput> batch,
                                                  const CancellationToken& cancelled) {
  std::vector<protocol::BuildRequest> requests;
  for (const MeasureInput& input : batch) {
    protocol::BuildRequest& request = requests.emplace_back();
    request.set_compute(input.compute);
    request.set_trace(input.trace);
    request.set_target(target_);
    *request.mutable_options() = options_.build;
  }
  const TimingLock::Guard guard = lock(TimingLock::Mode::Build, cancelled);
  const double start = clock_->seconds();
  std::vector<protocol::BuildReply> replies = builder_.build(std::move(requests), cancelled);
  phases_.build += clock_->seconds() - start;
  return replies;
}

protocol::MeasureReply Measurer::run(const protocol::MeasureRequest& request, const CancellationToken& cancelled,
                                     double& seconds) {
  const std::optional<TimingLock::Guard> guard = lock_to_time(cancelled);
  const double start = clock_->seconds();
  protocol::MeasureReply reply = runner_->measure(request, cancelled);
  seconds += count_run(start, reply);
  return reply;
}

Measured Measurer::time(const std::string& artifact, bool check, const CancellationToken& cancelled) {
  protocol::MeasureRequest request;
  request.set_task(task_);
  request.set_artifact(artifact);
  request.set_check(check);
  *request.mutable_timing() = timing();

  Measured result;
  result.done = true;
  result.artifact = artifact;
  std::vector<double> samples;
  double seconds = 0;
  for (int round = 0;; ++round) {
    request.set_id(next_id_++);
    const protocol::MeasureReply reply = run(request, cancelled, seconds);
    if (samples.empty() || reply.failure() != protocol::FAILURE_NONE) {
      samples.insert(samples.end(), reply.seconds().begin(), reply.seconds().end());
      result.measurement = measurement_of(reply, samples);
    } else {
      samples.insert(samples.end(), reply.seconds().begin(), reply.seconds().end());
      result.measurement.min_seconds = minimum(samples);
      result.measurement.median_seconds = median(samples);
      result.measurement.repeats = static_cast<int>(samples.size());
    }
    if (!result.measurement.ok() || samples.empty() || is_stable(samples, options_.stability_tolerance)) break;
    if (round == options_.stability_retries) {
      result.measurement.failure = FailureKind::Unstable;
      result.measurement.reason = "the fastest of " + std::to_string(samples.size()) + " samples stands alone";
      break;
    }
    request.set_check(false);
  }
  result.measurement.run_seconds = seconds;
  if (result.measurement.ok() && !samples.empty()) {
    best_seconds_ = std::min(best_seconds_.value_or(result.measurement.min_seconds), result.measurement.min_seconds);
  }
  return result;
}

std::vector<Measured> Measurer::measure(std::span<const MeasureInput> batch, const CancellationToken& cancelled,
                                        const Progress& progress) {
  std::vector<Measured> results(batch.size());
  try {
    std::vector<protocol::BuildReply> replies = build(batch, cancelled);
    const auto built =
        static_cast<std::size_t>(std::ranges::count_if(replies, [](const auto& reply) { return reply.id() != 0; }));
    std::size_t finished = 0;
    for (std::size_t i = 0; i < replies.size(); ++i) {
      protocol::BuildReply& reply = replies[i];
      if (reply.id() == 0) continue;
      Measured measured;
      if (reply.failure() == protocol::FAILURE_NONE) {
        measured = time(reply.artifact(), true, cancelled);
      } else {
        measured.done = true;
        measured.measurement.failure = protocol::from_message(reply.failure());
        measured.measurement.reason = reply.reason();
      }
      measured.measurement.build_seconds = reply.seconds();
      for (const protocol::StepSeconds& step : reply.steps()) measured.build_steps[step.step()] = step.seconds();
      results[i] = std::move(measured);
      ++finished;
      if (progress) progress(built, finished, i, results[i]);
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Cancelled) throw;
  }
  return results;
}

Measurer::Outputs Measurer::run_once(const std::string& artifact, const CancellationToken& cancelled) {
  protocol::MeasureRequest request;
  request.set_id(next_id_++);
  request.set_task(task_);
  request.set_artifact(artifact);
  request.set_return_outputs(true);
  *request.mutable_timing() = timing();
  request.mutable_timing()->set_repeats(0);
  double seconds = 0;
  const protocol::MeasureReply reply = run(request, cancelled, seconds);
  Outputs result;
  result.measurement = measurement_of(reply, {});
  result.measurement.run_seconds = seconds;
  for (const protocol::OutputData& output : reply.outputs()) result.outputs[output.name()] = output.data();
  return result;
}

Measurer::Race Measurer::race(std::span<const std::string> artifacts, std::span<const std::int64_t> numbers, int rounds,
                              std::uint64_t seed, const CancellationToken& cancelled) {
  protocol::RaceRequest request;
  request.set_id(next_id_++);
  request.set_task(task_);
  request.set_seed(seed);
  for (const std::string& artifact : artifacts) request.add_artifacts(artifact);
  for (const std::int64_t number : numbers) request.add_numbers(number);
  *request.mutable_timing() = timing();
  request.mutable_timing()->set_repeats(rounds);
  request.mutable_timing()->set_give_up_above_seconds(0);
  request.mutable_timing()->set_time_limit_seconds(options_.run_limit_seconds *
                                                   static_cast<double>(std::max<std::size_t>(artifacts.size(), 1)));
  const std::optional<TimingLock::Guard> guard = lock_to_time(cancelled);
  const double start = clock_->seconds();
  const protocol::RaceReply reply = runner_->race(request, cancelled);
  count_run(start, reply);
  Race result{protocol::from_message(reply.failure()), reply.reason(), {}, {}};
  for (const protocol::RaceSamples& samples : reply.racers()) {
    result.seconds.emplace_back(samples.seconds().begin(), samples.seconds().end());
    result.numbers.push_back(samples.number());
  }
  return result;
}

}  // namespace temper::measure
