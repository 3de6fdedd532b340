#include "temper/search/surrogate/pool_search.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace temper::search {

PoolSearch::PoolSearch(const Space& space, const SpaceIndex& index, const PoolSearchOptions& options,
                       RandomStream random, Prior* prior)
    : index_(&index),
      options_(options),
      random_(random),
      prior_(prior),
      surrogate_(space, options.limits, random.fork("surrogate"), prior) {}

std::optional<Candidate> PoolSearch::next(const Ranking& measured, const Filter& filter) {
  if (!std::exchange(filled_, true)) fill_pool(filter);
  // What a prior misses takes a few measurements to see; without one there is nothing to see before the first.
  constexpr std::size_t kBelieved = 4;
  const bool early = surrogate_.known() < (prior_ ? kBelieved : options_.initial) || !surrogate_.ready();
  if (early && prior_ == nullptr) return first(filter);
  if (!early) freshen_pool(measured, filter);
  const std::optional<Candidate> chosen = early ? surrogate_.believed_fastest() : surrogate_.most_promising();
  if (chosen) surrogate_.assume(*chosen);
  return chosen;
}

std::optional<Candidate> PoolSearch::next_of(const std::vector<Candidate>& candidates, const Filter& filter) {
  if (!surrogate_.ready()) return std::nullopt;
  offer(candidates, filter);
  const std::optional<Candidate> chosen = surrogate_.most_promising(CandidateSet(candidates.begin(), candidates.end()));
  if (chosen) surrogate_.assume(*chosen);
  return chosen;
}

void PoolSearch::fill_pool(const Filter& filter) {
  std::vector<Candidate> all;
  if (whole_space()) {
    for (std::uint64_t i = 0; i < index_->size(); ++i) all.push_back(index_->at(i));
    offer(std::move(all), filter);
    return;
  }
  constexpr std::size_t kDrawn = 32;  // for each place in the pool, where a prior can choose
  CandidateSet distinct;
  for (std::size_t i = 0; i < options_.limits.pool * (prior_ ? kDrawn : 1); ++i) {
    Candidate drawn = i % 2 == 0 ? index_->sample(random_) : index_->sample_by_design(random_);
    if (distinct.insert(drawn).second) all.push_back(std::move(drawn));
  }
  if (prior_ != nullptr) all = fastest_believed(std::move(all));
  offer(std::move(all), filter);
}

std::vector<Candidate> PoolSearch::fastest_believed(std::vector<Candidate> candidates) {
  const std::vector<double> believed = prior_->log_seconds(candidates);
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return believed[a] < believed[b]; });
  std::vector<Candidate> result;
  for (std::size_t i = 0; i < std::min(order.size(), options_.limits.pool); ++i)
    result.push_back(std::move(candidates[order[i]]));
  return result;
}

void PoolSearch::offer(std::vector<Candidate> candidates, const Filter& filter) {
  surrogate_.offer(filter(std::move(candidates)));
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
