#include "temper/cost/model_scorer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "temper/support/error.h"
#include "temper/support/parallel.h"

namespace temper::cost {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
/// So many candidates are remembered beside the measured ones; memory stays flat however long a search takes.
constexpr std::size_t kMostRemembered = 16384;
constexpr std::size_t kScreenWindow = 2;  ///< the screen learns from so many times `screen_sample` at most

bool ran(const search::Told& told) { return told.ok && told.seconds > 0; }

}  // namespace

std::span<const search::Option> model_scorer_options() {
  static const std::vector<search::Option> options{
      {"min_measurements", 16, 2, 1e6, "measurements before the learned model is used", true},
      {"growth", 0.25, 0, 10, "share by which the measurements must have grown before the model is trained again"},
      {"floor", 4, 0.1, 100, "slower than the best by more than this natural logarithm counts as this much"},
      {"failure_gap", 1, 0, 100, "how far below the slowest success a failure is put, as a natural logarithm"},
      {"min_weight", 0.2, 0, 1, "weight of the slowest candidates in training; the fastest one's is 1"},
      {"half_way", 8, 0, 1e6, "measurements after which half of the learned correction counts"},
      {"screen_from", 128, 1, 1e9, "unknown candidates asked about at once from which on the screen is used", true},
      {"screen_sample", 256, 2, 1e6,
       "analysed candidates that the screen needs; it learns from the latest, twice as many", true},
      {"screen_share", 0.15, 0.01, 1, "share of the unknown candidates that the screen lets through"},
      {"screen_most", 64, 1, 1e9, "unknown candidates that the screen lets through at a time, at most", true}};
  return options;
}

ScorerCounts& ScorerCounts::operator+=(const ScorerCounts& other) {
  seen += other.seen, analysed += other.analysed, measured += other.measured;
  pairs += other.pairs, right += other.right;
  return *this;
}

ModelScorer::ModelScorer(FeatureExtractor extractor, std::unique_ptr<CostModel> model, Analyse analyse,
                         const search::OptionValues& options, std::shared_ptr<const PretrainedModel> pretrained,
                         int threads)
    : extractor_(std::move(extractor)),
      model_(std::move(model)),
      analyse_(std::move(analyse)),
      options_(search::complete_options("the model scorer", model_scorer_options(), options)),
      pretrained_(std::move(pretrained)),
      threads_(threads),
      screen_(extractor_.space()) {
  TEMPER_CHECK(model_ != nullptr, "a model scorer needs a model");
  if (pretrained_) columns_.emplace(pretrained_->card().columns, extractor_.columns());
  for (std::size_t c = 0; c < extractor_.columns().size(); ++c) {
    const std::string& name = extractor_.columns()[c];
    if (!name.starts_with("fact.") && !name.starts_with("relative.")) online_columns_.push_back(c);
  }
}

void ModelScorer::learn_about(std::span<const search::Candidate> candidates) {
  struct Fresh {
    const search::Candidate* candidate;
    Known* entry;  ///< those of a node-based map stay where they are
    std::vector<float> row = {};
  };
  std::vector<Fresh> fresh;
  for (const search::Candidate& candidate : candidates) {
    const auto [at, is_new] = known_.try_emplace(candidate);
    if (!is_new) continue;
    fresh.push_back({&candidate, &at->second});
    const auto most = kScreenWindow * static_cast<std::size_t>(option("screen_sample"));
    if (analysed_.size() < most) {
      analysed_.push_back(candidate);
    } else {
      analysed_[static_cast<std::size_t>(counts_.analysed) % most] = candidate;
    }
    ++counts_.analysed;
  }
  share_among_threads(static_cast<int>(fresh.size()), threads_, [&](int i) {
    auto& [candidate, entry, row] = fresh[static_cast<std::size_t>(i)];
    const Analysis analysis = analyse_ ? analyse_(*candidate) : Analysis{};
    entry->buildable = analysis.buildable;
    entry->base = analysis.seconds > 0 ? -std::log(analysis.seconds) : kNothing;
    if (!analysis.buildable) return;
    row = extractor_.extract(*candidate, analysis);
    for (const std::size_t column : online_columns_) entry->row.push_back(row[column]);
  });
  if (!pretrained_) return;
  FeatureMatrix wanted(pretrained_->card().columns.size());
  std::vector<Known*> predicted;
  for (const auto& [candidate, entry, row] : fresh) {
    if (!entry->buildable) continue;
    columns_->append(row, wanted);
    predicted.push_back(entry);
  }
  if (predicted.empty()) return;
  const std::vector<double> scores = pretrained_->predict(wanted);
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    predicted[i]->base = scores[i];
    predicted[i]->row.push_back(static_cast<float>(scores[i]));
  }
}

