// What the task tuners of one call of `tune` share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "temper/support/clock.h"
#include "temper/support/resident_memory.h"
#include "temper/target/cpu.h"
#include "temper/tune/budget.h"
#include "temper/tune/hardware_test.h"
#include "temper/tune/phase_clock.h"
#include "temper/tune/roofline.h"
#include "temper/tune/tune.h"
#include "temper/tune/watchdog.h"

namespace temper::tune {

struct Session {
  const Options* options = nullptr;
  target::Target target;
  std::string fingerprint;  ///< of `target`
  MachinePeaks peaks;       ///< empty when the hardware test is not of this machine
  HardwareTest* hardware = nullptr;
  const Clock* clock = nullptr;
  PhaseClock* phases = nullptr;
  Watchdog* watchdog = nullptr;
  Budget budget{{}, {}};
  std::size_t tasks = 1;
  int patience = 0;
  bool cancelled = false;        ///< a stop was noticed
  const void* loaded = nullptr;  ///< whose data the hardware test holds
  bool stop() {
    cancelled = cancelled || options->cancellation.requested();
    return cancelled;
  }
  /// An event with what the call as a whole can say.
  Event event(Event::Kind kind) const {
    Event event;
    event.kind = kind;
    event.elapsed_seconds = phases->elapsed();
    event.tasks = tasks;
    event.trials = budget.spent_trials();
    if (kind == Event::Kind::BatchMeasured || kind == Event::Kind::Finished) event.resident_bytes = resident_bytes();
    event.trials_left = budget.trials_left();
    if (!event.trials_left && options->trials_per_task) {
      event.trials_left =
          std::max<std::int64_t>(0, *options->trials_per_task * static_cast<std::int64_t>(tasks) - event.trials);
    }
    event.seconds_left = budget.seconds_left(event.elapsed_seconds);
    return event;
  }
};

}  // namespace temper::tune
