// The cost model of one task: the analytic prediction and boosted trees that learn online, with their time accounted.
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
  /// Borrows `space` and `phases`. `model` learns online.
  CandidateScorer(const TaskSpace& space, const target::Target& target, int threads, double flops,
                  std::unique_ptr<cost::CostModel> model, PhaseClock& phases);
  std::vector<double> score(std::span<const search::Candidate> candidates) override;
  void tell(std::span<const search::Told> results);

 private:
  PhaseClock* phases_;
  cost::ModelScorer model_;
};

}  // namespace temper::tune
