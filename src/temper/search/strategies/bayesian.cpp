// Bayesian optimisation: a Gaussian process over the knobs predicts the logarithm of the time of every candidate in a
// pool, and the one with the largest expected improvement on the best is measured next (Jones, Schonlau and Welch,
// "Efficient global optimization of expensive black-box functions", 1998). The pool is the whole space where that is
// small; otherwise a random part of it, joined by the neighbours of whatever becomes the best and by children of the
// best few. Candidates of one batch count as measured at their predicted times until they are told (the "kriging
// believer" of Ginsbourger et al., 2010).
#include <algorithm>

#include "temper/search/strategies/all.h"
#include "temper/search/strategy_base.h"
#include "temper/search/surrogate/pool_surrogate.h"

namespace temper::search {
namespace {

class Bayesian : public StrategyBase {
 public:
  explicit Bayesian(const StrategyContext& context)
      : StrategyBase(context, "bayesian"),
        surrogate_(space(), {static_cast<std::size_t>(option("pool")), static_cast<std::size_t>(option("points"))},
                   random().fork("surrogate")) {}

 protected:
  void propose(int) override {
    if (!filled_) fill_pool();
    while (missing() > 0) {
      if (told_ < option("initial") || !surrogate_.ready()) {
        if (!accept_first()) return;
        continue;
      }
      freshen_pool();
      const std::optional<Candidate> next = surrogate_.most_promising();
      if (!next) return;  // the base fills up at random, which ends with the space
      surrogate_.assume(*next);
      accept(*next);
    }
  }

  void learn(std::span<const Told> results) override {
    for (const Told& told : results) {
      if (!index().contains(told.candidate)) continue;
      surrogate_.tell(told);
      told_ += 1;
    }
  }

 private:
  bool whole_space() const { return index().size() <= static_cast<std::uint64_t>(option("pool")); }

  void fill_pool() {
    filled_ = true;
    std::vector<Candidate> all;
    if (whole_space()) {
      for (std::uint64_t i = 0; i < index().size(); ++i) all.push_back(index().at(i));
    } else {
      for (int i = 0; i < int_option("pool"); ++i)
        all.push_back(i % 2 == 0 ? index().sample(random()) : index().sample_by_design(random()));
    }
    offer(std::move(all));
  }

  void offer(std::vector<Candidate> candidates) {
    for (const Candidate& candidate : worth_measuring(std::move(candidates))) surrogate_.offer(candidate);
  }

  bool accept_first() {
    constexpr int kTries = 8;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      for (const Candidate& candidate : worth_measuring({index().sample_by_design(random())})) {
        surrogate_.assume(candidate);
        return accept(candidate);
      }
    }
    return false;
  }

  void freshen_pool() {
    if (whole_space() || measured().empty()) return;
    std::vector<Candidate> fresh;
    if (const Candidate& best = measured().front().candidate; !(best == incumbent_)) {
      incumbent_ = best;
      fresh = index().neighbours(best, Reach::Any);
    }
    const std::size_t parents = std::min(measured().size(), static_cast<std::size_t>(option("elites")));
    const auto parent = [&]() -> const Candidate& {
      return measured()[static_cast<std::size_t>(random().below(parents))].candidate;
    };
    for (int i = 0; i < int_option("children"); ++i) {
      const Candidate& one = parent();
      fresh.push_back(i % 2 == 0 ? index().mutate(one, random().chance(0.5) ? 1 : 2, random())
                                 : index().crossover(one, parent(), random()));
    }
    fresh.push_back(index().sample(random()));
    offer(std::move(fresh));
  }

  PoolSurrogate surrogate_;
  Candidate incumbent_;
  int told_ = 0;
  bool filled_ = false;
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
