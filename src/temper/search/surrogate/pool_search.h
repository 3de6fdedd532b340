// A search guided by a `PoolSurrogate`: what joins the pool, and which candidate is next. The pool is the whole space
// where that is small; otherwise a random part of it, joined by the neighbours of whatever becomes the best and by
// children of the best few.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "temper/search/enumeration.h"
#include "temper/search/ranking.h"
#include "temper/search/surrogate/pool_surrogate.h"

namespace temper::search {

struct PoolSearchOptions {
  SurrogateLimits limits = {};
  std::size_t initial = 8;   ///< random candidates before the first prediction counts
  std::size_t elites = 16;   ///< best measured candidates whose children join the pool
  std::size_t children = 6;  ///< that join the pool before each choice
};

class PoolSearch {
 public:
  /// Those of some candidates that may be measured at all.
  using Filter = std::function<std::vector<Candidate>(std::vector<Candidate>)>;

  /// `index` and `prior`, which may be null, are borrowed and must outlive the search; `space` is not kept. With a
  /// prior the first measurements are of what it believes fastest, and so is the pool to begin with.
  PoolSearch(const Space& space, const SpaceIndex& index, const PoolSearchOptions& options, RandomStream random,
             Prior* prior = nullptr);

  void tell(const Told& told) { surrogate_.tell(told); }
  /// The candidate to measure next, which counts as measured at its predicted time until it is told; nothing when ideas
  /// run out. `measured` is what was told and succeeded.
  std::optional<Candidate> next(const Ranking& measured, const Filter& filter);
  /// The same of `candidates`; nothing while nothing is learned yet.
  std::optional<Candidate> next_of(const std::vector<Candidate>& candidates, const Filter& filter);

 private:
  bool whole_space() const { return index_->size() <= options_.limits.pool; }
  void fill_pool(const Filter& filter);
  /// At most as many as the pool holds.
  std::vector<Candidate> fastest_believed(std::vector<Candidate> candidates);
  void freshen_pool(const Ranking& measured, const Filter& filter);
  void offer(std::vector<Candidate> candidates, const Filter& filter);
  std::optional<Candidate> first(const Filter& filter);

  const SpaceIndex* index_;
  PoolSearchOptions options_;
  RandomStream random_;
  Prior* prior_;
  PoolSurrogate surrogate_;
  Candidate incumbent_;
  bool filled_ = false;
};

}  // namespace temper::search
