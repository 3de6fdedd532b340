#include "temper/search/surrogate/pool_surrogate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "temper/support/error.h"

namespace temper::search {
namespace {

/// Logarithm of the expected amount by which a normal variable falls below `best`.
double log_expected_improvement(double best, double mean, double deviation) {
  if (deviation <= 0) return best > mean ? std::log(best - mean) : -std::numeric_limits<double>::infinity();
  const double u = (best - mean) / deviation;
  // Far below, density and tail cancel; their difference goes like the density over u^2.
  if (u < -30) return std::log(deviation) - 0.5 * u * u - 2 * std::log(-u);
  const double density = std::exp(-0.5 * u * u) / std::sqrt(2 * std::numbers::pi);
  const double below = 0.5 * std::erfc(-u / std::numbers::sqrt2);
  return std::log(deviation) + std::log(std::max(u * below + density, 1e-300));
}

}  // namespace

PoolSurrogate::PoolSurrogate(const Space& space, const SurrogateLimits& limits, RandomStream random, Prior* prior)
    : limits_(limits), random_(random), prior_(prior), columns_(space), model_(columns_.columns()) {
  TEMPER_CHECK(limits.pool > 0 && limits.points > 1, "a surrogate needs room for candidates and measurements");
}

PoolSurrogate::Point& PoolSurrogate::point(const Candidate& candidate) {
  const auto [found, fresh] = point_of_.emplace(candidate, points_.size());
  if (fresh) points_.push_back({.candidate = candidate, .believed = believed(candidate)});
  return points_[found->second];
}

double PoolSurrogate::believed(const Candidate& candidate) const {
  if (prior_ == nullptr) return 0;
  const auto place = place_in_pool_.find(candidate);
  return place != place_in_pool_.end() ? pool_believed_[place->second] : prior_->log_seconds({&candidate, 1}).front();
}

void PoolSurrogate::tell(const Told& told) {
  Point& known = point(told.candidate);
  leave_pool(told.candidate);
  if (known.state == Point::State::Measured) --successes_;
  known.state = told.ok ? Point::State::Measured : Point::State::Failed;
  if (told.ok) known.target = std::log(told.seconds), ++successes_;
}

void PoolSurrogate::assume(const Candidate& candidate) {
  if (point_of_.contains(candidate)) return;
  const auto place = place_in_pool_.find(candidate);
  const bool predicted = place != place_in_pool_.end() && !used_.empty();
  const double target =
      predicted ? model_.mean(place->second) + pool_believed_[place->second] : std::numeric_limits<double>::quiet_NaN();
  point(candidate).target = target;
  leave_pool(candidate);
}

void PoolSurrogate::offer(std::span<const Candidate> candidates) {
  const std::size_t before = pool_.size();
  for (const Candidate& candidate : candidates) {
    if (point_of_.contains(candidate) || !place_in_pool_.emplace(candidate, pool_.size()).second) continue;
    pool_.push_back(candidate);
    model_.add_candidate(columns_.levels(candidate));
  }
  const std::span<const Candidate> fresh(pool_.begin() + static_cast<std::ptrdiff_t>(before), pool_.end());
  const std::vector<double> believed = prior_ ? prior_->log_seconds(fresh) : std::vector<double>(fresh.size());
  pool_believed_.insert(pool_believed_.end(), believed.begin(), believed.end());
}

std::optional<Candidate> PoolSurrogate::believed_fastest() const {
  TEMPER_CHECK(prior_ != nullptr, "a surrogate without a prior was asked what it believes");
  if (pool_.empty()) return std::nullopt;
  const auto fastest = std::min_element(pool_believed_.begin(), pool_believed_.end());
  return pool_[static_cast<std::size_t>(fastest - pool_believed_.begin())];
}

void PoolSurrogate::leave_pool(const Candidate& candidate) {
  const auto found = place_in_pool_.find(candidate);
  if (found == place_in_pool_.end()) return;
  const std::size_t place = found->second;
  place_in_pool_.erase(found);
  model_.remove_candidate(place);
  if (place + 1 < pool_.size()) {
    pool_[place] = std::move(pool_.back());
    pool_believed_[place] = pool_believed_.back();
    place_in_pool_[pool_[place]] = place;
  }
  pool_.pop_back();
  pool_believed_.pop_back();
}

std::vector<double> PoolSurrogate::targets() const {
  double slowest = -std::numeric_limits<double>::infinity(), missed = 0;
  for (const Point& known : points_) {
    if (known.state != Point::State::Measured) continue;
    slowest = std::max(slowest, known.target);
    missed += known.target - known.believed;
  }
  missed /= static_cast<double>(successes_);
  std::vector<double> result;
  for (const std::size_t used : used_) {
    const Point& known = points_[used];
    if (known.state == Point::State::Failed) {
      result.push_back(std::max(slowest - known.believed, missed));
    } else {
      result.push_back(std::isnan(known.target) ? missed : known.target - known.believed);
    }
  }
  return result;
}

void PoolSurrogate::synchronise() {
  const std::size_t fresh = points_.size() - next_;
  if (used_.size() + fresh > limits_.points) {
    // The fastest half of what there is room for, and a random part of the rest.
    used_.resize(points_.size());
    std::iota(used_.begin(), used_.end(), std::size_t{0});
    const std::vector<double> target = targets();
    std::stable_sort(used_.begin(), used_.end(), [&](std::size_t a, std::size_t b) { return target[a] < target[b]; });
    const std::size_t keep = std::max<std::size_t>(1, limits_.points * 3 / 4), fastest = keep / 2;
    std::vector<std::size_t> rest(used_.begin() + static_cast<std::ptrdiff_t>(fastest), used_.end());
    random_.shuffle(rest);
    used_.resize(fastest);
    used_.insert(used_.end(), rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(keep - fastest));
    model_.clear_observations();
    for (const std::size_t used : used_) model_.observe(columns_.levels(points_[used].candidate));
  } else {
    for (std::size_t i = next_; i < points_.size(); ++i) {
      used_.push_back(i);
      model_.observe(columns_.levels(points_[i].candidate));
    }
  }
  next_ = points_.size();
}

void PoolSurrogate::fit() {
  constexpr std::size_t kJudged = 160;
  const std::vector<double> target = targets();
  std::vector<std::size_t> judged(used_.size());
  std::iota(judged.begin(), judged.end(), std::size_t{0});
  if (judged.size() > kJudged) {
    std::stable_sort(judged.begin(), judged.end(), [&](std::size_t a, std::size_t b) { return target[a] < target[b]; });
    std::vector<std::size_t> rest(judged.begin() + kJudged / 2, judged.end());
    random_.shuffle(rest);
    std::copy_n(rest.begin(), kJudged / 2, judged.begin() + kJudged / 2);
    judged.resize(kJudged);
  }
  model_.fit(target, judged, 1);
}

std::vector<double> PoolSurrogate::promises() {
  TEMPER_CHECK(ready(), "a surrogate was asked before anything was measured");
  synchronise();
  if (pool_.empty()) return {};
  if (points_.size() >= next_fit_) {
    fit();
    next_fit_ = points_.size() + std::max<std::size_t>(3, points_.size() / 4);
  }
  model_.set_targets(targets());
  double best = std::numeric_limits<double>::infinity();
  for (const Point& known : points_) {
    if (known.state == Point::State::Measured) best = std::min(best, known.target);
  }
  std::vector<double> value(pool_.size());
  for (std::size_t i = 0; i < pool_.size(); ++i)
    value[i] = log_expected_improvement(best, model_.mean(i) + pool_believed_[i], model_.deviation(i));
  return value;
}

std::optional<Candidate> PoolSurrogate::most_promising() {
  const std::vector<double> value = promises();
  if (value.empty()) return std::nullopt;
  Candidate winner = pool_[static_cast<std::size_t>(std::max_element(value.begin(), value.end()) - value.begin())];
  if (pool_.size() > limits_.pool + limits_.pool / 4) shrink_pool(value);
  return winner;
}

std::optional<Candidate> PoolSurrogate::most_promising(const CandidateSet& among) {
  const std::vector<double> value = promises();
  std::optional<std::size_t> winner;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (among.contains(pool_[i]) && (!winner || value[i] > value[*winner])) winner = i;
  }
  if (!winner) return std::nullopt;
  return pool_[*winner];
}

void PoolSurrogate::shrink_pool(std::span<const double> value) {
  std::vector<std::size_t> order(pool_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return value[a] > value[b]; });
  std::vector<Candidate> leaving;
  for (std::size_t i = limits_.pool; i < order.size(); ++i) leaving.push_back(pool_[order[i]]);
  for (const Candidate& candidate : leaving) leave_pool(candidate);
}

}  // namespace temper::search
