#include "temper/cost/model_scorer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "temper/support/error.h"

namespace temper::cost {
namespace {

/// Candidates that are remembered although they were only scored; some ten megabytes.
constexpr std::size_t kMostScored = 10'000;

}  // namespace

std::span<const search::Option> model_scorer_options() {
  static const std::vector<search::Option> options{
      {"min_measurements", 16, 2, 1e6, "measurements before the learned model is used", true},
      {"growth", 0.2, 0, 10, "share by which the measurements must have grown before the model is trained again"},
      {"floor", 4, 0.1, 100, "slower than the best by more than this natural logarithm counts as this much"},
      {"failure_gap", 1, 0, 100, "how far below the slowest success a failure is put, as a natural logarithm"},
      {"min_weight", 0.2, 0, 1, "weight of the slowest candidates in training; the fastest one's is 1"}};
  return options;
}

ModelScorer::ModelScorer(FeatureExtractor extractor, std::unique_ptr<CostModel> model, Analyse analyse,
                         const search::OptionValues& options)
    : extractor_(std::move(extractor)),
      model_(std::move(model)),
      analyse_(std::move(analyse)),
      options_(search::complete_options("the model scorer", model_scorer_options(), options)) {
  TEMPER_CHECK(model_ != nullptr, "a model scorer needs a model");
}

const ModelScorer::Known& ModelScorer::known(const search::Candidate& candidate) {
  const auto found = known_.find(candidate);
  if (found != known_.end()) return found->second;
  const Analysis analysis = analyse_ ? analyse_(candidate) : Analysis{};
  Known entry;
  entry.buildable = analysis.buildable;
  entry.base = analysis.seconds > 0 ? -std::log(analysis.seconds) : std::numeric_limits<double>::quiet_NaN();
  if (analysis.buildable) entry.row = extractor_.extract(candidate, analysis);
  return known_.emplace(candidate, std::move(entry)).first->second;
}

double ModelScorer::base_score(const Known& candidate) const {
  return std::isnan(candidate.base) ? 0 : analysis_weight_ * (candidate.base - base_center_);
}

std::vector<double> ModelScorer::score(std::span<const search::Candidate> candidates) {
  if (stale_ && static_cast<double>(measured_.size()) >= (1 + options_.at("growth")) * trained_on_) train();
  std::vector<double> scores(candidates.size(), -std::numeric_limits<double>::infinity());
  if (!learned()) {
    // The analysis alone. Where it has no opinion a candidate is as good as the middle of those where it has one.
    std::vector<double> opinions;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const Known& candidate = known(candidates[i]);
      if (!candidate.buildable) continue;
      scores[i] = candidate.base;
      if (!std::isnan(candidate.base)) opinions.push_back(candidate.base);
    }
    double middle = 0;
    if (!opinions.empty()) {
      const auto at = opinions.begin() + static_cast<std::ptrdiff_t>(opinions.size() / 2);
      std::nth_element(opinions.begin(), at, opinions.end());
      middle = *at;
    }
    for (double& value : scores) value = std::isnan(value) ? middle : value;
    return scores;
  }
  FeatureMatrix rows(extractor_.columns().size());
  rows.reserve(candidates.size());
  std::vector<std::size_t> buildable;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Known& candidate = known(candidates[i]);
    if (!candidate.buildable) continue;
    rows.append(candidate.row);
    buildable.push_back(i);
    scores[i] = base_score(candidate);
  }
  const std::vector<double> corrections = model_->predict(rows);
  for (std::size_t i = 0; i < buildable.size(); ++i) scores[buildable[i]] += corrections[i];
  return scores;
}

void ModelScorer::tell(std::span<const search::Told> results) {
  for (const search::Told& told : results) {
    const auto [at, first] = measured_at_.emplace(told.candidate, measured_.size());
    if (first) {
      measured_.push_back(told);
    } else {
      measured_[at->second] = told;
    }
    stale_ = true;
  }
  // Strategies score a hundred candidates for each one that is measured: of a long run only the latest are worth
  // keeping.
  if (known_.size() > kMostScored + measured_.size())
    std::erase_if(known_, [&](const auto& entry) { return !measured_at_.contains(entry.first); });
}

void ModelScorer::train() {
  stale_ = false;
  if (static_cast<double>(measured_.size()) < options_.at("min_measurements")) return;
  double best = std::numeric_limits<double>::infinity();
  for (const search::Told& told : measured_) {
    if (told.ok && told.seconds > 0) best = std::min(best, told.seconds);
  }
  if (!std::isfinite(best)) return;  // nothing ran: there is no scale yet
  const double floor = -options_.at("floor");
  const auto ran = [](const search::Told& told) { return told.ok && told.seconds > 0; };
  double slowest = 0;
  for (const search::Told& told : measured_) {
    if (ran(told)) slowest = std::min(slowest, std::max(floor, std::log(best / told.seconds)));
  }
  const auto target = [&](const search::Told& told) {
    return ran(told) ? std::max(floor, std::log(best / told.seconds)) : slowest - options_.at("failure_gap");
  };

  // Least squares of the measured scores on the predicted ones says how much the analysis is worth on this task.
  double count = 0, sum_base = 0, sum_target = 0;
  for (const search::Told& told : measured_) {
    const double base = known(told.candidate).base;
    if (!ran(told) || std::isnan(base)) continue;
    count += 1, sum_base += base, sum_target += target(told);
  }
  analysis_weight_ = count > 0 ? 1 : 0;
  if (count > 0) {
    base_center_ = sum_base / count;
    double covariance = 0, variance = 0;
    for (const search::Told& told : measured_) {
      const double base = known(told.candidate).base;
      if (!ran(told) || std::isnan(base)) continue;
      covariance += (base - base_center_) * (target(told) - sum_target / count);
      variance += (base - base_center_) * (base - base_center_);
    }
    if (variance > 1e-12) analysis_weight_ = std::clamp(covariance / variance, 0.0, 1.0);
  }

  TrainingSet samples{FeatureMatrix(extractor_.columns().size()), {}, {}, {}};
  for (const search::Told& told : measured_) {
    const Known& candidate = known(told.candidate);
    if (!candidate.buildable) continue;
    samples.features.append(candidate.row);
    samples.scores.push_back(target(told) - base_score(candidate));
    samples.weights.push_back(std::max(options_.at("min_weight"), std::exp(target(told))));
  }
  if (samples.features.rows() == 0) return;
  model_->update(samples);
  trained_on_ = static_cast<double>(measured_.size());
}

}  // namespace temper::cost
