#include "temper/measure/paired_test.h"

#include <gtest/gtest.h>

#include <cmath>

#include "temper/support/error.h"
#include "temper/support/random.h"

namespace temper::measure {
namespace {

TEST(PairedTest, EvidenceIsTheBetOnEveryLargerProbability) {
  EXPECT_NEAR(coin_evidence(0, 0), 1, 1e-12) << "no bet was made yet";
  // 2 * integral over p from 1/2 to 1 of 2p, of 2(1-p), of (2p)^2, of 4p(1-p)
  EXPECT_NEAR(coin_evidence(1, 1), 3.0 / 2, 1e-12);
  EXPECT_NEAR(coin_evidence(0, 1), 1.0 / 2, 1e-12);
  EXPECT_NEAR(coin_evidence(2, 2), 7.0 / 3, 1e-12);
  EXPECT_NEAR(coin_evidence(1, 2), 2.0 / 3, 1e-12);
  EXPECT_THROW(coin_evidence(3, 2), Error);
}

TEST(PairedTest, EvidenceOfFairCoinsNeverGrowsOnAverage) {
  for (int trials = 0; trials < 30; ++trials) {
    for (int successes = 0; successes <= trials; ++successes) {
      const double next = (coin_evidence(successes, trials + 1) + coin_evidence(successes + 1, trials + 1)) / 2;
      EXPECT_NEAR(next / coin_evidence(successes, trials), 1, 1e-9) << successes << " of " << trials;
    }
  }
}

TEST(PairedTest, DecidesWhatNeverContradicts) {
  PairedTest first({}), second({}), tie({});
  while (first.verdict() == Verdict::Open) first.add(0.97, 1);
  while (second.verdict() == Verdict::Open) second.add(1, 0.97);
  while (tie.verdict() == Verdict::Open) tie.add(1.003, 1);
  EXPECT_EQ(first.verdict(), Verdict::FirstFaster);
  EXPECT_EQ(second.verdict(), Verdict::SecondFaster);
  EXPECT_EQ(tie.verdict(), Verdict::Tie);
  EXPECT_EQ(first.pairs(), 12) << "2^13 / 13 is the first above 2 / 0.005";
  EXPECT_EQ(first.add(5, 1), Verdict::FirstFaster) << "a verdict stays";
  EXPECT_EQ(first.pairs(), 12);
}

TEST(PairedTest, LookingOftenRaisesNoFalseAlarms) {
  RandomStream random(7);
  int alarms = 0;
  constexpr int kRaces = 400;
  for (int race = 0; race < kRaces; ++race) {
    PairedTest test({.false_alarms = 0.1, .width = 1e-9});  // without a width every verdict but a tie is an alarm
    for (int pair = 0; pair < 200 && test.verdict() == Verdict::Open; ++pair) {
      // The rarest large outliers, on both sides alike.
      const auto time = [&] { return std::exp(0.02 * random.approximately_normal() + (random.chance(0.05) ? 3 : 0)); };
      const double first = time();
      test.add(first, time());
    }
    if (test.verdict() != Verdict::Open) ++alarms;
  }
  EXPECT_LE(alarms, kRaces / 10);
}

TEST(PairedTest, FindsThreePercentUnderNoise) {
  RandomStream random(11);
  int found = 0;
  for (int race = 0; race < 100; ++race) {
    PairedTest test({});
    const auto noise = [&] { return std::exp(0.01 * random.approximately_normal() + (random.chance(0.1) ? 0.3 : 0)); };
    for (int pair = 0; pair < 100 && test.verdict() == Verdict::Open; ++pair) {
      const double first = 1.03 * noise();
      test.add(first, noise());
    }
    if (test.verdict() == Verdict::SecondFaster) ++found;
  }
  EXPECT_GE(found, 95);
}

TEST(PairedTest, RefusesImpossibleOptionsAndTimes) {
  EXPECT_THROW(PairedTest({.false_alarms = 0}), Error);
  EXPECT_THROW(PairedTest({.width = 1}), Error);
  EXPECT_THROW(PairedTest({}).add(0, 1), Error);
}

}  // namespace
}  // namespace temper::measure
