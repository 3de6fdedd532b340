#include "temper/tune/scheduler.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "temper/support/error.h"

namespace temper::tune {
namespace {

constexpr double kAnyTask = 0.05;    ///< share of decisions that are random
constexpr double kHope = 0.1;        ///< share of the open distance that doubling the trials is expected to win
constexpr double kLeastRoom = 0.05;  ///< no task is believed to be at its end

constexpr std::array<std::pair<std::string_view, Scheduler>, 2> kNames{
    {{"gain", Scheduler::Gain}, {"round-robin", Scheduler::RoundRobin}}};

double cost(const TaskProgress& task) { return task.best_seconds * task.count; }

/// Whether a task has not had its first trials.
bool is_cold(const TaskProgress& task, std::int64_t batch) { return task.trials < std::min(batch, kFirstTrials); }

/// Of one trial of a task nobody has timed: the mean of the others; 1 where there is none.
double mean_trial_seconds(std::span<const TaskProgress> tasks) {
  double sum = 0, known = 0;
  for (const TaskProgress& task : tasks) {
    sum += task.trial_seconds;
    known += task.trial_seconds > 0 ? 1 : 0;
  }
  return known > 0 ? sum / known : 1;
}

}  // namespace

std::string_view to_string(Scheduler scheduler) {
  return std::ranges::find(kNames, scheduler, &std::pair<std::string_view, Scheduler>::second)->first;
}

Scheduler parse_scheduler(std::string_view text) {
  const auto found = std::ranges::find(kNames, text, &std::pair<std::string_view, Scheduler>::first);
  if (found != kNames.end()) return found->second;
  throw Error(ErrorCode::InvalidArgument, "there is no scheduler '" + std::string(text) + "'", "scheduler",
              "choose one of: gain, round-robin");
}

double expected_gain(const TaskProgress& task, double best_flops_per_second) {
  if (task.best_seconds <= 0) return 0;
  const double trials = static_cast<double>(std::max<std::int64_t>(task.trials, 1));
  const double recent =
      task.window_seconds > 0 ? (task.window_seconds - task.best_seconds) / static_cast<double>(kGainWindow) : 0;
  const double bound = best_flops_per_second > 0 ? task.flops / best_flops_per_second : 0;
  const double room = std::max(1 - bound / task.best_seconds, kLeastRoom);
  const double hope = kHope * room * task.best_seconds / trials;
  return task.count * (std::max(recent, 0.0) + hope) / 2;
}

bool negligible(const TaskProgress& task, double model_seconds) {
  return task.best_seconds > 0 && cost(task) < kNegligible * model_seconds;
}

std::int64_t trials_at_once(Scheduler scheduler, const TaskProgress& task, std::int64_t batch) {
  if (scheduler == Scheduler::RoundRobin || !is_cold(task, batch)) return batch;
  return std::min(batch, kFirstTrials - task.trials);
}

std::optional<std::size_t> next_task(Scheduler scheduler, std::span<const TaskProgress> tasks, std::int64_t batch,
                                     RandomStream& random) {
  std::vector<std::size_t> open;
  double best_rate = 0, model_seconds = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].open) open.push_back(i);
    if (tasks[i].best_seconds > 0) best_rate = std::max(best_rate, tasks[i].flops / tasks[i].best_seconds);
    model_seconds += cost(tasks[i]);
  }
  if (scheduler == Scheduler::Gain) {
    std::erase_if(
        open, [&](std::size_t i) { return negligible(tasks[i], model_seconds) && tasks[i].fruitless >= kGainWindow; });
  }
  if (open.empty()) return std::nullopt;
  if (scheduler == Scheduler::RoundRobin)
    return *std::ranges::min_element(open, {}, [&](std::size_t i) { return tasks[i].measured; });
  const auto largest = [&](auto value) { return *std::ranges::max_element(open, {}, value); };
  const auto waits = [&](std::size_t i) { return is_cold(tasks[i], batch) && !negligible(tasks[i], model_seconds); };
  if (std::ranges::any_of(open, waits)) {
    std::erase_if(open, [&](std::size_t i) { return !waits(i); });
    return largest([&](std::size_t i) { return cost(tasks[i]); });
  }
  if (open.size() > 1 && random.chance(kAnyTask)) return random.pick(open);
  const double unknown = mean_trial_seconds(tasks);
  return largest([&](std::size_t i) {
    const double seconds = tasks[i].trial_seconds > 0 ? tasks[i].trial_seconds : unknown;
    return expected_gain(tasks[i], best_rate) / seconds;
  });
}

}  // namespace temper::tune
