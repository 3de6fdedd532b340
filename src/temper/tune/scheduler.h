// Which task of a model gets the next trials: the one whose next trial is expected to save most of the model's time.
// After Zheng et al., "Ansor: generating high-performance tensor programs for deep learning", OSDI 2020, section 6.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "temper/support/random.h"

namespace temper::tune {

/// Trials over which the recent gain of a task is taken.
inline constexpr std::int64_t kGainWindow = 32;

struct TaskProgress {
  bool open = true;           ///< takes more trials
  int count = 1;              ///< how often the model runs it
  double flops = 0;           ///< of one run; 0: unknown
  std::int64_t trials = 0;    ///< so far, resumed ones included
  double best_seconds = 0;    ///< 0: nothing ran yet
  double window_seconds = 0;  ///< the best of `kGainWindow` trials ago; 0: there were not as many
};

/// Seconds of the model that the next trial of a task is expected to save. What the last trials saved counts as much as
/// what could still be saved: the distance from the best throughput of all tasks, harder to win with every trial.
double expected_gain(const TaskProgress& task, double best_flops_per_second);

/// An open task: before any task gets a second batch each has had its first, costly ones first; then the one of largest
/// expected gain, and one time in twenty any. Nothing when none is open.
std::optional<std::size_t> next_task(std::span<const TaskProgress> tasks, std::int64_t warm_up_trials,
                                     RandomStream& random);

}  // namespace temper::tune
