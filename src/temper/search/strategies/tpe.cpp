// Tree-structured Parzen estimator (Bergstra, Bardenet, Bengio and Kegl, "Algorithms for hyper-parameter optimization",
// NeurIPS 2011). The fastest share of what was measured and the rest each give a density over designs and, within each
// design, over the values of every knob; values are drawn from the first, moved to what is valid, and the draw where
// the first density is largest over the second is measured. The tree: the design is chosen first, and knobs of other
// designs do not count. A density of a knob is a mixture of kernels on its measured values, which reach to the values
// beside them in the list, and of the uniform one.
#include <algorithm>
#include <cmath>
#include <optional>

#include "temper/search/strategies/all.h"
#include "temper/search/strategy_base.h"

namespace temper::search {
namespace {

/// How often each design, and each value of its knobs, was met.
struct Counts {
  std::vector<double> designs;
  std::vector<std::vector<std::vector<double>>> values;  ///< design → knob → value index

  explicit Counts(const Space& space) : designs(space.designs().size(), 0) {
    for (const Design& design : space.designs()) {
      std::vector<std::vector<double>>& knobs = values.emplace_back();
      for (const Knob& knob : design.knobs) knobs.emplace_back(knob.values.size(), 0);
    }
  }
  void add(const Candidate& candidate, double weight) {
    const auto design = static_cast<std::size_t>(candidate.design);
    designs[design] += weight;
    for (std::size_t knob = 0; knob < candidate.choice.size(); ++knob)
      values[design][knob][static_cast<std::size_t>(candidate.choice[knob])] += weight;
  }
};

class Tpe : public StrategyBase {
 public:
  explicit Tpe(const StrategyContext& context) : StrategyBase(context, "tpe"), all_(space()) {}

 protected:
  void propose(int) override {
    const int first = int_option("initial") - static_cast<int>(told_.size());
    for (int i = 0; i < first && missing() > 0; ++i) {
      if (!accept_buildable({index().sample_by_design(random())})) accept_random();
    }
    if (missing() <= 0 || measured().empty()) return;
    estimate();
    while (missing() > 0) {
      std::vector<Candidate> draws;
      for (int i = 0; i < int_option("draws"); ++i) draws.push_back(draw());
      if (!accept_buildable(std::move(draws))) return;
    }
  }

  void accept_refinements(std::vector<Candidate> candidates, int keep) override {
    estimate();
    std::vector<Scored> ranked;
    for (Candidate& candidate : worth_measuring(std::move(candidates))) {
      const double value = promise(candidate);
      ranked.push_back({std::move(candidate), value});
    }
    sort_by_score(ranked);
    for (std::size_t i = 0; i < ranked.size() && missing() > keep; ++i) accept(ranked[i].candidate);
  }

  void learn(std::span<const Told> results) override {
    for (const Told& told : results) {
      if (index().contains(told.candidate) && told_.insert(told.candidate).second) all_.add(told.candidate, 1);
    }
  }

 private:
  /// Normalised; `counts` are spread to the values beside them.
  std::vector<double> density(const std::vector<double>& counts) const {
    const double reach = option("reach");
    std::vector<double> result(counts.size(), option("prior") / static_cast<double>(counts.size()));
    for (std::size_t at = 0; at < counts.size(); ++at) {
      if (counts[at] <= 0) continue;
      std::vector<double> kernel(counts.size());
      double sum = 0;
      for (std::size_t value = 0; value < kernel.size(); ++value) {
        kernel[value] = std::pow(reach, std::abs(static_cast<double>(value) - static_cast<double>(at)));
        sum += kernel[value];
      }
      for (std::size_t value = 0; value < kernel.size(); ++value) result[value] += counts[at] * kernel[value] / sum;
    }
    double sum = 0;
    for (const double weight : result) sum += weight;
    for (double& weight : result) weight /= sum;
    return result;
  }

  void estimate() {
    const double share = std::ceil(option("share") * static_cast<double>(told_.size()));
    const auto fast = static_cast<std::size_t>(std::min(std::max(share, option("fewest")), option("most")));
    Counts good(space()), bad = all_;
    for (std::size_t i = 0; i < std::min(fast, measured().size()); ++i) {
      good.add(measured()[i].candidate, 1);
      bad.add(measured()[i].candidate, -1);
    }
    const auto smooth = [&](const Counts& counts) {
      Counts result = counts;
      for (std::size_t d = 0; d < result.designs.size(); ++d) {
        const double prior = index().size(static_cast<int>(d)) == 0 ? 0 : option("prior");
        result.designs[d] += prior / static_cast<double>(result.designs.size());
        for (std::size_t k = 0; k < result.values[d].size(); ++k) result.values[d][k] = density(counts.values[d][k]);
      }
      double sum = 0;
      for (const double weight : result.designs) sum += weight;
      for (double& weight : result.designs) weight /= sum;
      return result;
    };
    good_.emplace(smooth(good));
    bad_.emplace(smooth(bad));
  }

  std::size_t pick(const std::vector<double>& density) {
    double left = random().uniform_real();
    std::size_t last = 0;
    for (std::size_t i = 0; i < density.size(); ++i) {
      if (density[i] <= 0) continue;
      last = i;
      left -= density[i];
      if (left < 0) break;
    }
    return last;
  }

  Candidate draw() {
    const std::size_t design = pick(good_->designs);
    Candidate wanted{static_cast<int>(design), {}};
    for (const std::vector<double>& knob : good_->values[design])
      wanted.choice.push_back(static_cast<std::int32_t>(pick(knob)));
    return index().nearest(wanted);
  }

  double promise(const Candidate& candidate) const {
    const auto design = static_cast<std::size_t>(candidate.design);
    double result = std::log(good_->designs[design] / bad_->designs[design]);
    for (std::size_t knob = 0; knob < candidate.choice.size(); ++knob) {
      const auto value = static_cast<std::size_t>(candidate.choice[knob]);
      result += std::log(good_->values[design][knob][value] / bad_->values[design][knob][value]);
    }
    return result;
  }

  bool accept_buildable(std::vector<Candidate> candidates) {
    std::vector<Scored> ranked;
    for (Candidate& candidate : worth_measuring(std::move(candidates))) {
      const double value = good_ ? promise(candidate) : 0;
      ranked.push_back({std::move(candidate), value});
    }
    sort_by_score(ranked);
    return !ranked.empty() && accept(ranked.front().candidate);
  }

  Counts all_;
  CandidateSet told_;
  std::optional<Counts> good_, bad_;
};

std::unique_ptr<Strategy> make(const StrategyContext& context) { return std::make_unique<Tpe>(context); }

}  // namespace

StrategyInfo tpe_strategy() {
  return {"tpe",
          "draws from the density of the fastest candidates, where it is large over that of the others",
          {{"initial", 10, 1, 100000, "random measurements before the first estimate", true},
           {"share", 0.1, 0.001, 0.9, "of the measured candidates that count as fast"},
           {"fewest", 3, 1, 1000, "candidates that count as fast at least", true},
           {"most", 25, 1, 100000, "candidates that count as fast at most", true},
           {"draws", 32, 1, 100000, "from which the most promising one is measured", true},
           {"reach", 0.15, 0, 0.99, "weight of a value beside a measured one, against that of its own"},
           {"prior", 1, 0.001, 1000, "weight of the uniform density, in measurements"}},
          make};
}

}  // namespace temper::search
