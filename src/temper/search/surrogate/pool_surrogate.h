// What a search believes about candidates it has not measured: a Gaussian process over their knobs, learned from
// everything measured so far, on a pool of candidates whose most promising one can be asked for at any time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "temper/search/strategy.h"
#include "temper/search/surrogate/gaussian_process.h"
#include "temper/support/random.h"

namespace temper::search {

/// What bounds the work: a measurement costs about `points` * (`points` + `pool`) multiplications.
struct SurrogateLimits {
  std::size_t pool = 1000;   ///< candidates that are kept predicted
  std::size_t points = 300;  ///< measurements that are learned from; of more, the fastest and a random part of the rest
};

/// Deterministic for a stream and the order of calls.
class PoolSurrogate {
 public:
  /// The space is not kept. `prior` is borrowed and may be null; with one, the process is of what it misses.
  PoolSurrogate(const Space& space, const SurrogateLimits& limits, RandomStream random, Prior* prior = nullptr);

  /// A measurement; a later one of the same candidate replaces it. Failures count as slow as the slowest success.
  void tell(const Told& told);
  /// The candidate has been asked for: until it is told it counts as measured at its predicted time.
  void assume(const Candidate& candidate);
  /// Adds those candidates to the pool that are not in it and were neither told nor assumed.
  void offer(std::span<const Candidate> candidates);

  /// Whether there is a measurement to learn from.
  bool ready() const { return successes_ > 0; }
  /// Candidates that were told or assumed.
  std::size_t known() const { return points_.size(); }
  std::size_t pool_size() const { return pool_.size(); }
  /// The candidate of the pool that the prior believes fastest; nothing when the pool is empty. Requires a prior.
  std::optional<Candidate> believed_fastest() const;
  /// The candidate of the pool with the largest expected improvement on the fastest measurement, of the logarithm of
  /// the time; nothing when the pool is empty. Requires ready().
  std::optional<Candidate> most_promising();
  /// The same of those of the pool that are in `among`.
  std::optional<Candidate> most_promising(const CandidateSet& among);

 private:
  struct Point {
    Candidate candidate;
    enum class State { Assumed, Measured, Failed } state = State::Assumed;
    double target = 0;    ///< log seconds
    double believed = 0;  ///< what the prior says of it; 0 without one
  };

  Point& point(const Candidate& candidate);
  double believed(const Candidate& candidate) const;
  void leave_pool(const Candidate& candidate);
  void synchronise();
  void fit();
  /// What the model learns from: log seconds, less what the prior said.
  std::vector<double> targets() const;
  /// Logarithms of the expected improvements of the pool, with everything learned that there is.
  std::vector<double> promises();
  void shrink_pool(std::span<const double> value);

  SurrogateLimits limits_;
  RandomStream random_;
  Prior* prior_;
  KnobColumns columns_;
  GaussianProcess model_;
  std::vector<Point> points_;
  CandidateMap<std::size_t> point_of_;
  std::vector<std::size_t> used_;      ///< the model's observations, as positions in `points_`
  std::size_t next_ = 0;               ///< the first of `points_` that the model does not know
  std::vector<Candidate> pool_;        ///< the model's candidates
  std::vector<double> pool_believed_;  ///< what the prior says of them
  CandidateMap<std::size_t> place_in_pool_;
  std::size_t successes_ = 0, next_fit_ = 6;
};

}  // namespace temper::search
