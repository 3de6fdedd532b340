// Genetic algorithm on measured times: the best measured candidates are the population, parents win tournaments,
// children cross over and mutate inside the valid space. With a scorer, several children are bred for each one that is
// measured.
#include <algorithm>
#include <cmath>

#include "temper/search/strategies/all.h"
#include "temper/search/strategy_base.h"

namespace temper::search {
namespace {

class Genetic : public StrategyBase {
 public:
  explicit Genetic(const StrategyContext& context) : StrategyBase(context, "genetic") {}

 protected:
  void propose(int count) override {
    // The first generation is random: half of it balanced between the designs, half uniform over the space.
    while (missing() > 0 && founders_ < int_option("population")) {
      ++founders_;
      if (founders_ % 2 == 1 && accept(index().sample_by_design(random()))) continue;
      if (!accept_random()) return;
    }
    if (missing() <= 0 || measured().empty()) return;
    const std::size_t litter =
        static_cast<std::size_t>(count) * (has_scorer() ? static_cast<std::size_t>(option("brood")) : 1);
    std::vector<Candidate> children;
    CandidateSet distinct;
    // Breeding may return to what is known; the limit ends it where a neighbourhood is used up.
    for (std::size_t tries = 0; children.size() < litter && tries < 20 * litter; ++tries) {
      Candidate child = breed();
      if (!seen(child) && distinct.insert(child).second) children.push_back(std::move(child));
    }
    if (has_scorer()) {
      const std::vector<double> scores = score(children);
      std::vector<Scored> scored;
      for (std::size_t i = 0; i < children.size(); ++i) {
        if (std::isfinite(scores[i])) scored.push_back({children[i], scores[i]});
      }
      sort_by_score(scored);
      for (const Scored& child : scored) accept(child.candidate);
    } else {
      for (const Candidate& child : children) accept(child);
    }
  }

 private:
  std::size_t population() const { return std::min(measured().size(), static_cast<std::size_t>(option("population"))); }

  const Candidate& parent() {
    std::size_t winner = static_cast<std::size_t>(random().below(population()));
    for (int i = 1; i < int_option("tournament"); ++i) {
      winner = std::min(winner, static_cast<std::size_t>(random().below(population())));
    }
    return measured()[winner].candidate;
  }

  Candidate breed() {
    Candidate child = parent();
    if (random().chance(option("crossover"))) child = index().crossover(child, parent(), random());
    if (seen(child) || random().chance(option("mutation"))) {
      child = index().mutate(child, random().chance(0.5) ? 1 : 2, random());
    }
    return child;
  }

  int founders_ = 0;
};

std::unique_ptr<Strategy> make(const StrategyContext& context) { return std::make_unique<Genetic>(context); }

}  // namespace

StrategyInfo genetic_strategy() {
  return {
      "genetic",
      "tournament selection, crossover and mutation of the best measured candidates",
      {{"population", 32, 2, 4096, "random candidates to begin with, and best measured ones that may be parents", true},
       {"tournament", 3, 1, 64, "candidates that compete to become a parent", true},
       {"crossover", 0.6, 0, 1, "probability that a child has two parents"},
       {"mutation", 0.4, 0, 1, "probability that a child of two parents is also mutated"},
       {"brood", 16, 1, 1024, "children scored for each one that is measured; only with a cost model", true}},
      make};
}

}  // namespace temper::search
