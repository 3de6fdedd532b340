// Monte Carlo tree search over knobs: a path from the root names a design and then a value for one knob after another.
// A descent follows the upper confidence bound (Kocsis and Szepesvari, "Bandit based Monte-Carlo planning", 2006),
// leaves the tree by a new branch, takes the open knobs from one of the best candidates or from a random one, and moves
// to the nearest valid candidate; its time is the reward of every branch on its path. Branches with few visits of their
// own borrow the mean reward of their value anywhere in the tree (rapid action value estimation: Gelly and Silver,
// 2011).
#include <algorithm>
#include <cmath>

#include "temper/search/strategies/all.h"
#include "temper/search/strategy_base.h"

namespace temper::search {
namespace {

/// Rewards that were seen in one place.
struct Tally {
  double count = 0, sum = 0;
  void add(double reward) { count += 1, sum += reward; }
  double mean() const { return count > 0 ? sum / count : 0; }
};

class TreeSearch : public StrategyBase {
 public:
  explicit TreeSearch(const StrategyContext& context) : StrategyBase(context, "mcts") {
    for (const Design& design : space().designs()) {
      std::vector<std::vector<Tally>>& knobs = anywhere_.emplace_back();
      for (const Knob& knob : design.knobs) knobs.emplace_back(knob.values.size());
    }
    nodes_.emplace_back(space().designs().size());
  }

 protected:
  void propose(int) override {
    if (index().size() == 0) return;
    while (missing() > 0) {
      bool found = false;
      constexpr int kTries = 16;
      for (int attempt = 0; attempt < kTries && !found; ++attempt) {
        for (const Candidate& candidate : worth_measuring({descend(attempt)})) found = accept(candidate);
      }
      if (!found) return;  // the base fills up at random
    }
  }

  void learn(std::span<const Told> results) override {
    for (const Told& told : results) {
      if (!index().contains(told.candidate)) continue;
      reward(told.candidate, told.ok ? worth(told.seconds) : 0);
    }
  }

 private:
  struct Branch {
    Tally rewards;
    double tries = 0;  ///< descents that wanted to come here, whether or not a valid candidate let them
    int node = -1;     ///< below; -1: not in the tree yet
  };
  using Node = std::vector<Branch>;  ///< the designs, or a knob's values

  /// 1 for the best that is known when it is told, falling with the ratio to that.
  double worth(double seconds) const {
    const double best = measured().empty() ? seconds : std::min(seconds, measured().front().seconds);
    return std::pow(best / seconds, option("sharpness"));
  }

  std::size_t choose(Node& node, const std::vector<Tally>* elsewhere, const std::vector<bool>& possible) {
    double total = 0;
    for (const Branch& branch : node) total += branch.tries;
    std::size_t best = node.size();
    double best_value = 0;
    for (std::size_t i = 0; i < node.size(); ++i) {
      if (!possible.empty() && !possible[i]) continue;
      const Branch& branch = node[i];
      const Tally borrowed = elsewhere ? (*elsewhere)[i] : branch.rewards;
      const double own = branch.rewards.count / (branch.rewards.count + option("borrow"));
      double value = own * branch.rewards.mean() + (1 - own) * (borrowed.count > 0 ? borrowed.mean() : 1);
      value += option("explore") * std::sqrt(std::log(1 + total) / (1 + branch.tries));
      value += 1e-6 * random().uniform_real();  // of equals any
      if (best == node.size() || value > best_value) best = i, best_value = value;
    }
    node[best].tries += 1;
    return best;
  }

  Candidate descend(int attempt) {
    std::vector<bool> populated;
    for (int design = 0; design < index().designs(); ++design) populated.push_back(index().size(design) > 0);
    const std::size_t design = choose(nodes_[0], nullptr, populated);
    int at = nodes_[0][design].node;
    Candidate path{static_cast<int>(design), {}};
    const std::vector<Knob>& knobs = space().designs()[design].knobs;
    while (at >= 0 && path.choice.size() < knobs.size()) {
      Node& node = nodes_[static_cast<std::size_t>(at)];
      const std::size_t value = choose(node, &anywhere_[design][path.choice.size()], {});
      path.choice.push_back(static_cast<std::int32_t>(value));
      at = node[value].node;
    }
    Candidate rest = rollout(path.design);
    std::copy(path.choice.begin(), path.choice.end(), rest.choice.begin());
    rest = index().nearest(rest);
    return seen(rest) ? index().mutate(rest, 1 + attempt / 4, random()) : rest;
  }

  Candidate rollout(int design) {
    const std::size_t elites = std::min(measured().size(), static_cast<std::size_t>(option("elites")));
    if (elites > 0 && random().chance(option("greedy"))) {
      const Candidate& elite = measured()[static_cast<std::size_t>(random().below(elites))].candidate;
      return elite.design == design ? elite : index().translate(elite, design);
    }
    return index().translate(index().sample(random()), design);
  }

  void reward(const Candidate& candidate, double reward) {
    const auto design = static_cast<std::size_t>(candidate.design);
    nodes_[0][design].rewards.add(reward);
    std::size_t node = 0, branch = design;
    bool inside = true;
    for (std::size_t knob = 0; knob < candidate.choice.size(); ++knob) {
      const auto value = static_cast<std::size_t>(candidate.choice[knob]);
      anywhere_[design][knob][value].add(reward);
      if (!inside) continue;
      // One node joins the tree for each measurement.
      if (nodes_[node][branch].node < 0) {
        inside = false;
        nodes_[node][branch].node = static_cast<int>(nodes_.size());
        nodes_.emplace_back(space().designs()[design].knobs[knob].values.size());
      }
      node = static_cast<std::size_t>(nodes_[node][branch].node);
      branch = value;
      nodes_[node][branch].rewards.add(reward);
      nodes_[node][branch].tries = std::max(nodes_[node][branch].tries, nodes_[node][branch].rewards.count);
    }
  }

  std::vector<Node> nodes_;  ///< the root first
  /// design → knob → value index → rewards of all candidates with that value
  std::vector<std::vector<std::vector<Tally>>> anywhere_;
};

std::unique_ptr<Strategy> make(const StrategyContext& context) { return std::make_unique<TreeSearch>(context); }

}  // namespace

StrategyInfo mcts_strategy() {
  return {"mcts",
          "Monte Carlo tree search over one knob after another",
          {{"explore", 0.15, 0, 100, "weight of what was tried little against what was good"},
           {"borrow", 4, 0, 1e6, "measurements of a branch that weigh as much as those of its value elsewhere"},
           {"sharpness", 2, 0.1, 100, "power of the ratio of times in a reward"},
           {"greedy", 0.7, 0, 1, "probability that open knobs come from one of the best candidates"},
           {"elites", 8, 1, 1024, "best candidates from which open knobs are taken", true}},
          make};
}

}  // namespace temper::search
