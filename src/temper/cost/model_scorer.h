// The scorer of a tuning run. A prediction made without measurements ranks the first batches: that of a pretrained
// model, or the analytic one. Once enough was measured, a model that learns online corrects it, and the more was
// measured the more its correction counts. All work on the logarithm of the throughput, normalised within the task, so
// that one model can learn from tasks of any size.
//
// Analysing a candidate costs a hundred times what its knobs cost. Where many are asked about at once, a screen that
// learned from the scores so far (`knob_screen.h`) chooses those that are worth an analysis; the others rank behind
// them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "temper/cost/cost_model.h"
#include "temper/cost/features.h"
#include "temper/cost/knob_screen.h"
#include "temper/cost/pretrained.h"
#include "temper/search/space.h"
#include "temper/search/strategy.h"

namespace temper::cost {

/// Options of `ModelScorer`, declared once.
std::span<const search::Option> model_scorer_options();

/// What a scorer did, and how well.
struct ScorerCounts {
  std::int64_t seen = 0;      ///< candidates that were scored, each time they were
  std::int64_t analysed = 0;  ///< of which a loop program was made
  std::int64_t measured = 0;  ///< that were told, each once
  /// Pairs of candidates told at a time whose times differ, both scored before, and those whose order was right.
  std::int64_t pairs = 0, right = 0;
  /// Share of the pairs that were in the right order; 0 without any.
  double hit_rate() const { return pairs > 0 ? static_cast<double>(right) / static_cast<double>(pairs) : 0; }
  ScorerCounts& operator+=(const ScorerCounts& other);
};

class ModelScorer : public search::Scorer {
 public:
  /// `extractor`'s space must outlive the scorer. `analyse` may be empty: then knobs and facts are all that is known,
  /// and before the model has learned every candidate scores the same. `pretrained` may be null. So many `threads`
  /// analyse; scores do not depend on their number. Throws Error{InvalidArgument} for a wrong option, and as
  /// `ColumnMap` for a pretrained model that does not fit.
  ModelScorer(FeatureExtractor extractor, std::unique_ptr<CostModel> model, Analyse analyse = {},
              const search::OptionValues& options = {}, std::shared_ptr<const PretrainedModel> pretrained = nullptr,
              int threads = 1);

  /// The model is trained here when enough measurements came in since the last time (option `growth`).
  std::vector<double> score(std::span<const search::Candidate> candidates) override;

  /// Measurements of this task; failed candidates count as slower than anything that ran. A second result for a
  /// candidate replaces the first.
  void tell(std::span<const search::Told> results);

  /// Whether scores come from what was learned, or still from the prediction alone.
  bool learned() const { return model_->trained(); }
  /// How much of the prediction is kept under the learned correction: 1 all of it, 0 it predicts nothing.
  double analysis_weight() const { return base_weight_; }
  const ScorerCounts& counts() const { return counts_; }

 private:
  struct Known {
    std::vector<float> row;  ///< what the online model learns from
    double base = 0;         ///< logarithm of the predicted speed, up to a constant of the task; NaN: unknown
    bool buildable = true;
  };
  /// Analyses those that are not known yet.
  void learn_about(std::span<const search::Candidate> candidates);
  const Known& known(const search::Candidate& candidate) const { return known_.at(candidate); }
  std::vector<double> score_known(std::span<const search::Candidate> candidates);
  /// Which of `candidates` are worth an analysis: all when they are few, or the screen knows too little.
  std::vector<bool> worth_analysing(std::span<const search::Candidate> candidates);
  void train();
  /// How much the prediction is worth, by what was measured: `target` is the score of a measurement.
  void fit_base(const std::function<double(const search::Told&)>& target);
  /// The part of the score that comes from the prediction: relative to `base_center_`, 0 where it is unknown.
  double base_score(const Known& candidate) const;
  /// Drops candidates that were asked about long ago.
  void forget();
  double option(const char* name) const { return options_.at(name); }

  FeatureExtractor extractor_;
  std::unique_ptr<CostModel> model_;
  Analyse analyse_;
  search::OptionValues options_;
  std::shared_ptr<const PretrainedModel> pretrained_;
  int threads_;
  std::optional<ColumnMap> columns_;         ///< of the pretrained model
  std::vector<std::size_t> online_columns_;  ///< those that differ between candidates of a task
  search::CandidateMap<Known> known_;
  std::vector<search::Candidate> analysed_;  ///< the latest, in turn: what the screen learns from
  search::CandidateMap<double> predicted_;   ///< the latest scores, of candidates that may be told
  KnobScreen screen_;
  /// `counts_.analysed` when the screen learned; nothing: the scores that it learned from are not today's.
  std::optional<std::int64_t> screened_at_;
  std::vector<search::Told> measured_;  ///< each candidate once, in order of first arrival
  search::CandidateMap<std::size_t> measured_at_;
  ScorerCounts counts_;
  bool stale_ = false;
  double trained_on_ = 0;  ///< measurements
  double base_weight_ = 1;
  double base_center_ = 0;
  double correction_weight_ = 1;
};

}  // namespace temper::cost
