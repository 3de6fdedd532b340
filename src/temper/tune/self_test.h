// What the timings of this machine are worth: races of kernels against themselves, and against themselves with a little
// more work. A race ends at the first verdict of the sequential test that also ends the finals of tuning
// (`measure/paired_test.h`).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "temper/measure/paired_test.h"
#include "temper/support/cancellation.h"
#include "temper/target/cpu.h"
#include "temper/tune/hardware_test.h"

namespace temper::tune {

/// Races of one kind.
struct RaceSeries {
  std::string kernel;    ///< SPEC
  double seconds = 0;    ///< per call, at least
  double more_work = 0;  ///< share that the second racer does more; 0: the racers are the same
  bool busy = false;     ///< another process kept a core busy meanwhile
  int races = 0;
  int first = 0, second = 0, tie = 0, open = 0;  ///< verdicts; `open`: none within `most_pairs`
  double median_pairs = 0;                       ///< that a race took
  /// Verdicts that are wrong: winners between equals, anything but the first racer otherwise.
  int wrong() const { return more_work > 0 ? races - first : first + second; }
};

struct SelfTestOptions {
  std::vector<double> goals{20e-6, 200e-6, 5e-3};  ///< seconds per call of the kernels, about
  int equal_races = 200;                           ///< for each goal
  int unequal_races = 100;  ///< for each goal up to `unequal_seconds`, on an idle and a busy machine
  double more_work = 0.03;
  double unequal_seconds = 1e-3;  ///< a share of work is whole calls: samples of slow kernels would take too long
  int most_pairs = 100;
  measure::PairedTest::Options test;
  std::uint64_t seed = 0;
  CancellationToken cancellation;
  /// After each race; the last one of a series is complete.
  std::function<void(const RaceSeries&)> progress;
};

/// Builds matrix products of about the wanted duration by their default schedules and races them on `hardware`, which
/// must be for one thread of `target`. Series of equal racers first, one for each goal. Throws Error{Internal} when a
/// kernel cannot be built or timed, Error{Busy} when others never let it run undisturbed, Error{Cancelled} when a stop
/// was asked for, Error{InvalidArgument} for options out of bounds.
std::vector<RaceSeries> self_test(const target::Target& target, HardwareTest& hardware, const SelfTestOptions& options);

}  // namespace temper::tune
