#include "temper/search/fair_score.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "temper/support/error.h"

namespace temper::search {

FairBaseline::FairBaseline(std::vector<double> valid_seconds, std::uint64_t candidates)
    : falling_(std::move(valid_seconds)), candidates_(candidates) {
  std::sort(falling_.begin(), falling_.end(), std::greater<>());
  TEMPER_CHECK(candidates_ >= falling_.size(), "more candidates have a time than there are");
  if (falling_.empty() || falling_.front() == falling_.back()) {
    throw Error(ErrorCode::Unsupported,
                falling_.empty() ? "no configuration has a time" : "all configurations take the same time", {},
                "there is nothing to search for; use another recording");
  }
}

double FairBaseline::median() const {
  const std::size_t half = falling_.size() / 2;
  return falling_.size() % 2 == 1 ? falling_[half] : (falling_[half - 1] + falling_[half]) / 2;
}

double FairBaseline::random_after(std::uint64_t evaluations) const {
  TEMPER_CHECK(evaluations > 0, "random search has nothing before its first evaluation");
  const double n = static_cast<double>(falling_.size()), k = static_cast<double>(evaluations);
  const double rank = std::nearbyint(k * (n + 1) / (k + 1));
  return falling_[static_cast<std::size_t>(std::min(n - 1, rank))];
}

double FairBaseline::target(double cutoff) const { return optimum() + (median() - optimum()) * (1 - cutoff); }

std::uint64_t FairBaseline::budget(double cutoff) const {
  const double wanted = target(cutoff);
  const auto first =
      std::partition_point(falling_.begin(), falling_.end(), [&](double seconds) { return seconds > wanted; });
  const double i = static_cast<double>(first - falling_.begin()), n = static_cast<double>(falling_.size());
  return static_cast<std::uint64_t>(std::max(1.0, std::ceil(i / (n + 1 - i))));
}

std::vector<double> FairBaseline::expected_random(std::uint64_t evaluations) const {
  const std::size_t steps = static_cast<std::size_t>(std::min(evaluations, candidates_));
  // For t draws: missed(j) = C(M-j, t) / C(M, t) is the probability that none of the j best was drawn. It follows from
  // missed(j-1) by the factor (M-j+1-t) / (M-j+1). The best is number j (from 1) with missed(j-1) - missed(j).
  std::vector<double> expected(steps);
  const double m = static_cast<double>(candidates_);
  for (std::size_t step = 0; step < steps; ++step) {
    const double draws = static_cast<double>(step + 1);
    double missed = 1, mean = 0;
    for (std::size_t j = 1; j <= falling_.size() && missed > 1e-16; ++j) {
      const double left = m - static_cast<double>(j) + 1;
      const double next = missed * std::max(0.0, left - draws) / left;
      mean += (missed - next) * falling_[falling_.size() - j];
      missed = next;
    }
    expected[step] = mean + missed * worst();
  }
  return expected;
}

double FairBaseline::score(std::span<const double> best_seconds) const {
  double sum = 0;
  std::size_t steps = 0;
  for (std::size_t t = 0; t < best_seconds.size(); ++t) {
    const double random = random_after(t + 1);
    if (random <= optimum()) continue;
    sum += (std::min(best_seconds[t], worst()) - random) / (optimum() - random);
    ++steps;
  }
  return steps == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(steps);
}

}  // namespace temper::search
