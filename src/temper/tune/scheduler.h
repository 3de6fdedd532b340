// Which task of a model gets the next trials. By gain: the one that is expected to save most of the model's time for
// each second that its trials take. In turn: each as often as the others, for comparison. After Zheng et al., "Ansor:
// generating high-performance tensor programs for deep learning", OSDI 2020, section 6, whose gain is one for each
// trial; trials of a model's tasks differ in cost by more than ten times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "temper/support/random.h"

namespace temper::tune {

enum class Scheduler : std::uint8_t { Gain, RoundRobin };
/// "gain", "round-robin".
std::string_view to_string(Scheduler scheduler);
/// Inverse. Throws Error{InvalidArgument} that lists the names.
Scheduler parse_scheduler(std::string_view text);

/// Trials over which the recent gain of a task is taken.
inline constexpr std::int64_t kGainWindow = 32;

struct TaskProgress {
  bool open = true;            ///< takes more trials
  int count = 1;               ///< how often the model runs it
  double flops = 0;            ///< of one run; 0: unknown
  std::int64_t trials = 0;     ///< so far, resumed ones included
  std::int64_t measured = 0;   ///< in this call
  std::int64_t fruitless = 0;  ///< trials since the last gain
  double best_seconds = 0;     ///< 0: nothing ran yet
  double window_seconds = 0;   ///< the best of `kGainWindow` trials ago; 0: there were not as many
  double trial_seconds = 0;    ///< wall-clock of a trial lately, search and model included; 0: not measured
};

/// Seconds of the model that the next trial of a task is expected to save. What the last trials saved counts as much as
/// what could still be saved: the distance from the best throughput of all tasks, harder to win with every trial.
double expected_gain(const TaskProgress& task, double best_flops_per_second);

/// Tasks that take less than this share of the model's time, in all their places together, are negligible: they need no
/// first batch, and have no more to give once a window of trials brought nothing.
inline constexpr double kNegligible = 0.002;
bool negligible(const TaskProgress& task, double model_seconds);

/// Trials of a task, the default among them, before its gain can be expected from what it has won: the best of what the
/// cost model believes in. So few that a short budget reaches every task.
inline constexpr std::int64_t kFirstTrials = 9;

/// How many trials a task gets at once: the first ones alone by gain, where `batch` is more than those.
std::int64_t trials_at_once(Scheduler scheduler, const TaskProgress& task, std::int64_t batch);

/// An open task, or nothing when none has more to give.
/// Gain: before any task gets more than its first trials each that is not negligible has had them, costly ones first;
/// then the one of largest expected gain for each second of its trials, and one time in twenty any. A task whose trials
/// were not timed yet is taken to cost the mean of the others. RoundRobin: the one with the fewest trials in this call,
/// of several the first.
std::optional<std::size_t> next_task(Scheduler scheduler, std::span<const TaskProgress> tasks, std::int64_t batch,
                                     RandomStream& random);

}  // namespace temper::tune
