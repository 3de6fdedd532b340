// Exclusive accounting of wall-clock: at any moment exactly one phase runs, for one task or for none, so that the
// phases add up to the whole, and so do the tasks' times with what belongs to no task.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "temper/support/clock.h"

namespace temper::tune {

enum class Phase : std::uint8_t { Build, Run, Search, Model, Idle };
inline constexpr std::size_t kPhases = 5;

class PhaseClock {
 public:
  /// Starts in `first`, for no task. `clock` is borrowed.
  explicit PhaseClock(const Clock& clock, Phase first = Phase::Search, std::size_t tasks = 0)
      : clock_(&clock), start_(clock.seconds()), since_(start_), phase_(first), seconds_(tasks + 1) {}

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
  /// Work for one task: time counts for it until the scope ends. Requires task < tasks.
  class TaskScope {
   public:
    TaskScope(PhaseClock& clock, std::size_t task) : clock_(&clock), outer_(clock.owner_) { clock.serve(task + 1); }
    ~TaskScope() { clock_->serve(outer_); }
    TaskScope(const TaskScope&) = delete;
    TaskScope& operator=(const TaskScope&) = delete;

   private:
    PhaseClock* clock_;
    std::size_t outer_;
  };

  /// Seconds since the start.
  double elapsed() const { return clock_->seconds() - start_; }
  /// Seconds of a phase so far; all phases together are the seconds from the start to the last change of phase.
  double seconds(Phase phase) const {
    double sum = 0;
    for (const Seconds& owner : seconds_) sum += owner[static_cast<std::size_t>(phase)];
    return sum;
  }
  /// The part of it for one task, or for none.
  double seconds(Phase phase, std::optional<std::size_t> task) const {
    return seconds_[task ? *task + 1 : 0][static_cast<std::size_t>(phase)];
  }
  /// Everything for one task so far, up to now.
  double task_seconds(std::size_t task) const {
    double sum = owner_ == task + 1 ? clock_->seconds() - since_ : 0;
    for (const double part : seconds_[task + 1]) sum += part;
    return sum;
  }
  /// Counts `seconds` of what was booked for `from` as `to` instead, for the task at hand; never more than there is.
  void transfer(Phase from, Phase to, double seconds) {
    double& source = seconds_[owner_][static_cast<std::size_t>(from)];
    const double moved = std::clamp(seconds, 0.0, source);
    source -= moved;
    seconds_[owner_][static_cast<std::size_t>(to)] += moved;
  }
  /// Books the time since the last change of phase; returns the seconds since the start, which the phases now add up
  /// to.
  double settle() {
    enter(phase_);
    return since_ - start_;
  }

 private:
  using Seconds = std::array<double, kPhases>;

  void book() {
    const double now = clock_->seconds();
    seconds_[owner_][static_cast<std::size_t>(phase_)] += now - since_;
    since_ = now;
  }
  void enter(Phase phase) {
    book();
    phase_ = phase;
  }
  void serve(std::size_t owner) {
    book();
    owner_ = owner;
  }

  const Clock* clock_;
  double start_, since_;
  Phase phase_;
  std::size_t owner_ = 0;         ///< 0: no task, else one more than the task
  std::vector<Seconds> seconds_;  ///< by owner
};

}  // namespace temper::tune
