#include "temper/search/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "paths.h"
#include "search/toy_space.h"
#include "temper/support/error.h"

namespace temper::search {
namespace {

using ::testing::HasSubstr;

/// Milliseconds of all valid configurations of a recording.
std::vector<double> recorded_times(const std::string& name) {
  std::ifstream file(std::filesystem::path(paths::source()) / "tests/data/recorded_times" / (name + ".times"));
  std::vector<double> times;
  for (double time = 0; file >> time;) times.push_back(time);
  return times;
}

struct Golden {
  const char* name;
  std::uint64_t valid, all;
  double optimum, median, target;
  std::uint64_t budget;
  double after_10, after_100, random_score;
};

/// Published with the recordings; times in milliseconds.
constexpr Golden kGolden[] = {
    {"convolution_A100", 4201, 4362, 0.5536, 1.833952, 0.617618, 1050, 1.028224, 0.820928, .035},
    {"dedispersion_A100", 11130, 11130, 68.116576, 72.498991, 68.335697, 795, 69.318848, 68.593569, .100},
    {"convolution_A4000", 4201, 4362, 1.021172, 3.305044, 1.135366, 323, 1.701359, 1.309472, .179},
    {"pnpoly_RTX3090", 3762, 4092, 7.224192, 12.946528, 7.510309, 179, 9.241408, 7.711776, .023},
    {"gemm_RTX3090", 17956, 17956, 5.657844, 14.578479, 6.103876, 1282, 8.729369, 6.906228, .151},
};

TEST(FairBaseline, HasThePublishedValues) {
  for (const Golden& golden : kGolden) {
    SCOPED_TRACE(golden.name);
    const std::vector<double> times = recorded_times(golden.name);
    ASSERT_EQ(times.size(), golden.valid);
    const FairBaseline baseline(times, golden.all);
    EXPECT_NEAR(baseline.optimum(), golden.optimum, 5e-7 * golden.optimum);
    EXPECT_NEAR(baseline.median(), golden.median, 5e-7 * golden.median);
    EXPECT_NEAR(baseline.target(0.95), golden.target, 1e-6 * golden.target);
    EXPECT_EQ(baseline.budget(0.95), golden.budget);
    EXPECT_NEAR(baseline.random_after(10), golden.after_10, 5e-7 * golden.after_10);
    EXPECT_NEAR(baseline.random_after(100), golden.after_100, 5e-7 * golden.after_100);
    const std::uint64_t budget = std::min<std::uint64_t>(1000, golden.budget);
    EXPECT_NEAR(baseline.score(baseline.expected_random(budget)), golden.random_score, 0.0006);
  }
}

TEST(FairBaseline, ScoresOneForTheOptimumAndZeroForTheBaseline) {
  const FairBaseline baseline({5, 4, 3, 2, 1, 9, 8, 7, 6}, 12);
  EXPECT_EQ(baseline.optimum(), 1);
  EXPECT_EQ(baseline.median(), 5);
  EXPECT_EQ(baseline.target(0.5), 3);
  const std::vector<double> optimum(3, 1.0);
  EXPECT_DOUBLE_EQ(baseline.score(optimum), 1);
  const std::vector<double> same{baseline.random_after(1), baseline.random_after(2), baseline.random_after(3)};
  EXPECT_DOUBLE_EQ(baseline.score(same), 0);
  EXPECT_LT(baseline.score(std::vector<double>(3, INFINITY)), 0);
  EXPECT_EQ(FairBaseline({1, 2, 3, 4}, 4).median(), 2.5);
}

TEST(FairBaseline, ExpectationOfRandomSearchIsExact) {
  // Three valid times of five candidates. One draw: 1, 2, 4 or (two in five) nothing, which counts as the worst.
  const std::vector<double> expected = FairBaseline({4, 1, 2}, 5).expected_random(10);
  ASSERT_EQ(expected.size(), 5u);
  EXPECT_NEAR(expected[0], (1 + 2 + 4 + 4 + 4) / 5.0, 1e-12);
  // Two draws, ten pairs: four hold the best; of the other six three hold the second.
  EXPECT_NEAR(expected[1], (4 * 1 + 3 * 2 + 3 * 4) / 10.0, 1e-12);
  EXPECT_NEAR(expected[4], 1, 1e-12);
}

TEST(FairBaseline, NeedsSomethingToSearchFor) {
  const auto message = [](std::vector<double> times) -> std::string {
    try {
      const FairBaseline baseline(std::move(times), 5);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Unsupported);
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(message({}), HasSubstr("no configuration has a time"));
  EXPECT_THAT(message({2, 2}), HasSubstr("all configurations take the same time"));
}

TEST(RankTest, HasTheTextbookValues) {
  // No overlap of 4 and 4: U = 16, sigma^2 = 12, z = 8 / sqrt(12).
  const RankTest apart = rank_test(std::vector<RankedGroups>{{{5, 6, 7, 8}, {1, 2, 3, 4}}});
  EXPECT_DOUBLE_EQ(apart.superiority, 1);
  EXPECT_NEAR(apart.p_value, 0.020921, 1e-5);
  // With ties: ranks 1.5 1.5 3 | 4.5 4.5 6; sigma^2 = 9/12 * (7 - 12/30) = 4.95, difference 4.5.
  const RankTest ties = rank_test(std::vector<RankedGroups>{{{1, 1, 2}, {3, 3, 4}}});
  EXPECT_DOUBLE_EQ(ties.superiority, 0);
  EXPECT_NEAR(ties.p_value, std::erfc(4.5 / std::sqrt(2 * 4.95)), 1e-12);
  const RankTest equal = rank_test(std::vector<RankedGroups>{{{1, 1}, {1, 1, 1}}});
  EXPECT_DOUBLE_EQ(equal.superiority, 0.5);
  EXPECT_DOUBLE_EQ(equal.p_value, 1);
}

TEST(RankTest, StrataAddTheirEvidence) {
  const RankedGroups weak{{2, 4, 6, 8}, {1, 3, 5, 7}}, shifted{{102, 104, 106, 108}, {101, 103, 105, 107}};
  const RankTest one = rank_test(std::vector{weak}), both = rank_test(std::vector{weak, shifted});
  EXPECT_DOUBLE_EQ(one.superiority, both.superiority);
  EXPECT_LT(both.p_value, one.p_value);
  const RankedGroups against{weak.second, weak.first};
  EXPECT_DOUBLE_EQ(rank_test(std::vector{weak, against}).p_value, 1);
  EXPECT_DOUBLE_EQ(rank_test(std::vector<RankedGroups>{{{}, {1}}}).p_value, 1);
}

TEST(RankTest, FalseAlarmsAreAsRareAsStated) {
  RandomStream random(7);
  int alarms = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    RankedGroups groups;
    for (int i = 0; i < 30; ++i)
      groups.first.push_back(random.uniform_real()), groups.second.push_back(random.uniform_real());
    alarms += rank_test(std::vector{groups}).p_value < 0.05;
  }
  EXPECT_NEAR(alarms, 100, 30);
}

TEST(RankTest, HolmCorrectsForTheNumberOfTests) {
  const std::vector<double> corrected = holm_corrected(std::vector{0.03, 0.01, 0.04});
  EXPECT_NEAR(corrected[1], 0.03, 1e-12);
  EXPECT_NEAR(corrected[0], 0.06, 1e-12);
  EXPECT_NEAR(corrected[2], 0.06, 1e-12);
}

/// A listed space of 20 x 20 whose time falls towards a corner; one in seven fails; an evaluation takes ten times as
/// long as the kernel.
class Recorded {
 public:
  Recorded()
      : space_({[] {
          Design design{"bowl", {{"x", range(0, 19)}, {"y", range(0, 19)}}, {}};
          for (std::int32_t x = 0; x < 20; ++x) {
            for (std::int32_t y = 0; y < 20; ++y) design.listed.push_back({x, y});
          }
          return design;
        }()}),
        index_(space_) {
    for (std::uint64_t i = 0; i < index_.size(); ++i) {
      const Candidate c = index_.at(i);
      const double x = c.choice[0] - 3, y = c.choice[1] - 15, seconds = 1 + x * x + 2 * y * y + 0.1 * std::abs(x * y);
      outcomes_.push_back({c.hash() % 7 != 0 || seconds == 1, seconds, 10 * seconds});
    }
  }
  ReplayedSpace replayed(std::string name = "bowl") const { return {std::move(name), &space_, &index_, outcomes_}; }
  const std::vector<Outcome>& outcomes() const { return outcomes_; }

