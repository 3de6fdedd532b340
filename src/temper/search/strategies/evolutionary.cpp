// Model-guided evolution, the default. Each batch evolves a population on predicted scores: it starts from the best
// measured candidates and fresh random ones, and a few generations of crossover and mutation score thousands of
// candidates, of which about 1% are measured: the best, kept diverse, and a random share against the model's blind
// spots. (After the evolutionary search of Ansor: Zheng et al., OSDI 2020, section 5.1.) Before the last tenth of a
// budget, where everyone refines, a growing share of the batch does already, so that no single-knob improvement of the
// winner is left untried where the budget allows. Without a scorer it learns a model of
// the knobs itself, from its own measurements, and evolves the pool of that (`surrogate/pool_search.h`).
#include <algorithm>
#include <cmath>
#include <optional>

#include "temper/search/strategies/all.h"
#include "temper/search/strategy_base.h"
#include "temper/search/surrogate/pool_search.h"

namespace temper::search {
namespace {

/// Fresh candidates for each one of a population: with its generations, more than 100 are scored for each one of a
/// batch of 16, less where some of the batch refines.
constexpr std::size_t kFresh = 6;

class Evolutionary : public StrategyBase {
 public:
  explicit Evolutionary(const StrategyContext& context) : StrategyBase(context, "evolutionary") {
    if (has_scorer()) return;
    PoolSearchOptions options;
    options.elites = static_cast<std::size_t>(option("elites"));
    own_model_.emplace(space(), index(), options, random().fork("own model"), prior());
  }

 protected:
  void propose(int count) override {
    const int random_share = rounded(option("epsilon") * count);
    const int refined = measured().empty() ? 0 : rounded(refined_share() * count);
    refine(refined);
    if (has_scorer()) {
      evolve_on_scores(missing() - random_share);
    } else {
      evolve_on_own_model(missing() - random_share);
    }
  }

  void learn(std::span<const Told> results) override {
    for (const Told& told : results) {
      if (own_model_ && index().contains(told.candidate)) own_model_->tell(told);
    }
  }

 private:
  /// A whole number near `share`, right on average.
  int rounded(double share) { return static_cast<int>(std::floor(share + random().uniform_real())); }

  /// None before `refine_from`, then half of `refine_share`, rising towards all of it at the end of the budget.
  double refined_share() const {
    const double from = option("refine_from");
    if (progress() < from || from >= 1) return 0;
    return option("refine_share") * std::min(1.0, 0.5 + 0.5 * (progress() - from) / (1 - from));
  }

  void accept_refinements(std::vector<Candidate> candidates, int keep) override {
    if (!own_model_) return StrategyBase::accept_refinements(std::move(candidates), keep);
    while (missing() > keep) {
      const std::optional<Candidate> next = own_model_->next_of(candidates, worth());
      if (!next) return;
      accept(*next);
    }
  }

  void evolve_on_scores(int count) {
    if (count <= 0) return;
    const std::size_t population = static_cast<std::size_t>(option("population"));
    CandidateMap<double> known;  // everything scored for this batch
    const auto add_scores = [&](const std::vector<Candidate>& candidates) {
      const std::vector<double> scores = score(candidates);
      for (std::size_t i = 0; i < candidates.size(); ++i) known.emplace(candidates[i], scores[i]);
    };
    // Founders: elites, and many fresh samples, of which a scorer may look at the most promising ones only.
    std::vector<Candidate> founders;
    CandidateSet distinct;
    const auto found = [&](const Candidate& candidate) {
      if (distinct.insert(candidate).second) founders.push_back(candidate);
    };
    const std::size_t elites = std::min(measured().size(), static_cast<std::size_t>(option("elites")));
    for (std::size_t i = 0; i < elites; ++i) found(measured()[i].candidate);
    const std::size_t fresh = kFresh * population;
    for (std::size_t i = 0; i < fresh; ++i)
      found(i % 2 == 0 ? index().sample(random()) : index().sample_by_design(random()));
    add_scores(founders);

    std::vector<Scored> parents = best_of(known, population);
    if (parents.empty()) return;  // nothing here can be built; the base fills up at random
    for (int generation = 0; generation < int_option("generations"); ++generation) {
      std::vector<Candidate> children;
      for (std::size_t i = 0; i < population; ++i) {
        Candidate child = breed(parents);
        if (!known.contains(child) && distinct.insert(child).second) children.push_back(std::move(child));
      }
      if (children.empty()) break;
      add_scores(children);
      parents = best_of(known, population);
    }
    std::vector<Scored> unseen;
    for (const auto& [candidate, value] : known) {
      if (!seen(candidate)) unseen.push_back({candidate, value});
    }
    for (const Candidate& candidate : select_diverse(std::move(unseen), count, option("diversity"))) accept(candidate);
  }

  static std::vector<Scored> best_of(const CandidateMap<double>& known, std::size_t count) {
    std::vector<Scored> best;
    best.reserve(known.size());
    for (const auto& [candidate, value] : known) {
      if (std::isfinite(value)) best.push_back({candidate, value});
    }
    sort_by_score(best);
    if (best.size() > count) best.resize(count);
    return best;
  }

  Candidate breed(const std::vector<Scored>& parents) {
    // The square favours low ranks: half of the parents come from the best quarter.
    const auto pick = [&]() -> const Candidate& {
      const double u = random().uniform_real();
      return parents[static_cast<std::size_t>(u * u * static_cast<double>(parents.size()))].candidate;
    };
    if (random().chance(option("crossover"))) {
      Candidate child = index().crossover(pick(), pick(), random());
      if (random().chance(0.5)) return child;
      return index().mutate(child, 1, random());
    }
    return index().mutate(pick(), random().chance(0.7) ? 1 : 2, random());
  }

  void evolve_on_own_model(int count) {
    const int keep = missing() - count;
    while (missing() > keep) {
      const std::optional<Candidate> next = own_model_->next(measured(), worth());
      if (!next) return;
      accept(*next);
    }
  }

  PoolSearch::Filter worth() {
    return [this](std::vector<Candidate> candidates) { return worth_measuring(std::move(candidates)); };
  }

  std::optional<PoolSearch> own_model_;  ///< when there is no scorer
};

std::unique_ptr<Strategy> make(const StrategyContext& context) { return std::make_unique<Evolutionary>(context); }

}  // namespace

StrategyInfo evolutionary_strategy() {
  return {"evolutionary",
          "evolution on the cost model's scores, or on a model of the knobs that it learns itself where there is none; "
          "near "
          "the end of the budget the best are refined",
          {{"population", 256, 4, 65536, "candidates kept from one generation to the next", true},
           {"generations", 4, 1, 100, "generations scored for one batch", true},
           {"elites", 16, 1, 1024, "best measured candidates that join every population", true},
           {"crossover", 0.4, 0, 1, "probability that a child has two parents"},
           {"epsilon", 0.05, 0, 1, "share of each batch that is random"},
           {"diversity", 0.1, 0, 10, "weight of knob values that are new in a batch against predicted score"},
           {"refine_from", 0.6, 0, 1, "share of the budget after which refinement begins; 1: only in the last tenth"},
           {"refine_share", 0.7, 0, 1, "share of a batch that refines towards the last tenth of the budget"}},
          make};
}

}  // namespace temper::search
