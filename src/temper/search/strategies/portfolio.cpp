// A portfolio: several strategies share one budget by what they bring. Each evaluation goes to one member, drawn with a
// probability that follows its recent gain for each of its evaluations; all members hear every result, so that each
// works on what the others found. A gain is the logarithm of how much faster the best became; what a member brought
// long ago is forgotten by and by, and every member keeps a share. (Adversarial bandits with a floor of exploration,
// after Auer et al., "The nonstochastic multiarmed bandit problem", 2002; used as in OpenTuner: Ansel et al., PACT
// 2014.)
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <string_view>

#include "temper/search/gain_bandit.h"
#include "temper/search/strategies/all.h"
#include "temper/search/strategy_base.h"

namespace temper::search {
namespace {

constexpr std::array<std::string_view, 4> kMembers{"evolutionary", "bayesian", "tpe", "grey_wolf"};

class Portfolio : public StrategyBase {
 public:
  explicit Portfolio(const StrategyContext& context)
      : StrategyBase(context, "portfolio", Refinement::Own),
        bandit_(kMembers.size(), {option("floor"), option("memory"), option("trust")}) {
    for (const std::string_view name : kMembers) {
      StrategyContext own = context;
      own.index = &index();
      own.seed = random().fork("members").fork(name).next();
      own.options = {};
      members_.push_back(make_strategy(name, own));
    }
  }

 protected:
  void propose(int) override {
    while (missing() > 0) {
      const std::size_t turn = bandit_.draw(random());
      Strategy& strategy = *members_[turn];
      strategy.set_progress(progress());
      // A member may come to what another one is still waiting for: then it thinks again.
      for (bool accepted = false; !accepted;) {
        const std::vector<Candidate> asked = strategy.ask(1);
        if (asked.empty()) return;  // the space is used up
        accepted = accept(asked.front());
        if (accepted) owner_[asked.front()] = turn;
      }
    }
  }

  void learn(std::span<const Told> results) override {
    for (const Told& told : results) {
      if (const auto owner = owner_.find(told.candidate); owner != owner_.end()) {
        bandit_.credit(owner->second, gain(told));
        owner_.erase(owner);
      }
      if (told.ok && index().contains(told.candidate)) best_ = std::min(best_, told.seconds);
    }
    for (const std::unique_ptr<Strategy>& member : members_) member->tell(results);
  }

 private:
  /// How much faster the best became: the logarithm of the ratio.
  double gain(const Told& told) const {
    const bool faster = told.ok && told.seconds < best_ && std::isfinite(best_);
    return faster ? std::log(best_ / told.seconds) : 0;
  }

  std::vector<std::unique_ptr<Strategy>> members_;
  GainBandit bandit_;
  CandidateMap<std::size_t> owner_;  ///< asked for and not told yet → the member that proposed it
  double best_ = std::numeric_limits<double>::infinity();
};

std::unique_ptr<Strategy> make(const StrategyContext& context) { return std::make_unique<Portfolio>(context); }

}  // namespace

StrategyInfo portfolio_strategy() {
  return {"portfolio",
          "evolutionary, bayesian, tpe and grey_wolf share the budget by what they bring",
          {{"floor", 0.2, 0, 1, "share of the budget that is spread evenly over the members"},
           {"memory", 0.97, 0.5, 1, "what a gain or an evaluation still counts after another evaluation"},
           {"trust", 8, 0.1, 1000, "evaluations of the mean gain that a member is taken to have made"}},
          make};
}

}  // namespace temper::search