double ModelScorer::base_score(const Known& candidate) const {
  return std::isnan(candidate.base) ? 0 : base_weight_ * (candidate.base - base_center_);
}

std::vector<double> ModelScorer::score_known(std::span<const search::Candidate> candidates) {
  std::vector<double> scores(candidates.size(), -std::numeric_limits<double>::infinity());
  if (!learned()) {
    // The prediction alone. Where it has no opinion a candidate is as good as the middle of those where it has one.
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
  FeatureMatrix rows(online_columns_.size() + (pretrained_ ? 1 : 0));
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
  for (std::size_t i = 0; i < buildable.size(); ++i) scores[buildable[i]] += correction_weight_ * corrections[i];
  return scores;
}

std::vector<bool> ModelScorer::worth_analysing(std::span<const search::Candidate> candidates) {
  std::vector<bool> worth(candidates.size(), true);
  std::vector<std::size_t> unknown;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!known_.contains(candidates[i])) unknown.push_back(i);
  }
  const auto sample = static_cast<std::size_t>(option("screen_sample"));
  // Without an analysis there is nothing to save.
  if (!analyse_ || static_cast<double>(unknown.size()) < option("screen_from")) return worth;
  if (analysed_.size() < sample) {
    // The first of them teach the screen.
    const std::size_t missing = std::min(sample - analysed_.size(), unknown.size());
    std::vector<search::Candidate> teachers;
    for (std::size_t i = 0; i < missing; ++i) teachers.push_back(candidates[unknown[i]]);
    learn_about(teachers);
    unknown.erase(unknown.begin(), unknown.begin() + static_cast<std::ptrdiff_t>(missing));
  }
  if (analysed_.size() < sample || unknown.empty()) return worth;
  // What it knows is worth something for a while: until the scores change, or an eighth of the candidates is new.
  if (!screened_at_ || 8 * (counts_.analysed - *screened_at_) >= static_cast<std::int64_t>(analysed_.size())) {
    screen_.learn(analysed_, score_known(analysed_));
    screened_at_ = counts_.analysed;
  }
  // Of a design that the screen knows too little about, all are let through first.
  const std::size_t enough = sample / 16;
  const auto order = [&](std::size_t i) {
    return std::pair(screen_.known(candidates[i].design) < enough, screen_.score(candidates[i]));
  };
  std::ranges::stable_sort(unknown, std::greater(), order);
  const double share = std::ceil(option("screen_share") * static_cast<double>(unknown.size()));
  const auto through = static_cast<std::size_t>(std::min(share, option("screen_most")));
  for (std::size_t i = through; i < unknown.size(); ++i) worth[unknown[i]] = false;
  return worth;
}

std::vector<double> ModelScorer::score(std::span<const search::Candidate> candidates) {
  counts_.seen += static_cast<std::int64_t>(candidates.size());
  forget();
  if (stale_ && static_cast<double>(measured_.size()) >= (1 + option("growth")) * trained_on_) train();
  const std::vector<bool> worth = worth_analysing(candidates);
  std::vector<search::Candidate> chosen;
  std::vector<std::size_t> position, others;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!worth[i]) {
      others.push_back(i);
      continue;
    }
    chosen.push_back(candidates[i]);
    position.push_back(i);
  }
  learn_about(chosen);
  const std::vector<double> chosen_scores = score_known(chosen);
  std::vector<double> scores(candidates.size());
  double lowest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    scores[position[i]] = chosen_scores[i];
    predicted_[chosen[i]] = chosen_scores[i];
    if (std::isfinite(chosen_scores[i])) lowest = std::min(lowest, chosen_scores[i]);
  }
  if (others.empty()) return scores;
  double highest = -std::numeric_limits<double>::infinity();
  for (const std::size_t i : others) {
    scores[i] = screen_.score(candidates[i]);
    highest = std::max(highest, scores[i]);
  }
  const double below = std::isfinite(lowest) ? lowest - highest - 1e-6 : 0;
  for (const std::size_t i : others) scores[i] += below;
  return scores;
}

