// Exclusive accounting of wall-clock: at any moment exactly one phase runs, so the phases add up to the whole.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "temper/support/clock.h"

namespace temper::tune {

enum class Phase : std::uint8_t { Build, Run, Search, Model, Idle };
inline constexpr std::size_t kPhases = 5;

class PhaseClock {
 public:
  /// Starts in `first`. `clock` is borrowed.
  explicit PhaseClock(const Clock& clock, Phase first = Phase::Search)
      : clock_(&clock), start_(clock.seconds()), since_(start_), phase_(first) {}

  /// A phase within another one: time counts for it until the scope ends.
  class Scope {
   public:
    Scope(PhaseClock& clock, Phase phase) : clock_(&clock), outer_(clock.phase_) { clock.enter(phase); }
    ~Scope() { clock_->enter(outer_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    PhaseClock* clock_;
    Phase outer_;
  };

  /// Seconds since the start.
  double elapsed() const { return clock_->seconds() - start_; }
  /// Seconds of a phase so far; all phases together are the seconds from the start to the last change of phase.
  double seconds(Phase phase) const { return seconds_[static_cast<std::size_t>(phase)]; }
  /// Counts `seconds` of what was booked for `from` as `to` instead; never more than there is.
  void transfer(Phase from, Phase to, double seconds) {
    double& source = seconds_[static_cast<std::size_t>(from)];
    const double moved = std::clamp(seconds, 0.0, source);
    source -= moved;
    seconds_[static_cast<std::size_t>(to)] += moved;
  }
  /// Books the time since the last change of phase; returns the seconds since the start, which the phases now add up
  /// to.
  double settle() {
    enter(phase_);
    return since_ - start_;
  }

 private:
  void enter(Phase phase) {
    const double now = clock_->seconds();
    seconds_[static_cast<std::size_t>(phase_)] += now - since_;
    since_ = now;
    phase_ = phase;
  }

  const Clock* clock_;
  double start_, since_;
  Phase phase_;
  std::array<double, kPhases> seconds_{};
};

}  // namespace temper::tune
