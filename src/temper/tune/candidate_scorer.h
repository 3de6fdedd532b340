// The cost model of one task: the prediction of a pretrained or the analytic model and a model that learns online, with
// their time accounted.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "temper/cost/model_scorer.h"
#include "temper/search/strategy.h"
#include "temper/tune/phase_clock.h"
#include "temper/tune/task_space.h"

namespace temper::tune {

class CandidateScorer : public search::Scorer {
 public:
  /// Borrows `space` and `phases`. `learner` learns online; `pretrained` may be null; `threads` analyse candidates.
  CandidateScorer(const TaskSpace& space, const Task& task, const target::Target& target,
                  std::unique_ptr<cost::CostModel> learner, std::shared_ptr<const cost::PretrainedModel> pretrained,
                  int threads, PhaseClock& phases);
  std::vector<double> score(std::span<const search::Candidate> candidates) override;
  void tell(std::span<const search::Told> results);
  const cost::ScorerCounts& counts() const { return model_.counts(); }

 private:
  PhaseClock* phases_;
  cost::ModelScorer model_;
};

}  // namespace temper::tune
