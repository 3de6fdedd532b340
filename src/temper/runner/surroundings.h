// What disturbs timings: other processes on the CPU, and changes of the processor's clock. Virtual machines have no
// counters, so both are seen from outside: the kernel's account of the timing thread, and a loop of known length.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "temper/support/clock.h"

namespace temper::runner {

/// Where the facts come from; tests replace it.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  /// Seconds that a fixed chain of additions takes now, one a clock cycle: shorter is a faster clock.
  virtual double probe() = 0;
  /// What the calling thread had so far.
  struct Usage {
    double cpu_seconds = 0;     ///< that it ran
    std::int64_t switches = 0;  ///< how often others took the CPU from it
  };
  virtual Usage usage() = 0;
  /// Gives up the CPU for a moment: what runs next has a full turn of the scheduler before it.
  virtual void pause() = 0;
};

/// Of the operating system.
class SystemSurroundings final : public Surroundings {
 public:
  double probe() override;
  Usage usage() override;
  void pause() override;

 private:
  SystemClock clock_;
};

/// One sample and what was seen around it.
struct Reading {
  double seconds = 0;        ///< per call
  double lost_share = 0;     ///< of the sample's wall-clock, in which others had the CPU
  double probe_seconds = 0;  ///< right after it
};

enum class Disturbance : std::uint8_t { None, Clock, Others };

/// Of samples of one kernel: those in which others took more than `kLostShare`, and those after which the clock was
/// slower by more than `kClockShare` than after the one with the fastest. A kernel whose instructions lower the clock
/// themselves does so in all of its samples: that is its own time, and no disturbance.
std::vector<Disturbance> judge(std::span<const Reading> readings);
inline constexpr double kLostShare = 0.03;
inline constexpr double kClockShare = 0.08;

/// Watches the surroundings of samples. Keeps the fastest clock that it has seen lately; one that stays slower for
/// `kNewNormalSeconds` is how the machine is now, and is measured against from then on.
class Watch {
 public:
  /// Borrows both.
  Watch(Surroundings& surroundings, const Clock& clock) : surroundings_(&surroundings), clock_(&clock) {}

  /// Waits until the clock is within `kClockShare` of its best, `kSettleSeconds` at most; false when it is not. Belongs
  /// before and after the samples that are to count together.
  bool settle();
  /// Takes a sample: `sample` returns seconds per call.
  Reading read(const std::function<double()>& sample);
  void pause() { surroundings_->pause(); }
  /// The fastest probe lately, in seconds; 0: none so far.
  double best_probe() const { return best_; }
  /// What another process of this machine has seen; counts where nothing was seen here yet.
  void know(double best_probe);

  static constexpr double kSettleSeconds = 0.05;
  static constexpr double kNewNormalSeconds = 2;

 private:
  Surroundings* surroundings_;
  const Clock* clock_;
  double best_ = 0;
  double slow_since_ = -1;  ///< when the clock was slow first since it was fast; below 0: it was fast lately
};

}  // namespace temper::runner
