#include "temper/tune/scheduler.h"

#include <algorithm>
#include <vector>

namespace temper::tune {
namespace {

constexpr double kAnyTask = 0.05;    ///< share of decisions that are random
constexpr double kHope = 0.1;        ///< share of the open distance that doubling the trials is expected to win
constexpr double kLeastRoom = 0.05;  ///< no task is believed to be at its end

double cost(const TaskProgress& task) { return task.best_seconds * task.count; }

}  // namespace

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

std::optional<std::size_t> next_task(std::span<const TaskProgress> tasks, std::int64_t warm_up_trials,
                                     RandomStream& random) {
  std::vector<std::size_t> open;
  double best_rate = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].open) open.push_back(i);
    if (tasks[i].best_seconds > 0) best_rate = std::max(best_rate, tasks[i].flops / tasks[i].best_seconds);
  }
  if (open.empty()) return std::nullopt;
  const auto largest = [&](auto value) {
    return *std::max_element(open.begin(), open.end(),
                             [&](std::size_t a, std::size_t b) { return value(a) < value(b); });
  };
  const auto is_cold = [&](std::size_t i) { return tasks[i].trials < warm_up_trials; };
  if (std::ranges::any_of(open, is_cold)) {
    std::erase_if(open, [&](std::size_t i) { return !is_cold(i); });
    return largest([&](std::size_t i) { return cost(tasks[i]); });
  }
  if (open.size() > 1 && random.chance(kAnyTask)) return random.pick(open);
  return largest([&](std::size_t i) { return expected_gain(tasks[i], best_rate); });
}

}  // namespace temper::tune
