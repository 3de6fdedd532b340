#include "temper/cost/knob_screen.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "search/toy_space.h"
#include "temper/cost/metrics.h"
#include "temper/search/enumeration.h"

namespace temper::cost {
namespace {

std::vector<search::Candidate> sample(const search::SpaceIndex& index, std::uint64_t seed, int count) {
  RandomStream random(seed);
  std::vector<search::Candidate> result;
  for (int i = 0; i < count; ++i) result.push_back(index.sample(random));
  return result;
}

TEST(KnobScreen, SpreadsScoresToCandidatesThatWereNotScored) {
  const search::FakeSpace space = search::toy_matmul();
  const search::SpaceIndex index(space);
  const std::vector<search::Candidate> known = sample(index, 1, 512), others = sample(index, 2, 500);
  const auto speeds = [&](const std::vector<search::Candidate>& candidates) {
    std::vector<double> result;
    for (const search::Candidate& candidate : candidates)
      result.push_back(-std::log(search::toy_seconds(space, candidate)));
    return result;
  };
  KnobScreen screen(space);
  std::vector<double> guesses;
  screen.learn(known, speeds(known));
  for (const search::Candidate& candidate : others) guesses.push_back(screen.score(candidate));
  EXPECT_GT(pairwise_accuracy(guesses, speeds(others)), 0.85);
}

TEST(KnobScreen, SeesPairsOfKnobsAndTheDesign) {
  search::Design xor_like{"xor", {{"a", {0, 1}}, {"b", {0, 1}}}, {}};
  search::Design other{"other", {{"a", {0, 1}}}, {}};
  const search::FakeSpace space({xor_like, other});
  std::vector<search::Candidate> candidates;
  std::vector<double> scores;
  for (int repeat = 0; repeat < 40; ++repeat) {
    for (const std::int32_t a : {0, 1}) {
      for (const std::int32_t b : {0, 1}) candidates.push_back({0, {a, b}}), scores.push_back(a == b ? 1 : -1);
      candidates.push_back({1, {a}}), scores.push_back(10);
    }
  }
  KnobScreen screen(space);
  screen.learn(candidates, scores);
  EXPECT_GT(screen.score({0, {1, 1}}), 0.8);
  EXPECT_LT(screen.score({0, {1, 0}}), -0.8);
  EXPECT_NEAR(screen.score({1, {0}}), 10, 0.2);
  EXPECT_EQ(screen.known(0), 160U);
  EXPECT_EQ(screen.known(1), 80U);
}

TEST(KnobScreen, LeavesOutWhatHasNoScore) {
  const search::FakeSpace space({search::Design{"one", {{"a", {0, 1}}}, {}}});
  KnobScreen screen(space);
  const std::vector<search::Candidate> candidates{{0, {0}}, {0, {1}}};
  screen.learn(candidates, std::vector<double>{-std::numeric_limits<double>::infinity(), 2});
  EXPECT_EQ(screen.known(0), 1U);
  EXPECT_TRUE(std::isfinite(screen.score({0, {0}})));
}

}  // namespace
}  // namespace temper::cost