void ModelScorer::forget() {
  if (known_.size() < kMostRemembered + measured_.size() + analysed_.size()) return;
  search::CandidateSet kept(analysed_.begin(), analysed_.end());
  for (const search::Told& told : measured_) kept.insert(told.candidate);
  std::erase_if(known_, [&](const auto& entry) { return !kept.contains(entry.first); });
  predicted_.clear();
}

void ModelScorer::tell(std::span<const search::Told> results) {
  std::vector<std::pair<double, double>> predicted;  // score and speed
  for (const search::Told& told : results) {
    const auto [at, first] = measured_at_.emplace(told.candidate, measured_.size());
    if (first) {
      measured_.push_back(told);
      ++counts_.measured;
      const auto found = predicted_.find(told.candidate);
      if (found != predicted_.end() && ran(told)) predicted.emplace_back(found->second, 1 / told.seconds);
    } else {
      measured_[at->second] = told;
    }
    stale_ = true;
  }
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    for (std::size_t j = i + 1; j < predicted.size(); ++j) {
      if (predicted[i].second == predicted[j].second) continue;
      ++counts_.pairs;
      if ((predicted[i].first > predicted[j].first) == (predicted[i].second > predicted[j].second)) ++counts_.right;
    }
  }
}

void ModelScorer::train() {
  stale_ = false;
  if (static_cast<double>(measured_.size()) < option("min_measurements")) return;
  double best = std::numeric_limits<double>::infinity();
  for (const search::Told& told : measured_) {
    if (ran(told)) best = std::min(best, told.seconds);
  }
  if (!std::isfinite(best)) return;  // nothing ran: there is no scale yet
  std::vector<search::Candidate> candidates;
  for (const search::Told& told : measured_) candidates.push_back(told.candidate);
  learn_about(candidates);
  const double floor = -option("floor");
  double slowest = 0;
  for (const search::Told& told : measured_) {
    if (ran(told)) slowest = std::min(slowest, std::max(floor, std::log(best / told.seconds)));
  }
  const auto target = [&](const search::Told& told) {
    return ran(told) ? std::max(floor, std::log(best / told.seconds)) : slowest - option("failure_gap");
  };
  fit_base(target);
  TrainingSet samples{FeatureMatrix(online_columns_.size() + (pretrained_ ? 1 : 0)), {}, {}, {}};
  for (const search::Told& told : measured_) {
    const Known& candidate = known(told.candidate);
    if (!candidate.buildable) continue;
    samples.features.append(candidate.row);
    samples.scores.push_back(target(told) - base_score(candidate));
    samples.weights.push_back(std::max(option("min_weight"), std::exp(target(told))));
  }
  if (samples.features.rows() == 0) return;
  model_->update(samples);
  trained_on_ = static_cast<double>(measured_.size());
  screened_at_.reset();
  const auto count = static_cast<double>(samples.features.rows());
  correction_weight_ = count / (count + option("half_way"));
}

void ModelScorer::fit_base(const std::function<double(const search::Told&)>& target) {
  // Least squares of the measured scores on the predicted ones says how much the prediction is worth on this task.
  double count = 0, sum_base = 0, sum_target = 0;
  for (const search::Told& told : measured_) {
    const double base = known(told.candidate).base;
    if (!ran(told) || std::isnan(base)) continue;
    count += 1, sum_base += base, sum_target += target(told);
  }
  base_weight_ = count > 0 ? 1 : 0;
  if (count == 0) return;
  base_center_ = sum_base / count;
  double covariance = 0, variance = 0;
  for (const search::Told& told : measured_) {
    const double base = known(told.candidate).base;
    if (!ran(told) || std::isnan(base)) continue;
    covariance += (base - base_center_) * (target(told) - sum_target / count);
    variance += (base - base_center_) * (base - base_center_);
  }
  if (variance > 1e-12) base_weight_ = std::clamp(covariance / variance, 0.0, 1.0);
}

}  // namespace temper::cost
