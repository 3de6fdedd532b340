#include "temper/search/replay.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "temper/support/error.h"

namespace temper::search {
namespace {

/// What a replayed space's prior says.
class KnownPrior : public Prior {
 public:
  explicit KnownPrior(const ReplayedSpace& replayed) : replayed_(replayed) {}
  std::vector<double> log_seconds(std::span<const Candidate> candidates) override {
    std::vector<double> result;
    for (const Candidate& candidate : candidates) {
      const std::optional<std::uint64_t> number = replayed_.index->index_of(candidate);
      TEMPER_CHECK(number.has_value(), "a strategy wonders about a candidate that is not valid");
      result.push_back(replayed_.prior[static_cast<std::size_t>(*number)]);
    }
    return result;
  }

 private:
  const ReplayedSpace& replayed_;
};

}  // namespace

ReplayedRun replay(std::string_view strategy, StrategyContext context, const ReplayedSpace& replayed,
                   const ReplayLimits& limits) {
  TEMPER_CHECK(replayed.outcomes.size() == replayed.index->size(), "a recording lacks candidates of its space");
  TEMPER_CHECK(replayed.prior.empty() || replayed.prior.size() == replayed.index->size(), "a prior lacks candidates");
  TEMPER_CHECK(limits.batch > 0, "candidates are asked for in batches of one at least");
  context.space = replayed.space;
  context.index = replayed.index;
  KnownPrior prior(replayed);
  if (!replayed.prior.empty()) context.prior = &prior;
  const std::unique_ptr<Strategy> searcher = make_strategy(strategy, context);
  ReplayedRun run;
  run.best_seconds.reserve(static_cast<std::size_t>(limits.evaluations));
  run.elapsed_seconds.reserve(static_cast<std::size_t>(limits.evaluations));
  double best = std::numeric_limits<double>::infinity(), elapsed = 0;
  std::vector<Told> told;
  while (run.best_seconds.size() < limits.evaluations || elapsed < limits.elapsed_seconds) {
    const std::uint64_t spent = run.best_seconds.size();
    const double share =
        limits.evaluations == 0 ? 1 : static_cast<double>(spent) / static_cast<double>(limits.evaluations);
    searcher->set_progress(std::min(1.0, share));
    std::vector<Candidate> asked = searcher->ask(limits.batch);
    if (asked.empty()) break;
    told.clear();
    for (Candidate& candidate : asked) {
      const std::optional<std::uint64_t> number = replayed.index->index_of(candidate);
      TEMPER_CHECK(number.has_value(), "a strategy asked for a candidate that is not valid");
      const Outcome& outcome = replayed.outcomes[static_cast<std::size_t>(*number)];
      if (outcome.ok) best = std::min(best, outcome.seconds);
      elapsed += outcome.spent_seconds;
      run.best_seconds.push_back(best);
      run.elapsed_seconds.push_back(elapsed);
      told.push_back({std::move(candidate), outcome.ok, outcome.ok ? outcome.seconds : 0});
    }
    searcher->tell(told);
  }
  return run;
}

}  // namespace temper::search
