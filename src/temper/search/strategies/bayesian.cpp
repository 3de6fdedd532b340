// Bayesian optimisation: a Gaussian process over the knobs predicts the logarithm of the time of every candidate in a
// pool (`surrogate/pool_search.h`), and the one with the largest expected improvement on the best is measured next
// (Jones, Schonlau and Welch, "Efficient global optimization of expensive black-box functions", 1998). Candidates of
// one batch count as measured at their predicted times until they are told (the "kriging believer" of Ginsbourger et
// al., 2010).
#include <optional>

#include "temper/search/strategies/all.h"
#include "temper/search/strategy_base.h"
#include "temper/search/surrogate/pool_search.h"

namespace temper::search {
namespace {

class Bayesian : public StrategyBase {
 public:
  explicit Bayesian(const StrategyContext& context)
      : StrategyBase(context, "bayesian"),
        search_(space(), index(), search_options(), random().fork("search"), prior()) {}

 protected:
  void propose(int) override {
    const auto filter = [&](std::vector<Candidate> candidates) { return worth_measuring(std::move(candidates)); };
    while (missing() > 0) {
      const std::optional<Candidate> next = search_.next(measured(), filter);
      if (!next) return;  // the base fills up at random, which ends with the space
      accept(*next);
    }
  }

  void accept_refinements(std::vector<Candidate> candidates, int keep) override {
    const auto filter = [&](std::vector<Candidate> near) { return worth_measuring(std::move(near)); };
    while (missing() > keep) {
      const std::optional<Candidate> next = search_.next_of(candidates, filter);
      if (!next) return;
      accept(*next);
    }
  }

  void learn(std::span<const Told> results) override {
    for (const Told& told : results) {
      if (index().contains(told.candidate)) search_.tell(told);
    }
  }

 private:
  PoolSearchOptions search_options() const {
    const auto whole = [&](const char* name) { return static_cast<std::size_t>(option(name)); };
    return {{whole("pool"), whole("points")}, whole("initial"), whole("elites"), whole("children")};
  }

  PoolSearch search_;
};

std::unique_ptr<Strategy> make(const StrategyContext& context) { return std::make_unique<Bayesian>(context); }

}  // namespace

StrategyInfo bayesian_strategy() {
  return {"bayesian",
          "a Gaussian process over the knobs, and the candidate with the largest expected improvement",
          {{"initial", 8, 1, 100000, "random measurements before the first prediction counts", true},
           {"pool", 1000, 2, 100000, "unmeasured candidates that are kept predicted", true},
           {"points", 300, 8, 4000, "measurements that are learned from: the fastest and a part of the others", true},
           {"elites", 16, 1, 1024, "best measured candidates whose children join the pool", true},
           {"children", 6, 0, 1000, "children that join the pool before each proposal", true}},
          make};
}

}  // namespace temper::search
