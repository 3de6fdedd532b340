#include "temper/search/strategy_base.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "temper/support/error.h"

namespace temper::search {

std::uint64_t RandomOrder::next(RandomStream& random) {
  TEMPER_CHECK(left_ > 0, "a random order was read past its end");
  // Position `at` gives its number; the last number still left moves into its place.
  const std::uint64_t at = random.below(left_);
  const auto number_at = [&](std::uint64_t position) {
    const auto found = moved_.find(position);
    return found == moved_.end() ? position : found->second;
  };
  const std::uint64_t result = number_at(at);
  --left_;
  moved_[at] = number_at(left_);
  moved_.erase(left_);
  return result;
}

StrategyBase::StrategyBase(const StrategyContext& context, std::string_view name, Refinement refinement)
    : context_(context),
      refinement_(refinement),
      own_index_(context.index ? nullptr : std::make_unique<const SpaceIndex>(*context.space)),
      index_(context.index ? context.index : own_index_.get()),
      random_(RandomStream(context.seed).fork(name)),
      fill_random_(random_.fork("fill")),
      unseen_(index_->size()) {}

std::vector<Candidate> StrategyBase::ask(int count) {
  TEMPER_CHECK(count >= 0, "a strategy was asked for a negative number of candidates");
  batch_.clear();
  wanted_ = count;
  if (refinement_ == Refinement::Base && progress_ >= kRefineFrom && !measured_.empty()) refine(count);
  if (missing() > 0 && !unseen_.empty()) propose(missing());
  while (missing() > 0 && accept_random()) {
  }
  return std::exchange(batch_, {});
}

void StrategyBase::tell(std::span<const Told> results) {
  for (const Told& told : results) {
    if (!index_->contains(told.candidate)) continue;
    seen_.insert(told.candidate);
    measured_.record(told);
  }
  learn(results);
}

std::vector<Candidate> StrategyBase::unseen(std::vector<Candidate> candidates) const {
  std::erase_if(candidates, [&](const Candidate& candidate) { return seen(candidate); });
  return candidates;
}

void StrategyBase::refine(int count) {
  constexpr std::size_t kIncumbents = 4, kMostRanked = 256;
  const int keep = std::max(missing() - count, 0);
  const std::size_t incumbents = std::min(measured_.size(), kIncumbents);
  for (std::size_t i = 0; i < incumbents && missing() > keep; ++i) {
    const Candidate& incumbent = measured_[i].candidate;
    std::vector<Candidate> near = index_->neighbours(incumbent, Reach::Any);
    for (int design = 0; design < index_->designs(); ++design) {
      if (design != incumbent.design && index_->size(design) > 0) near.push_back(index_->translate(incumbent, design));
    }
    accept_refinements(unseen(std::move(near)), keep);
    if (missing() <= keep) break;
    // There can be many thousands of pairs: a random share of them is ranked.
    std::vector<Candidate> pairs = unseen(index_->pair_neighbours(incumbent, Reach::Any));
    random_.shuffle(pairs);
    pairs.resize(std::min(pairs.size(), kMostRanked));
    accept_refinements(std::move(pairs), keep);
  }
  constexpr int kTries = 32, kFarthest = 4;
  for (int attempt = 0; attempt < kTries * count && missing() > keep; ++attempt) {
    const Candidate& incumbent = measured_[static_cast<std::size_t>(attempt) % incumbents].candidate;
    accept(index_->mutate(incumbent, 3 + attempt % (kFarthest - 2), random_));
  }
}

void StrategyBase::accept_refinements(std::vector<Candidate> candidates, int keep) {
  if (candidates.empty()) return;
  const std::vector<double> scores = has_scorer() ? score(candidates) : std::vector<double>();
  std::vector<Scored> ranked;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const double value = has_scorer() ? scores[i] : random_.uniform_real();
    if (std::isfinite(value)) ranked.push_back({std::move(candidates[i]), value});
  }
  sort_by_score(ranked);
  for (std::size_t i = 0; i < ranked.size() && missing() > keep; ++i) accept(ranked[i].candidate);
}

bool StrategyBase::accept(const Candidate& candidate) {
  if (missing() <= 0 || !index_->contains(candidate) || !seen_.insert(candidate).second) return false;
  batch_.push_back(candidate);
  return true;
}

bool StrategyBase::accept_random() {
  while (!unseen_.empty()) {
    if (accept(index_->at(unseen_.next(fill_random_)))) return true;
  }
  return false;
}

std::vector<double> StrategyBase::score(std::span<const Candidate> candidates) {
  std::vector<double> scores = context_.scorer->score(candidates);
  TEMPER_CHECK(scores.size() == candidates.size(), "a scorer returned another number of scores than it got candidates");
  for (const double value : scores) TEMPER_CHECK(!std::isnan(value), "a scorer returned NaN");
  return scores;
}

std::vector<Candidate> StrategyBase::worth_measuring(std::vector<Candidate> candidates) {
  candidates = unseen(std::move(candidates));
  if (!has_scorer() || candidates.empty()) return candidates;
  const std::vector<double> scores = score(candidates);
  std::vector<Candidate> result;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (std::isfinite(scores[i])) result.push_back(std::move(candidates[i]));
  }
  return result;
}

void sort_by_score(std::vector<Scored>& candidates) {
  std::sort(candidates.begin(), candidates.end(), [](const Scored& a, const Scored& b) {
    if (a.score != b.score) return a.score > b.score;
    // By hash, so that a scorer without an opinion leads to no corner of the space.
    const std::uint64_t hash_a = a.candidate.hash(), hash_b = b.candidate.hash();
    return std::tie(hash_a, a.candidate.design, a.candidate.choice) <
           std::tie(hash_b, b.candidate.design, b.candidate.choice);
  });
}

std::vector<Candidate> select_diverse(std::vector<Scored> candidates, int count, double weight) {
  std::erase_if(candidates, [](const Scored& candidate) { return !std::isfinite(candidate.score); });
  sort_by_score(candidates);
  // Only candidates that could still win are looked at: the batch would need to cover everything twice over to go
  // deeper.
  const std::size_t depth = static_cast<std::size_t>(std::max(count, 1)) * 8;
  if (candidates.size() > depth) candidates.resize(depth);
  std::vector<Candidate> chosen;
  if (candidates.empty()) return chosen;
  const double range = candidates.front().score - candidates.back().score;
  std::set<std::tuple<int, std::size_t, std::int32_t>> covered;
  std::vector<bool> taken(candidates.size(), false);
  while (static_cast<int>(chosen.size()) < count && chosen.size() < candidates.size()) {
    std::size_t best = candidates.size();
    double best_value = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (taken[i]) continue;
      const Candidate& candidate = candidates[i].candidate;
      double fresh = 0;
      for (std::size_t knob = 0; knob < candidate.choice.size(); ++knob) {
        fresh += covered.contains({candidate.design, knob, candidate.choice[knob]}) ? 0 : 1;
      }
      fresh /= std::max<double>(1, static_cast<double>(candidate.choice.size()));
      const double value = candidates[i].score + weight * range * fresh;
      if (best == candidates.size() || value > best_value) best = i, best_value = value;
    }
    taken[best] = true;
    const Candidate& candidate = candidates[best].candidate;
    for (std::size_t knob = 0; knob < candidate.choice.size(); ++knob) {
      covered.insert({candidate.design, knob, candidate.choice[knob]});
    }
    chosen.push_back(candidate);
  }
  return chosen;
}

}  // namespace temper::search
