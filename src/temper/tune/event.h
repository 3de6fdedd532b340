// What the progress callback of `tune` is told, as it happens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "temper/record/record.h"

namespace temper::tune {

/// One candidate that was tried.
struct TrialEvent {
  std::string candidate;  ///< text
  std::string origin;     ///< as `record::Record::strategy`
  record::FailureKind failure = record::FailureKind::None;
  std::string reason;                         ///< of the failure
  double seconds = 0;                         ///< the least time of a run; 0 when it failed
  double build_seconds = 0, run_seconds = 0;  ///< wall-clock
};

/// Texts and numbers describe the task at hand; those of `Started` and `Finished` the call.
struct Event {
  enum class Kind : std::uint8_t {
    Started,        ///< nothing was measured yet
    TaskStarted,    ///< its default was measured
    Trial,          ///< a candidate was tried, or refused before it could be; `trial` holds it
    NewBest,        ///< a candidate is faster than all before
    BatchMeasured,  ///< some more candidates were measured, and are in the store
    RaceStarted,    ///< the best few are timed against each other
    RaceFinished,   ///< their times are in the store
    TaskFailed,     ///< it cannot be tuned; `reason` says why
    TaskFinished,   ///< its races are over; best and default are final
    Finished,       ///< nothing more comes
  };
  Kind kind{};
  double elapsed_seconds = 0;                    ///< since the call began
  std::size_t task = 0;                          ///< index into the tasks
  std::size_t tasks = 0;                         ///< how many there are
  std::string name;                              ///< of the task
  std::string key;                               ///< text of its key
  int count = 1;                                 ///< how many nodes of the model it is
  std::int64_t task_trials = 0;                  ///< measured in this call, this task
  std::int64_t trials = 0;                       ///< measured in this call, all tasks
  std::optional<std::int64_t> trials_left;       ///< when the budget has a number of trials
  std::optional<double> seconds_left;            ///< when the budget has a time
  double default_seconds = 0, best_seconds = 0;  ///< per run; 0: not known yet
  double roofline_seconds = 0;  ///< what it takes at the machine's peaks, see `tune/roofline.h`; 0: unknown
  std::map<std::string, std::int64_t> failures;  ///< of the task so far: kind → how many, as `TaskReport::failures`
  std::int64_t resident_bytes = 0;               ///< of this process; of `BatchMeasured` and `Finished` only
  std::optional<TrialEvent> trial;
  std::string reason;                                                                    ///< why a task failed
  double gain() const { return best_seconds > 0 ? default_seconds / best_seconds : 1; }  ///< above 1: faster
};

/// "started", "task_started", "trial", "best", "batch", "race_started", "race_finished", "task_failed",
/// "task_finished", "finished".
std::string_view to_string(Event::Kind kind);

}  // namespace temper::tune
