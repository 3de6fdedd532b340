#include "temper/search/strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "search/toy_space.h"
#include "temper/search/gain_bandit.h"
#include "temper/search/strategy_base.h"
#include "temper/support/error.h"

namespace temper::search {
namespace {

/// Runs a strategy for `trials` in batches and returns everything it asked for, in order.
std::vector<Candidate> run(const Space& space, std::string_view name, std::uint64_t seed, int trials, Scorer* scorer,
                           const std::function<Told(const Candidate&)>& measure, int batch = 16) {
  const std::unique_ptr<Strategy> strategy = make_strategy(name, {.space = &space, .scorer = scorer, .seed = seed});
  std::vector<Candidate> asked;
  while (static_cast<int>(asked.size()) < trials) {
    strategy->set_progress(static_cast<double>(asked.size()) / trials);
    const std::vector<Candidate> candidates = strategy->ask(std::min(batch, trials - static_cast<int>(asked.size())));
    if (candidates.empty()) break;
    std::vector<Told> told;
    for (const Candidate& candidate : candidates) told.push_back(measure(candidate));
    strategy->tell(told);
    asked.insert(asked.end(), candidates.begin(), candidates.end());
  }
  return asked;
}

Told toy_measure(const Space& space, const Candidate& candidate) {
  // One in ten fails, always the same ones.
  if (candidate.hash() % 10 == 0) return {candidate, false, 0};
  return {candidate, true, toy_seconds(space, candidate)};
}

double best_seconds(const Space& space, std::string_view name, std::uint64_t seed, int trials, bool with_scorer) {
  FakeScorer scorer(space, 0.5);
  double best = std::numeric_limits<double>::infinity();
  run(space, name, seed, trials, with_scorer ? &scorer : nullptr, [&](const Candidate& candidate) {
    const Told told = toy_measure(space, candidate);
    if (told.ok) best = std::min(best, told.seconds);
    return told;
  });
  return best;
}

double median_of_seeds(const Space& space, std::string_view name, int trials, bool with_scorer) {
  std::vector<double> results;
  for (std::uint64_t seed = 1; seed <= 9; ++seed)
    results.push_back(best_seconds(space, name, seed, trials, with_scorer));
  std::nth_element(results.begin(), results.begin() + 4, results.end());
  return results[4];
}

class EveryStrategy : public ::testing::TestWithParam<std::tuple<std::string, bool>> {
 protected:
  std::string name() const { return std::get<0>(GetParam()); }
  bool with_scorer() const { return std::get<1>(GetParam()); }
};

TEST_P(EveryStrategy, SameSeedAndAnswersGiveTheSameCandidates) {
  const FakeSpace space = toy_matmul();
  const auto once = [&](std::uint64_t seed, double offset) {
    FakeScorer scorer(space, 0.5);
    return run(space, name(), seed, 120, with_scorer() ? &scorer : nullptr, [&](const Candidate& candidate) {
      Told told = toy_measure(space, candidate);
      told.seconds = offset == 0 ? told.seconds : offset - told.seconds;
      return told;
    });
  };
  const std::vector<Candidate> first = once(1, 0);
  EXPECT_EQ(first, once(1, 0));
  EXPECT_NE(first, once(2, 0));
  // What guides a strategy must change it: the opposite answers lead elsewhere.
  if (name() != "grid" && name() != "random") {
    EXPECT_NE(first, once(1, 1));
  }
}

TEST_P(EveryStrategy, NeverRepeatsNorLeavesTheValidSpace) {
  EXPECT_TRUE(rc::check("all asked candidates are valid and distinct, exhaustion ends", [&](std::uint64_t seed) {
    RandomStream random(seed);
    const std::int64_t limit = random.uniform_int(3, 30);
    const FakeSpace space(
        {{"a",
          {{"x", range(1, random.uniform_int(1, 6))}, {"y", range(1, random.uniform_int(1, 6))}, {"z", range(0, 2)}},
          {{"c", {"x", "y"}, [limit](std::span<const std::int64_t> v) { return v[0] * v[1] <= limit; }}}},
         {"b", {{"x", range(1, random.uniform_int(1, 4))}}, {}}});
    class Constant : public Scorer {
      std::vector<double> score(std::span<const Candidate> c) override { return std::vector<double>(c.size(), 1.0); }
    } constant;
    const SpaceIndex index(space);
    const int batch = static_cast<int>(random.uniform_int(1, 9));
    const std::vector<Candidate> asked = run(
        space, name(), seed, 1000, with_scorer() ? &constant : nullptr,
        [&](const Candidate& candidate) {
          return Told{candidate, candidate.hash() % 3 != 0, 1e-3 * static_cast<double>(candidate.hash() % 7 + 1)};
        },
        batch);
    const CandidateSet distinct(asked.begin(), asked.end());
    RC_ASSERT(distinct.size() == asked.size());
    for (const Candidate& candidate : asked) RC_ASSERT(index.contains(candidate));
    RC_ASSERT(asked.size() == index.size());
  }));
}

TEST_P(EveryStrategy, NeverAsksForWhatItWasTold) {
  const FakeSpace space({{"a", {{"x", range(1, 10)}, {"y", range(1, 10)}}, {}}});
  const SpaceIndex index(space);
  FakeScorer scorer(space, 0);
  const std::unique_ptr<Strategy> strategy = make_strategy(name(), {.space = &space, .index = &index, .seed = 3});
  std::vector<Told> recorded;
  for (std::uint64_t i = 0; i < 60; ++i) recorded.push_back({index.at(i), i % 2 == 0, 1.0 + static_cast<double>(i)});
  recorded.push_back({{0, {99, 99}}, true, 1e-9});  // a record of another version of the space
  strategy->tell(recorded);
  CandidateSet rest;
  for (int i = 0; i < 10; ++i) {
    for (const Candidate& candidate : strategy->ask(7)) {
      EXPECT_GE(*index.index_of(candidate), 60u);
      EXPECT_TRUE(rest.insert(candidate).second);
    }
  }
  EXPECT_EQ(rest.size(), 40u);
  EXPECT_TRUE(strategy->ask(1).empty());
}

TEST_P(EveryStrategy, WorksWhenEverythingFailsOrNothingIsValid) {
  const FakeSpace space = toy_matmul();
  FakeScorer scorer(space, 0.5);
  const std::vector<Candidate> asked = run(space, name(), 1, 100, with_scorer() ? &scorer : nullptr,
                                           [](const Candidate& candidate) { return Told{candidate, false, 0}; });
  EXPECT_EQ(asked.size(), 100u);
  const FakeSpace empty({{"a", {{"x", {1}}}, {{"never", {"x"}, [](std::span<const std::int64_t>) { return false; }}}}});
  EXPECT_TRUE(make_strategy(name(), {.space = &empty, .scorer = with_scorer() ? &scorer : nullptr})->ask(5).empty());
}

/// At most two knobs away, or the same in the words of another design.
bool is_near(const SpaceIndex& index, const Candidate& candidate, const Candidate& best) {
  if (candidate.design != best.design) return index.translate(best, candidate.design) == candidate;
  int changed = 0;
  for (std::size_t knob = 0; knob < best.choice.size(); ++knob) changed += candidate.choice[knob] != best.choice[knob];
  return changed <= 2;
}

TEST_P(EveryStrategy, RefinesTheBestInTheLastTenthOfABudgetOrSaysThatItCannot) {
  const FakeSpace space = toy_matmul();
  const SpaceIndex index(space);
  FakeScorer scorer(space, 0.5);
  const auto info = std::ranges::find(strategies(), name(), &StrategyInfo::name);
  Ranking measured;
  const std::unique_ptr<Strategy> strategy =
      make_strategy(name(), {.space = &space, .scorer = with_scorer() ? &scorer : nullptr, .seed = 3});
  const auto near_share = [&](int batches) {
    int near = 0, asked = 0;
    for (int i = 0; i < batches; ++i) {
      const std::vector<Candidate> candidates = strategy->ask(8);
      std::vector<Told> told;
      for (const Candidate& candidate : candidates) {
        bool found = false;
        for (std::size_t place = 0; place < std::min<std::size_t>(measured.size(), 4); ++place)
          found = found || is_near(index, candidate, measured[place].candidate);
        near += found ? 1 : 0;
        ++asked;
        told.push_back(toy_measure(space, candidate));
      }
      for (const Told& result : told) measured.record(result);
      strategy->tell(told);
    }
    return static_cast<double>(near) / asked;
  };
  strategy->set_progress(0);
  EXPECT_LT(near_share(8), 0.9) << "at the start it explores";
  strategy->set_progress(0.9);
  const double share = near_share(3);
  if (info->refines) {
    EXPECT_EQ(share, 1);
  } else {
    EXPECT_LT(share, 1) << "it can, and should say so";
  }
}

TEST_P(EveryStrategy, GoesOnWhereNothingIsLeftToRefine) {
  const FakeSpace space({{"a", {{"x", range(1, 9)}, {"y", range(1, 9)}, {"z", range(1, 9)}}, {}}});
  class Constant : public Scorer {
    std::vector<double> score(std::span<const Candidate> c) override { return std::vector<double>(c.size(), 1.0); }
  } scorer;
  const std::unique_ptr<Strategy> strategy =
      make_strategy(name(), {.space = &space, .scorer = with_scorer() ? &scorer : nullptr, .seed = 3});
  strategy->set_progress(1);
  std::size_t asked = 0;
  for (std::vector<Candidate> batch; !(batch = strategy->ask(16)).empty(); asked += batch.size()) {
    std::vector<Told> told;
    for (const Candidate& candidate : batch) told.push_back({candidate, true, 1.0 + candidate.choice[0]});
    strategy->tell(told);
  }
  EXPECT_EQ(asked, 9u * 9 * 9);
}

/// Those that look at measurements.
class GuidedStrategy : public EveryStrategy {};

TEST_P(GuidedStrategy, BeatsRandomOnASmoothLandscape) {
  const FakeSpace space = toy_matmul();
  const double random = median_of_seeds(space, "random", 200, false);
  const double own = median_of_seeds(space, name(), 200, with_scorer());
  // The landscape's optimum is 1 ms; at least half of what random leaves above it must be gained.
  EXPECT_LT(own - 1e-3, 0.5 * (random - 1e-3)) << "random " << random << ", " << name() << " " << own;
}

std::string test_name(const ::testing::TestParamInfo<std::tuple<std::string, bool>>& instance) {
  return std::get<0>(instance.param) + (std::get<1>(instance.param) ? "_with_scorer" : "_alone");
}
std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const StrategyInfo& info : strategies()) result.push_back(info.name);
  return result;
}
INSTANTIATE_TEST_SUITE_P(All, EveryStrategy, ::testing::Combine(::testing::ValuesIn(names()), ::testing::Bool()),
                         test_name);
