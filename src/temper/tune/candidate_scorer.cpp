#include "temper/tune/candidate_scorer.h"

#include <utility>

#include "temper/cost/analytic.h"
#include "temper/support/error.h"

namespace temper::tune {
namespace {

std::vector<cost::Fact> facts(const target::Target& target, int threads, double flops) {
  std::vector<cost::Fact> result = cost::target_facts(target, threads);
  result.emplace_back("flops", flops);
  return result;
}

/// A template that breaks on a candidate must not end the search: nothing is predicted for it, and if it is asked for
/// its error becomes a recorded failure.
cost::Analyse analysis(const TaskSpace& space, const target::Target& target, int threads) {
  cost::Analyse analyse = cost::schedule_analysis(
      [&space](const search::Candidate& candidate) { return space.materialise(candidate); }, target, threads);
  return [analyse = std::move(analyse)](const search::Candidate& candidate) {
    try {
      return analyse(candidate);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Internal) throw;
      cost::Analysis unknown;
      unknown.features.assign(cost::analytic_features().size(), std::numeric_limits<double>::quiet_NaN());
      return unknown;
    }
  };
}

}  // namespace

CandidateScorer::CandidateScorer(const TaskSpace& space, const target::Target& target, int threads, double flops,
                                 std::unique_ptr<cost::CostModel> model, PhaseClock& phases)
    : phases_(&phases),
      model_(cost::FeatureExtractor(space, facts(target, threads, flops), cost::analytic_features()), std::move(model),
             analysis(space, target, threads)) {}

std::vector<double> CandidateScorer::score(std::span<const search::Candidate> candidates) {
  const PhaseClock::Scope scope(*phases_, Phase::Model);
  return model_.score(candidates);
}

void CandidateScorer::tell(std::span<const search::Told> results) {
  const PhaseClock::Scope scope(*phases_, Phase::Model);
  model_.tell(results);
}

}  // namespace temper::tune