 private:
  FakeSpace space_;
  SpaceIndex index_;
  std::vector<Outcome> outcomes_;
};

TEST(Replay, AnswersWithWhatWasMeasured) {
  const Recorded recorded;
  const ReplayedRun run =
      replay("grid", {.seed = 1, .options = {{"lexicographic", 1}}}, recorded.replayed(), {400, 0, 7});
  ASSERT_EQ(run.best_seconds.size(), 400u);
  double best = INFINITY, elapsed = 0;
  for (std::size_t i = 0; i < 400; ++i) {
    const Outcome& outcome = recorded.outcomes()[i];
    if (outcome.ok) best = std::min(best, outcome.seconds);
    elapsed += outcome.spent_seconds;
    ASSERT_EQ(run.best_seconds[i], best);
    ASSERT_DOUBLE_EQ(run.elapsed_seconds[i], elapsed);
  }
}

TEST(Replay, EndsAfterBothLimitsOrWithTheSpace) {
  const Recorded recorded;
  const auto length = [&](std::uint64_t evaluations, double seconds) {
    return replay("random", {.seed = 3}, recorded.replayed(), {evaluations, seconds, 1}).best_seconds.size();
  };
  EXPECT_EQ(length(20, 0), 20u);
  EXPECT_EQ(length(1000, 0), 400u);
  const ReplayedRun run = replay("random", {.seed = 3}, recorded.replayed(), {1, 5000, 1});
  EXPECT_GE(run.elapsed_seconds.back(), 5000);
  EXPECT_LT(run.elapsed_seconds[run.elapsed_seconds.size() - 2], 5000);
}

TEST(Comparison, RanksAGuidedSearchBeforeRandom) {
  const Recorded recorded;
  const std::vector<ReplayedSpace> spaces{recorded.replayed("one"), recorded.replayed("two")};
  const std::vector<ComparedStrategy> strategies{{"random"}, {"genetic", {{"population", 8}}}};
  ComparisonOptions options;
  options.repeats = 40;
  options.cutoff = 0.995;
  options.resamples = 200;
  const Comparison c = compare_strategies(spaces, strategies, options);
  ASSERT_EQ(c.spaces.size(), 2u);
  EXPECT_GT(c.scores[1].low, c.scores[0].high);
  ASSERT_EQ(c.pairs.size(), 1u);
  EXPECT_LT(c.pairs[0].test.superiority, 0.3);
  EXPECT_LT(c.pairs[0].corrected_p_value, 0.001);
  const SpaceComparison& space = c.spaces[0];
  EXPECT_EQ(space.candidates, 400u);
  EXPECT_EQ(space.optimum_seconds, 1);
  // Random search scores what is expected of it.
  EXPECT_NEAR(space.strategies[0].score.mean, space.random_score, 0.15);
  for (const StrategyOnSpace& s : space.strategies) {
    ASSERT_EQ(s.scores.size(), 40u);
    EXPECT_NEAR(s.score.mean, std::accumulate(s.scores.begin(), s.scores.end(), 0.0) / 40, 1e-12);
    ASSERT_EQ(s.over_evaluations.x.size(), space.budget);
    ASSERT_EQ(s.over_time.x.size(), 200u);
    EXPECT_DOUBLE_EQ(s.over_time.x.back(), space.budget_seconds);
    for (const Curve* curve : {&s.over_evaluations, &s.over_time}) {
      for (std::size_t i = 0; i < curve->x.size(); ++i) {
        const Estimate& e = curve->best_seconds[i];
        EXPECT_LE(e.low, e.mean);
        EXPECT_LE(e.mean, e.high);
        if (i > 0) {
          EXPECT_LE(e.mean, curve->best_seconds[i - 1].mean + 1e-9);
        }
      }
    }
  }
  // Random search follows its exact expectation at every step, within what 40 runs allow.
  int outside = 0;
  for (std::size_t t = 0; t < space.budget; ++t) {
    const Estimate& e = space.strategies[0].over_evaluations.best_seconds[t];
    outside += space.expected_random[t] < e.low || space.expected_random[t] > e.high;
  }
  EXPECT_LT(outside, static_cast<int>(space.budget) / 2);
}

TEST(Comparison, IsReproducibleAndItsPartsAreIndependent) {
  const Recorded recorded;
  ComparisonOptions options;
  options.repeats = 5;
  options.resamples = 20;
  const std::vector<ReplayedSpace> one{recorded.replayed("one")},
      two{recorded.replayed("two"), recorded.replayed("one")};
  const std::vector<ComparedStrategy> few{{"random"}}, many{{"annealing"}, {"random"}};
  const Comparison small = compare_strategies(one, few, options), again = compare_strategies(one, few, options),
                   large = compare_strategies(two, many, options);
  EXPECT_EQ(small.spaces[0].strategies[0].scores, again.spaces[0].strategies[0].scores);
  EXPECT_EQ(small.spaces[0].strategies[0].score.low, again.spaces[0].strategies[0].score.low);
  EXPECT_EQ(small.spaces[0].strategies[0].scores, large.spaces[1].strategies[1].scores);
  EXPECT_NE(large.spaces[0].strategies[1].scores, large.spaces[1].strategies[1].scores);
  options.threads = 3;
  EXPECT_EQ(compare_strategies(one, few, options).spaces[0].strategies[0].scores, small.spaces[0].strategies[0].scores);
  options.seed = 2;
  EXPECT_NE(compare_strategies(one, few, options).spaces[0].strategies[0].scores, small.spaces[0].strategies[0].scores);
}

TEST(Comparison, TellsOfEachRun) {
  const Recorded recorded;
  const std::vector<ReplayedSpace> spaces{recorded.replayed("one"), recorded.replayed("two")};
  const std::vector<ComparedStrategy> strategies{{"random"}, {"grid"}};
  ComparisonOptions options;
  options.repeats = 3;
  options.resamples = 5;
  options.threads = 2;
  std::vector<ComparisonStatus> told;
  const Comparison c =
      compare_strategies(spaces, strategies, options, {}, [&](const ComparisonStatus& s) { told.push_back(s); });
  ASSERT_EQ(told.size(), 12u);
  for (int i = 0; i < 12; ++i) {
    const ComparisonStatus& status = told[static_cast<std::size_t>(i)];
    EXPECT_EQ(status.runs_in_all, i + 1);
    EXPECT_EQ(status.all, 12);
    EXPECT_EQ(status.runs, i % 3 + 1);
    EXPECT_EQ(status.space, i < 6 ? "one" : "two");
    EXPECT_EQ(status.strategy, i / 3 % 2 == 0 ? "random" : "grid");
  }
  EXPECT_NEAR(told[2].score, c.spaces[0].strategies[0].score.mean, 1e-12);
}

TEST(Comparison, StopsOnRequest) {
  const Recorded recorded;
  const std::vector<ReplayedSpace> spaces{recorded.replayed()};
  const std::vector<ComparedStrategy> strategies{{"random"}};
  const CancellationToken cancellation;
  cancellation.request();
  EXPECT_THROW(compare_strategies(spaces, strategies, {}, cancellation), Error);
  ComparisonOptions options;
  options.threads = 2;
  EXPECT_THROW(compare_strategies(spaces, strategies, options, cancellation), Error);
}

TEST(ListedDesigns, AreTheSpaceAndNothingElse) {
  RandomStream random(5);
  for (int trial = 0; trial < 50; ++trial) {
    Design design{"listed", {{"a", range(0, 3)}, {"b", range(0, 4)}, {"c", range(0, 2)}}, {}};
    std::vector<Candidate> all = all_choices(design, 0);
    random.shuffle(all);
    all.resize(static_cast<std::size_t>(random.uniform_int(1, 59)));
    for (const Candidate& candidate : all) design.listed.push_back(candidate.choice);
    const FakeSpace space({design});
    const SpaceIndex index(space);
    ASSERT_EQ(index.size(), all.size());
    CandidateSet seen;
    for (std::uint64_t i = 0; i < index.size(); ++i) {
      EXPECT_EQ(index.index_of(index.at(i)), i);
      seen.insert(index.at(i));
    }
    EXPECT_EQ(seen, CandidateSet(all.begin(), all.end()));
    for (const Candidate& candidate : all_choices(design, 0)) {
      EXPECT_EQ(index.contains(candidate), seen.contains(candidate));
    }
  }
}

TEST(ListedDesigns, MistakesAreExplained) {
  const auto message = [](Design design) -> std::string {
    try {
      const DecisionDiagram diagram(design);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  const std::vector<Knob> knobs{{"a", {1, 2}}, {"b", {1, 2}}};
  EXPECT_THAT(message({"d", knobs, {}, {{0, 0}, {1, 1}, {0, 0}}}), HasSubstr("a choice is listed twice"));
  EXPECT_THAT(message({"d", knobs, {}, {{0}}}), HasSubstr("does not fit the knobs"));
  EXPECT_THAT(message({"d", knobs, {}, {{0, 2}}}), HasSubstr("does not fit the knobs"));
  const auto always = [](std::span<const std::int64_t>) { return true; };
  EXPECT_THAT(message({"d", knobs, {{"c", {"a"}, always}}, {{0, 0}}}), HasSubstr("has constraints too"));
}

}  // namespace
}  // namespace temper::search
