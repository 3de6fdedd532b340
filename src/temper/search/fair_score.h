// The fair score of a search on a space whose measurements are all known: how much of what random search leaves above
// the optimum a strategy gains, averaged over the budget. 0 is random search, 1 finds the optimum at once. It can be
// averaged over spaces of different kinds, sizes and difficulty.
//
// After Willemsen et al., "A methodology for comparing optimization algorithms for auto-tuning", Future Generation
// Computer Systems, 2024.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace temper::search {

/// What random search can expect of a space, and the budget that follows from it. Times in seconds.
class FairBaseline {
 public:
  /// `valid_seconds` are the times of all candidates that can be measured, in any order; `candidates` counts those that
  /// fail too. Throws Error{Unsupported} when there are fewer than two different times: nothing can be searched for.
  FairBaseline(std::vector<double> valid_seconds, std::uint64_t candidates);

  double optimum() const { return falling_.back(); }
  double worst() const { return falling_.front(); }
  double median() const;
  std::uint64_t valid() const { return falling_.size(); }
  std::uint64_t candidates() const { return candidates_; }

  /// Best time that random search is expected to have after so many valid evaluations: with d the N times from worst to
  /// best, d[min(N-1, round(k (N+1) / (k+1)))]. Requires evaluations > 0.
  double random_after(std::uint64_t evaluations) const;
  /// The optimum, plus the share 1 - cutoff of what lies between it and the median.
  double target(double cutoff) const;
  /// Evaluations after which random search is expected to reach `target(cutoff)`.
  std::uint64_t budget(double cutoff) const;

  /// Exact expectation of the best time after each of `evaluations` random draws without repetition, failing candidates
  /// among them; while nothing has succeeded the worst time counts.
  std::vector<double> expected_random(std::uint64_t evaluations) const;

  /// The score of a search (or of the mean of several): `best_seconds[t]` is its best time after t+1 evaluations, at
  /// least `optimum()`. Steps at which random search is itself expected at the optimum are left out; NaN when there are
  /// no others.
  double score(std::span<const double> best_seconds) const;

 private:
  std::vector<double> falling_;  ///< times from worst to best
  std::uint64_t candidates_;
};

}  // namespace temper::search