INSTANTIATE_TEST_SUITE_P(All, GuidedStrategy,
                         ::testing::Combine(::testing::Values("evolutionary", "annealing", "genetic", "bayesian", "tpe",
                                                              "grey_wolf", "mcts", "portfolio"),
                                            ::testing::Bool()),
                         test_name);

class ScoringStrategy : public ::testing::TestWithParam<std::string> {};

TEST_P(ScoringStrategy, AvoidsWhatTheScorerKnowsCannotBeBuilt) {
  const FakeSpace space = toy_matmul();
  class Half : public FakeScorer {
   public:
    using FakeScorer::FakeScorer;
    std::vector<double> score(std::span<const Candidate> candidates) override {
      std::vector<double> scores = FakeScorer::score(candidates);
      for (std::size_t i = 0; i < scores.size(); ++i) {
        if (broken || candidates[i].hash() % 2 == 0) scores[i] = -std::numeric_limits<double>::infinity();
      }
      return scores;
    }
    bool broken = false;
  } scorer(space, 0.5);
  int unbuildable = 0;
  const auto measure = [&](const Candidate& candidate) {
    unbuildable += candidate.hash() % 2 == 0;
    return Told{candidate, candidate.hash() % 2 == 1, toy_seconds(space, candidate)};
  };
  run(space, GetParam(), 1, 200, &scorer, measure);
  EXPECT_LT(unbuildable, 40);  // the random share alone
  scorer.broken = true;
  EXPECT_EQ(run(space, GetParam(), 1, 200, &scorer, measure).size(), 200u);
}

