// Simulated annealing. With a scorer, as in AutoTVM (Chen et al., "Learning to optimize tensor programs", NeurIPS
// 2018): parallel Markov chains walk on predicted scores while the temperature falls, the best states they met form the
// batch, filtered for diversity, and a share of it is random. Chains go on from where they stood in the last batch.
// Without a scorer the chains walk on measured times: each asks for one neighbour and moves by the same rule once told.
#include <algorithm>
#include <cmath>
#include <limits>

#include "temper/search/strategies/all.h"
#include "temper/search/strategy_base.h"

namespace temper::search {
namespace {

class Annealing : public StrategyBase {
 public:
  explicit Annealing(const StrategyContext& context) : StrategyBase(context, "annealing") {}

 protected:
  void propose(int count) override {
    if (has_scorer()) {
      walk_on_scores(count);
    } else {
      ask_for_moves();
    }
  }

  void learn(std::span<const Told> results) override {
    if (has_scorer()) return;
    for (const Told& told : results) settle(told);
  }

 private:
  /// Largest less smallest finite score.
  static double range_of(const std::vector<double>& scores) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const double value : scores) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
    return high > low ? high - low : 1.0;
  }

  void walk_on_scores(int count) {
    const std::size_t chains = static_cast<std::size_t>(option("chains"));
    while (states_.size() < chains) states_.push_back(index().sample_by_design(random()));
    // The best measured candidates are good places to start from.
    for (std::size_t i = 0; i < std::min(measured().size(), chains / 4); ++i) states_[i] = measured()[i].candidate;
    std::vector<double> scores = score(states_);
    const double scale = range_of(scores);

    CandidateMap<double> met;
    const auto remember = [&](const Candidate& candidate, double value) {
      if (!seen(candidate)) met.emplace(candidate, value);
    };
    for (std::size_t c = 0; c < chains; ++c) remember(states_[c], scores[c]);
    const int steps = int_option("steps");
    std::vector<Candidate> moves(chains);
    for (int step = 0; step < steps; ++step) {
      const double temperature = option("temperature") * (1.0 - static_cast<double>(step) / steps) * scale;
      for (std::size_t c = 0; c < chains; ++c) moves[c] = index().mutate(states_[c], 1, random());
      const std::vector<double> moved = score(moves);
      for (std::size_t c = 0; c < chains; ++c) {
        remember(moves[c], moved[c]);
        if (random().uniform_real() < std::exp(std::min(0.0, (moved[c] - scores[c]) / temperature))) {
          states_[c] = moves[c];
          scores[c] = moved[c];
        }
      }
    }
    std::vector<Scored> ranked;
    for (const auto& [candidate, value] : met) ranked.push_back({candidate, value});
    const int random_share = static_cast<int>(std::floor(option("epsilon") * count + random().uniform_real()));
    for (const Candidate& candidate : select_diverse(std::move(ranked), count - random_share, option("diversity")))
      accept(candidate);
  }

  /// A chain that walks on measurements: where it stands, and the move that it waits for.
  struct Chain {
    Candidate state;
    double seconds = 0;
    bool placed = false;  ///< `state` has been measured
    Candidate move;
    bool waiting = false;
  };

  void ask_for_moves() {
    if (walkers_.empty()) walkers_.resize(static_cast<std::size_t>(option("walkers")));
    for (std::size_t turn = 0; turn < walkers_.size() && missing() > 0; ++turn) {
      Chain& chain = walkers_[next_walker_++ % walkers_.size()];
      if (chain.waiting) continue;
      constexpr int kTries = 32;
      for (int attempt = 0; attempt < kTries && !chain.waiting; ++attempt) {
        chain.move = chain.placed ? index().mutate(chain.state, attempt < kTries / 2 ? 1 : 2, random())
                                  : index().sample_by_design(random());
        chain.waiting = accept(chain.move);
      }
      if (!chain.waiting) chain.placed = false;  // its surroundings are used up: start elsewhere
    }
  }

  void settle(const Told& told) {
    for (Chain& chain : walkers_) {
      if (!chain.waiting || !(chain.move == told.candidate)) continue;
      chain.waiting = false;
      moves_ += 1;
      if (!told.ok) continue;
      // Relative slowdown, at a temperature that falls with the number of moves made by all chains.
      const double temperature = option("temperature") / (1.0 + moves_ / static_cast<double>(8 * walkers_.size()));
      const double gain = std::log(chain.placed ? chain.seconds / told.seconds : 1.0);
      if (!chain.placed || random().uniform_real() < std::exp(std::min(0.0, gain / temperature))) {
        chain.state = told.candidate;
        chain.seconds = told.seconds;
        chain.placed = true;
      }
    }
    // A chain far behind gives up its place and goes on from the best: parallel chains are a population, not strangers.
    if (measured().empty()) return;
    for (Chain& chain : walkers_) {
      if (chain.placed && !chain.waiting && chain.seconds > option("restart") * measured().front().seconds) {
        chain.state = measured().front().candidate;
        chain.seconds = measured().front().seconds;
      }
    }
  }

  std::vector<Candidate> states_;
  std::vector<Chain> walkers_;
  std::size_t next_walker_ = 0;
  double moves_ = 0;
};

std::unique_ptr<Strategy> make(const StrategyContext& context) { return std::make_unique<Annealing>(context); }

}  // namespace

StrategyInfo annealing_strategy() {
  return {"annealing",
          "simulated annealing: parallel chains on the cost model's scores, the best states they meet are measured",
          {{"chains", 64, 1, 4096, "parallel chains on the cost model", true},
           {"steps", 60, 1, 10000, "moves of each chain for one batch", true},
           {"temperature", 0.2, 1e-6, 100, "at the start, as a share of the range of the scores"},
           {"epsilon", 0.05, 0, 1, "share of each batch that is random"},
           {"diversity", 0.1, 0, 10, "weight of knob values that are new in a batch against predicted score"},
           {"walkers", 8, 1, 256, "chains on measured times, when there is no cost model", true},
           {"restart", 1.5, 1, 1000,
            "a chain this many times slower than the best goes on from the best; without a cost model"}},
          make};
}

}  // namespace temper::search
