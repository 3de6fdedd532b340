#include "temper/tune/candidate_scorer.h"

#include <utility>

#include "temper/tune/task_features.h"

namespace temper::tune {

CandidateScorer::CandidateScorer(const TaskSpace& space, const Task& task, const target::Target& target,
                                 std::unique_ptr<cost::CostModel> learner,
                                 std::shared_ptr<const cost::PretrainedModel> pretrained, int threads,
                                 PhaseClock& phases)
    : phases_(&phases),
      model_(task_extractor(space, task, target), std::move(learner), task_analysis(space, target, task.threads), {},
             std::move(pretrained), threads) {}

std::vector<double> CandidateScorer::score(std::span<const search::Candidate> candidates) {
  const PhaseClock::Scope scope(*phases_, Phase::Model);
  return model_.score(candidates);
}

void CandidateScorer::tell(std::span<const search::Told> results) {
  const PhaseClock::Scope scope(*phases_, Phase::Model);
  model_.tell(results);
}

}  // namespace temper::tune
