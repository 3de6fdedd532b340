// Paired timing: several implementations of one workload in turn, so that a change of clock frequency or a noisy
// neighbour meets all of them alike.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "temper/support/cancellation.h"
#include "temper/support/clock.h"

namespace temper::peers {

class Peer;

/// One implementation. `run(calls, warmup)` returns the seconds that `calls` calls took together, after `warmup`
/// untimed ones; `calls` may be zero.
struct Side {
  std::string name;
  std::function<double(std::int64_t calls, std::int64_t warmup)> run;
};

/// A function of this process, timed by `clock`, which must outlive the side.
Side side_of(std::string name, std::function<void()> function, const Clock& clock);
/// A prepared peer, which must outlive the side.
Side side_of(Peer& peer);

struct InterleaveOptions {
  int rounds = 25;               ///< samples of each side
  double least_seconds = 0;      ///< more rounds, up to 40 times as many, until all timed calls add up to this
  double sample_seconds = 2e-3;  ///< a sample is as many calls as fill this, and `least_calls`
  std::int64_t least_calls = 1;  ///< where sides evict each other from the caches, the first calls say little
  double budget_seconds = 0;  ///< rounds stop early, after at least 5, once all timed calls add up to this; 0: no bound
  std::int64_t warmup_calls = 1;   ///< before each sample: the other sides have used the caches meanwhile
  double warmup_seconds = 0;       ///< as many as fill this, where that is more
  std::uint64_t seed = 0;          ///< of the order within each round
  CancellationToken cancellation;  ///< looked at before each sample
};

struct SideTimes {
  std::string name;
  std::int64_t calls = 0;       ///< per sample
  double min_seconds = 0;       ///< per call
  double quartile_seconds = 0;  ///< per call: a quarter of the samples took no longer; see `ratio`
  double median_seconds = 0;    ///< per call
  std::vector<double> samples;  ///< seconds per call, in the order of measurement
};
/// Sets the other times of `side` from its samples. Throws Error{InvalidArgument} when it has none.
void summarize(SideTimes& side);

/// Calibrates each side, then runs `rounds` rounds; every round runs every side once, in a random order. Results in the
/// order of `sides`. What a side throws passes through. Throws Error{Cancelled} when a stop was asked for,
/// Error{InvalidArgument} when there is no side or no round.
std::vector<SideTimes> interleave(const std::vector<Side>& sides, const InterleaveOptions& options);

/// How many times faster than `peer` Temper is: of the lower quartile of both. Neighbours only ever add time, and where
/// they do so in bursts, medians fall among the disturbed samples of one side and the calm ones of the other: ratios of
/// medians of the same two kernels then range over 5%, those of quartiles over 2% (docs/measurement.md).
double ratio(const SideTimes& peer, const SideTimes& temper);

/// The median; the mean of the middle two of an even number. Throws Error{InvalidArgument} when empty.
double median(std::vector<double> values);

}  // namespace temper::peers
