// The scorer of a tuning run: an analytic prediction ranks the first batches; once enough was measured, a learned model
// corrects it. Both work on the logarithm of the throughput, normalised within the task, so that one model can learn
// from tasks of any size.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "temper/cost/cost_model.h"
#include "temper/cost/features.h"
#include "temper/search/space.h"
#include "temper/search/strategy.h"

namespace temper::cost {

/// Options of `ModelScorer`, declared once.
std::span<const search::Option> model_scorer_options();

class ModelScorer : public search::Scorer {
 public:
  /// `extractor`'s space must outlive the scorer. `analyse` may be empty: then knobs and facts are all that is known,
  /// and before the model has learned every candidate scores the same. Throws Error{InvalidArgument} for a wrong
  /// option.
  ModelScorer(FeatureExtractor extractor, std::unique_ptr<CostModel> model, Analyse analyse = {},
              const search::OptionValues& options = {});

  /// The model is trained here when enough measurements came in since the last time (option `growth`).
  std::vector<double> score(std::span<const search::Candidate> candidates) override;

  /// Measurements of this task; failed candidates count as slower than anything that ran. A second result for a
  /// candidate replaces the first.
  void tell(std::span<const search::Told> results);

  /// Whether scores come from what was learned, or still from the analysis alone.
  bool learned() const { return model_->trained(); }
  /// How much of the analysis's prediction is kept under the learned correction: 1 all of it, 0 it predicts nothing.
  double analysis_weight() const { return analysis_weight_; }
  const FeatureExtractor& extractor() const { return extractor_; }

 private:
  struct Known {
    std::vector<float> row;
    double base = 0;  ///< minus log of the predicted seconds; NaN: unknown
    bool buildable = true;
  };
  const Known& known(const search::Candidate& candidate);
  void train();
  /// The part of the score that comes from the analysis: relative to `base_at_best_`, 0 where it is unknown.
  double base_score(const Known& candidate) const;

  FeatureExtractor extractor_;
  std::unique_ptr<CostModel> model_;
  Analyse analyse_;
  search::OptionValues options_;
  search::CandidateMap<Known> known_;
  std::vector<search::Told> measured_;  ///< each candidate once, in order of first arrival
  search::CandidateMap<std::size_t> measured_at_;
  bool stale_ = false;
  double trained_on_ = 0;  ///< measurements
  double analysis_weight_ = 1;
  double base_center_ = 0;
};

}  // namespace temper::cost
