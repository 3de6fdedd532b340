// What the task tuners of one call of `tune` share.
#pragma once

#include <string>

#include "temper/support/clock.h"
#include "temper/target/cpu.h"
#include "temper/tune/budget.h"
#include "temper/tune/hardware_test.h"
#include "temper/tune/phase_clock.h"
#include "temper/tune/tune.h"

namespace temper::tune {

struct Session {
  const Options* options = nullptr;
  target::Target target;
  std::string fingerprint;  ///< of `target`
  HardwareTest* hardware = nullptr;
  const Clock* clock = nullptr;
  PhaseClock* phases = nullptr;
  Budget budget{{}, {}};
  std::size_t tasks = 1;
  int patience = 0;
  bool cancelled = false;        ///< a stop was noticed
  const void* loaded = nullptr;  ///< whose data the hardware test holds
  bool stop() {
    cancelled = cancelled || options->cancellation.requested();
    return cancelled;
  }
};

}  // namespace temper::tune
