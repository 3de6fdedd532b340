// A swarm with a memory: grey wolves (Mirjalili, Mirjalili and Lewis, "Grey wolf optimizer", Advances in Engineering
// Software 2014) on value indices, with what was measured as a tabu list (Glover, "Tabu search", 1989). Each wolf jumps
// to around the three best candidates, the wider the earlier in the hunt; where it would come to a known place it steps
// aside. A share of the moves walks to unknown neighbours of the leaders. A hunt that brings nothing for a while ends:
// the pack scatters, with its leaders chosen among what it then finds, and the best of all hunts is walked around as
// before. It builds no model, so nothing misleads it where knobs interact in ways that a model cannot learn.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "temper/search/strategies/all.h"
#include "temper/search/strategy_base.h"

namespace temper::search {
namespace {

class GreyWolf : public StrategyBase {
 public:
  explicit GreyWolf(const StrategyContext& context) : StrategyBase(context, "grey_wolf") {}

 protected:
  void propose(int) override {
    while (missing() > 0) {
      const bool walks = !measured().empty() && random().chance(option("walk"));
      if (walks && walk()) continue;
      if (!hunt()) return;  // the base fills up at random
    }
  }

  void learn(std::span<const Told> results) override {
    for (const Told& told : results) {
      if (!index().contains(told.candidate)) continue;
      ++moves_;
      ++fruitless_;
      if (!told.ok) continue;
      if (told.seconds < hunt_best()) fruitless_ = 0;
      const auto faster = [](const Told& a, const Told& b) { return a.seconds < b.seconds; };
      std::erase_if(leaders_, [&](const Told& old) { return old.candidate == told.candidate; });
      leaders_.insert(std::upper_bound(leaders_.begin(), leaders_.end(), told, faster), told);
      if (leaders_.size() > kLeaders) leaders_.pop_back();
    }
    if (fruitless_ < int_option("patience")) return;
    leaders_.clear();
    pack_.clear();
    moves_ = fruitless_ = 0;
  }

 private:
  static constexpr std::size_t kLeaders = 3;

  double hunt_best() const {
    return leaders_.empty() ? std::numeric_limits<double>::infinity() : leaders_.front().seconds;
  }

  /// How wide the pack jumps: from 2 down to 0 over a hunt, by halves.
  double width() const { return 2 * std::pow(0.5, moves_ / option("half_life")); }

  /// An unknown neighbour of a leader or of the best of all.
  bool walk() {
    const std::size_t count = std::min(measured().size(), kLeaders);
    const Candidate& from = measured()[static_cast<std::size_t>(random().below(count))].candidate;
    for (const bool pairs : {false, true}) {
      const Reach reach = random().chance(0.5) ? Reach::Step : Reach::Any;
      std::vector<Candidate> near =
          worth_measuring(pairs ? index().pair_neighbours(from, Reach::Step) : index().neighbours(from, reach));
      if (!near.empty()) return accept(random().pick(near));
    }
    return false;
  }

  bool hunt() {
    if (pack_.size() < static_cast<std::size_t>(option("pack")) || leaders_.size() < kLeaders) {
      constexpr int kTries = 8;
      for (int attempt = 0; attempt < kTries; ++attempt) {
        for (const Candidate& candidate : worth_measuring({index().sample_by_design(random())})) {
          if (pack_.size() < static_cast<std::size_t>(option("pack"))) pack_.push_back(candidate);
          return accept(candidate);
        }
      }
      return false;
    }
    Candidate& wolf = pack_[turn_++ % pack_.size()];
    Candidate target = jump(wolf);
    constexpr int kTries = 24;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      for (const Candidate& candidate : worth_measuring({target})) {
        wolf = candidate;
        return accept(candidate);
      }
      target = index().mutate(target, attempt < kTries / 2 ? 1 : 2, random());
    }
    return false;
  }

  Candidate jump(const Candidate& wolf) {
    const int design = leaders_[static_cast<std::size_t>(random().below(kLeaders))].candidate.design;
    const auto there = [&](const Candidate& candidate) {
      return candidate.design == design ? candidate : index().translate(candidate, design);
    };
    const Candidate here = there(wolf);
    std::array<Candidate, kLeaders> leaders;
    for (std::size_t i = 0; i < kLeaders; ++i) leaders[i] = there(leaders_[i].candidate);
    Candidate target = here;
    const std::vector<Knob>& knobs = space().designs()[static_cast<std::size_t>(design)].knobs;
    const double width_now = width();
    for (std::size_t knob = 0; knob < knobs.size(); ++knob) {
      // The pack closes in on one leader's value more often than on the mean of all: values need not be ordered.
      double place = 0;
      const auto towards = [&](const Candidate& leader) {
        const double goal = leader.choice[knob];
        const double away = std::abs(2 * random().uniform_real() * goal - here.choice[knob]);
        return goal - width_now * random().uniform_real(-1, 1) * away;
      };
      if (random().chance(0.5)) {
        for (const Candidate& leader : leaders) place += towards(leader) / kLeaders;
      } else {
        place = towards(leaders[static_cast<std::size_t>(random().below(kLeaders))]);
      }
      const double last = static_cast<double>(knobs[knob].values.size()) - 1;
      target.choice[knob] =
          static_cast<std::int32_t>(std::floor(std::clamp(place + random().uniform_real(), 0.0, last + 0.5)));
      target.choice[knob] = std::min(target.choice[knob], static_cast<std::int32_t>(last));
    }
    return index().nearest(target);
  }

  std::vector<Candidate> pack_;
  std::vector<Told> leaders_;  ///< of this hunt, fastest first
  std::size_t turn_ = 0;
  int moves_ = 0, fruitless_ = 0;
};

std::unique_ptr<Strategy> make(const StrategyContext& context) { return std::make_unique<GreyWolf>(context); }

}  // namespace

StrategyInfo grey_wolf_strategy() {
  return {"grey_wolf",
          "a swarm around the three best candidates that never returns to a known place",
          {{"pack", 12, 1, 4096, "wolves", true},
           {"half_life", 40, 1, 1e6, "measurements after which the pack jumps half as wide"},
           {"walk", 0.4, 0, 1, "share of the moves that go to a neighbour of a leader"},
           {"patience", 100, 1, 1e6, "measurements without a gain after which the pack scatters", true}},
          make};
}

}  // namespace temper::search
