#include "temper/cost/knob_screen.h"

#include <cmath>
#include <utility>

namespace temper::cost {
namespace {

constexpr double kSingleDoubt = 1;  ///< how many candidates without an effect each value starts with
constexpr double kPairDoubt = 4;    ///< and each pair of values
constexpr int kPasses = 2;

}  // namespace

KnobScreen::KnobScreen(const search::Space& space) {
  for (const search::Design& design : space.designs()) {
    Design& own = designs_.emplace_back();
    for (const search::Knob& knob : design.knobs) {
      own.first.push_back(own.values);
      own.values += knob.values.size();
    }
  }
}

void KnobScreen::learn(std::span<const search::Candidate> candidates, std::span<const double> scores) {
  std::vector<std::vector<const search::Candidate*>> of_design(designs_.size());
  std::vector<std::vector<double>> their_scores(designs_.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!std::isfinite(scores[i])) continue;
    const auto design = static_cast<std::size_t>(candidates[i].design);
    of_design[design].push_back(&candidates[i]);
    their_scores[design].push_back(scores[i]);
  }
  for (std::size_t d = 0; d < designs_.size(); ++d) learn(designs_[d], of_design[d], std::move(their_scores[d]));
}

void KnobScreen::learn(Design& design, std::span<const search::Candidate* const> candidates,
                       std::vector<double> scores) {
  const std::size_t knobs = design.first.size();
  design.count = candidates.size();
  design.mean = 0;
  design.single.assign(design.values, 0);
  design.pair.assign(design.values * design.values, 0);
  if (candidates.empty()) return;
  for (const double score : scores) design.mean += score / static_cast<double>(scores.size());
  for (double& score : scores) score -= design.mean;  // what is left to explain, from here on
  const auto value = [&](std::size_t i, std::size_t knob) {
    return design.first[knob] + static_cast<std::size_t>(candidates[i]->choice[knob]);
  };
  std::vector<double> sum, count;
  /// Moves the means of what is left, by the values' numbers, into `effects`.
  const auto explain = [&](std::vector<float>& effects, double doubt, const auto& number) {
    sum.assign(effects.size(), 0);
    count.assign(effects.size(), 0);
    for (std::size_t i = 0; i < scores.size(); ++i) sum[number(i)] += scores[i], count[number(i)] += 1;
    for (std::size_t i = 0; i < scores.size(); ++i) scores[i] -= sum[number(i)] / (count[number(i)] + doubt);
    for (std::size_t e = 0; e < effects.size(); ++e) {
      if (count[e] > 0) effects[e] += static_cast<float>(sum[e] / (count[e] + doubt));
    }
  };
  for (int pass = 0; pass < kPasses; ++pass) {
    for (std::size_t k = 0; k < knobs; ++k)
      explain(design.single, kSingleDoubt, [&](std::size_t i) { return value(i, k); });
    for (std::size_t k = 0; k < knobs; ++k) {
      for (std::size_t l = k + 1; l < knobs; ++l)
        explain(design.pair, kPairDoubt, [&](std::size_t i) { return value(i, k) * design.values + value(i, l); });
    }
  }
}

double KnobScreen::score(const search::Candidate& candidate) const {
  const Design& design = designs_[static_cast<std::size_t>(candidate.design)];
  double result = design.mean;
  for (std::size_t k = 0; k < design.first.size(); ++k) {
    const std::size_t value = design.first[k] + static_cast<std::size_t>(candidate.choice[k]);
    result += design.single[value];
    const float* row = design.pair.data() + value * design.values;
    for (std::size_t l = k + 1; l < design.first.size(); ++l)
      result += row[design.first[l] + static_cast<std::size_t>(candidate.choice[l])];
  }
  return result;
}

}  // namespace temper::cost
