// A phase of tuning in which the hardware test works: what it waits for another tuner counts as idle.
#pragma once

#include "temper/tune/hardware_test.h"
#include "temper/tune/phase_clock.h"

namespace temper::tune {

/// From its beginning to its end time counts for `phase`, except what was waited. Borrows both.
class HardwarePhase {
 public:
  HardwarePhase(PhaseClock& clock, Phase phase, const HardwareTest& hardware)
      : clock_(&clock), phase_(phase), hardware_(&hardware), before_(hardware.idle_seconds()), scope_(clock, phase) {}
  ~HardwarePhase() {
    clock_->settle();
    clock_->transfer(phase_, Phase::Idle, waited());
  }
  HardwarePhase(const HardwarePhase&) = delete;
  HardwarePhase& operator=(const HardwarePhase&) = delete;

  double waited() const { return hardware_->idle_seconds() - before_; }

 private:
  PhaseClock* clock_;
  Phase phase_;
  const HardwareTest* hardware_;
  double before_;
  PhaseClock::Scope scope_;
};

}  // namespace temper::tune
