#include "temper/search/surrogate/pool_search.h"

#include <algorithm>
#include <utility>

namespace temper::search {

PoolSearch::PoolSearch(const Space& space, const SpaceIndex& index, const PoolSearchOptions& options,
                       RandomStream random)
    : index_(&index), options_(options), random_(random), surrogate_(space, options.limits, random.fork("surrogate")) {}

std::optional<Candidate> PoolSearch::next(const Ranking& measured, const Filter& filter) {
  if (!std::exchange(filled_, true)) fill_pool(filter);
  if (surrogate_.known() < options_.initial || !surrogate_.ready()) return first(filter);
  freshen_pool(measured, filter);
  const std::optional<Candidate> chosen = surrogate_.most_promising();
  if (chosen) surrogate_.assume(*chosen);
  return chosen;
}

void PoolSearch::fill_pool(const Filter& filter) {
  std::vector<Candidate> all;
  if (whole_space()) {
    for (std::uint64_t i = 0; i < index_->size(); ++i) all.push_back(index_->at(i));
  } else {
    for (std::size_t i = 0; i < options_.limits.pool; ++i)
      all.push_back(i % 2 == 0 ? index_->sample(random_) : index_->sample_by_design(random_));
  }
  offer(std::move(all), filter);
}

void PoolSearch::offer(std::vector<Candidate> candidates, const Filter& filter) {
  for (const Candidate& candidate : filter(std::move(candidates))) surrogate_.offer(candidate);
}

std::optional<Candidate> PoolSearch::first(const Filter& filter) {
  constexpr int kTries = 8;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    for (const Candidate& candidate : filter({index_->sample_by_design(random_)})) {
      surrogate_.assume(candidate);
      return candidate;
    }
  }
  return std::nullopt;
}

void PoolSearch::freshen_pool(const Ranking& measured, const Filter& filter) {
  if (whole_space() || measured.empty()) return;
  std::vector<Candidate> fresh;
  if (const Candidate& best = measured.front().candidate; !(best == incumbent_)) {
    incumbent_ = best;
    fresh = index_->neighbours(best, Reach::Any);
  }
  const std::size_t parents = std::min(measured.size(), options_.elites);
  const auto parent = [&]() -> const Candidate& {
    return measured[static_cast<std::size_t>(random_.below(parents))].candidate;
  };
  for (std::size_t i = 0; i < options_.children; ++i) {
    const Candidate& one = parent();
    fresh.push_back(i % 2 == 0 ? index_->mutate(one, random_.chance(0.5) ? 1 : 2, random_)
                               : index_->crossover(one, parent(), random_));
  }
  fresh.push_back(index_->sample(random_));
  offer(std::move(fresh), filter);
}

}  // namespace temper::search