INSTANTIATE_TEST_SUITE_P(All, ScoringStrategy,
                         ::testing::Values("evolutionary", "annealing", "genetic", "bayesian", "tpe", "grey_wolf",
                                           "mcts", "portfolio"));

TEST(Strategies, DefaultIsTheFirstOfTheTable) {
  EXPECT_EQ(strategies().front().name, kDefaultStrategy);
  for (const StrategyInfo& info : strategies()) {
    EXPECT_FALSE(info.doc.empty());
    for (const Option& option : info.options) {
      EXPECT_LE(option.min, option.default_value) << info.name << " " << option.name;
      EXPECT_LE(option.default_value, option.max) << info.name << " " << option.name;
      EXPECT_FALSE(option.doc.empty());
    }
  }
}

TEST(Strategies, WrongNamesAndOptionsAreExplained) {
  const FakeSpace space = toy_matmul();
  const auto message = [&](std::string_view name, std::map<std::string, double> options) -> std::string {
    try {
      make_strategy(name, {.space = &space, .options = std::move(options)});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message("genetic", {{"population", 10}}), "accepted");
  EXPECT_THAT(
      message("gentic", {}),
      ::testing::HasSubstr(
          "choose one of: evolutionary, annealing, genetic, bayesian, tpe, grey_wolf, mcts, portfolio, random, grid"));
  EXPECT_THAT(message("genetic", {{"populaton", 10}}), ::testing::HasSubstr("its options: population, tournament"));
  EXPECT_THAT(message("random", {{"x", 1}}), ::testing::HasSubstr("it has no options"));
  EXPECT_THAT(message("genetic", {{"crossover", 1.5}}), ::testing::HasSubstr("from 0 to 1"));
  EXPECT_THAT(message("genetic", {{"population", 10.5}}), ::testing::HasSubstr("whole number"));
  EXPECT_THAT(message("genetic", {{"crossover", std::numeric_limits<double>::quiet_NaN()}}),
              ::testing::HasSubstr("out of bounds"));
}

TEST(Strategies, OptionsReachTheStrategy) {
  const FakeSpace space({{"a", {{"x", range(1, 100)}}, {}}});
  const std::unique_ptr<Strategy> grid = make_strategy("grid", {.space = &space, .options = {{"lexicographic", 1}}});
  const std::vector<Candidate> asked = grid->ask(5);
  for (std::int32_t i = 0; i < 5; ++i) EXPECT_EQ(asked[static_cast<std::size_t>(i)].choice[0], i);
}

TEST(Grid, SpreadsEvenly) {
  const FakeSpace space({{"a", {{"x", range(1, 1000)}}, {}}});
  for (const int asked : {10, 50, 200}) {
    std::vector<std::int32_t> at{-1, 1000};
    for (const Candidate& c : make_strategy("grid", {.space = &space, .seed = 4})->ask(asked))
      at.push_back(c.choice[0]);
    std::sort(at.begin(), at.end());
    std::int32_t gap = 0;
    for (std::size_t i = 1; i < at.size(); ++i) gap = std::max(gap, at[i] - at[i - 1]);
    // The golden section leaves no gap wider than about 2.6 times the mean one.
    EXPECT_LE(gap, 2.7 * 1000 / asked + 1) << asked;
  }
}

TEST(Evolutionary, ExhaustsTheNeighboursOfTheWinnerAtTheEnd) {
  const FakeSpace space = toy_matmul();
  const SpaceIndex index(space);
  FakeScorer scorer(space, 2.0);  // a poor model
  for (const bool with_scorer : {false, true}) {
    double best = std::numeric_limits<double>::infinity();
    Candidate winner;
    const std::vector<Candidate> asked =
        run(space, "evolutionary", 5, 400, with_scorer ? &scorer : nullptr, [&](const Candidate& c) {
          const Told told{c, true, toy_seconds(space, c)};
          if (told.seconds < best) best = told.seconds, winner = c;
          return told;
        });
    const CandidateSet measured(asked.begin(), asked.end());
    std::size_t untried = 0;
    const std::vector<Candidate> near = index.neighbours(winner, Reach::Any);
    for (const Candidate& candidate : near) untried += measured.contains(candidate) ? 0 : 1;
    EXPECT_EQ(untried, 0u) << "of " << near.size() << ", with scorer: " << with_scorer;
  }
}

TEST(Evolutionary, ScoresManyForEachOneItMeasures) {
  const FakeSpace space = toy_matmul();
  FakeScorer scorer(space, 0.5);
  run(space, "evolutionary", 1, 128, &scorer, [&](const Candidate& c) { return toy_measure(space, c); });
  EXPECT_GT(scorer.scored, 50 * 128);
  EXPECT_LT(scorer.scored, 200 * 128);
}

TEST(GainBandit, SharesFollowWhatWasBroughtOfLate) {
  GainBandit bandit(3, {0.3, 0.9, 4});
  EXPECT_THAT(bandit.shares(), ::testing::Each(::testing::DoubleEq(1.0 / 3)));
  for (int i = 0; i < 30; ++i) bandit.credit(0, 0);
  EXPECT_THAT(bandit.shares(), ::testing::Each(::testing::DoubleEq(1.0 / 3)));  // nobody brought anything
  for (int i = 0; i < 20; ++i) {
    for (std::size_t member = 0; member < 3; ++member) bandit.credit(member, member == 1 ? 0.1 : 0);
  }
  std::vector<double> shares = bandit.shares();
  EXPECT_NEAR(shares[0] + shares[1] + shares[2], 1, 1e-12);
  EXPECT_GT(shares[1], 1.5 * shares[0]);
  EXPECT_GE(shares[0], 0.1);  // a third of the floor
  RandomStream random(1);
  std::vector<int> drawn(3, 0);
  for (int i = 0; i < 6000; ++i) ++drawn[bandit.draw(random)];
  for (std::size_t member = 0; member < 3; ++member) EXPECT_NEAR(drawn[member] / 6000.0, shares[member], 0.03);
  // Another one brings more now: what was long ago does not count.
  for (int i = 0; i < 40; ++i) {
    for (std::size_t member = 0; member < 3; ++member) bandit.credit(member, member == 2 ? 0.1 : 0);
  }
  shares = bandit.shares();
  EXPECT_GT(shares[2], 1.5 * shares[1]);
}

TEST(RandomOrder, IsAUniformPermutation) {
  RandomStream random(1);
  std::map<std::vector<std::uint64_t>, int> orders;
  for (int i = 0; i < 6000; ++i) {
    RandomOrder order(3);
    std::vector<std::uint64_t> numbers;
    while (!order.empty()) numbers.push_back(order.next(random));
    ++orders[numbers];
  }
  ASSERT_EQ(orders.size(), 6u);
  for (const auto& [numbers, count] : orders) EXPECT_NEAR(count, 1000, 120);
}

TEST(SelectDiverse, TakesTheBestOrSpreadsAsTold) {
  const auto make = [] {
    std::vector<Scored> scored;
    for (std::int32_t i = 0; i < 10; ++i) scored.push_back({{0, {i < 5 ? 0 : i}}, 10.0 - i});
    return scored;
  };
  const std::vector<Candidate> best = select_diverse(make(), 3, 0);
  for (const Candidate& candidate : best) EXPECT_EQ(candidate.choice[0], 0);
  const std::vector<Candidate> spread = select_diverse(make(), 3, 1);
  EXPECT_EQ(CandidateSet(spread.begin(), spread.end()).size(), 3u);
  EXPECT_EQ(spread[0].choice[0], 0);
  EXPECT_TRUE(select_diverse({}, 3, 1).empty());
  EXPECT_EQ(select_diverse(make(), 100, 1).size(), 10u);
  std::vector<Scored> broken = make();
  broken[0].score = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(select_diverse(broken, 100, 1).size(), 9u);
}

}  // namespace
}  // namespace temper::search
