#include "temper/peers/interleave.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "temper/support/clock.h"
#include "temper/support/error.h"

namespace temper::peers {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::SizeIs;

/// A side that takes `cost` seconds a call on a clock of its own and writes down when it was asked for samples.
struct Recorder {
  std::vector<std::string> log;
  Side side(const std::string& name, double cost) {
    return {name, [this, name, cost](std::int64_t calls, std::int64_t) {
              if (calls > 0) log.push_back(name);
              return static_cast<double>(calls) * cost;
            }};
  }
};

TEST(Interleave, TakesTheLeastCallsOfSlowSides) {
  Recorder recorder;
  InterleaveOptions options;
  options.sample_seconds = 1e-2;
  options.least_calls = 6;
  const auto times = interleave({recorder.side("slow", 1e-3), recorder.side("longer than a sample", 1)}, options);
  EXPECT_EQ(times[0].calls, 10);
  EXPECT_EQ(times[1].calls, 6);
}

TEST(Interleave, WarmsUpForAsLongAsIsAsked) {
  std::vector<std::int64_t> warmups;
  const auto side = [&](double cost) {
    return Side{"side", [&warmups, cost](std::int64_t calls, std::int64_t warmup) {
                  warmups.push_back(warmup);
                  return static_cast<double>(calls) * cost;
                }};
  };
  InterleaveOptions options;
  options.rounds = 1;
  options.sample_seconds = 1e-3;
  interleave({side(0.25e-3)}, options);
  EXPECT_EQ(warmups.back(), 1);
  options.warmup_seconds = 2e-3;
  interleave({side(0.25e-3)}, options);
  EXPECT_EQ(warmups.back(), 8);
  interleave({side(1)}, options);
  EXPECT_EQ(warmups.back(), 1) << "never less than without";
}

TEST(Interleave, CalibratesEachSideToTheSampleTime) {
  Recorder recorder;
  InterleaveOptions options;
  options.sample_seconds = 1e-2;
  const auto times = interleave(
      {recorder.side("fast", 1e-6), recorder.side("slow", 1e-3), recorder.side("longer than a sample", 1)}, options);
  EXPECT_EQ(times[0].calls, 10000);
  EXPECT_EQ(times[1].calls, 10);
  EXPECT_EQ(times[2].calls, 1);
  EXPECT_THAT(times[0].median_seconds, DoubleNear(1e-6, 1e-12));
  EXPECT_THAT(times[1].samples, SizeIs(static_cast<std::size_t>(options.rounds)));
  EXPECT_THAT(ratio(times[1], times[0]), DoubleNear(1000, 1e-6));
}

TEST(Interleave, AStopEndsItBeforeTheNextSample) {
  Recorder recorder;
  InterleaveOptions options;
  options.rounds = 1000;
  options.sample_seconds = 1;
  int left = 10;
  const Side stopping{"stopping", [&](std::int64_t calls, std::int64_t) {
                        if (--left == 0) options.cancellation.request();
                        return static_cast<double>(calls);
                      }};
  try {
    interleave({recorder.side("a", 1), stopping}, options);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Cancelled);
  }
  EXPECT_EQ(left, 0) << "nothing runs after the stop";
}

TEST(Interleave, EveryRoundRunsEverySideInARandomButSeededOrder) {
  const auto order = [](std::uint64_t seed) {
    Recorder recorder;
    InterleaveOptions options;
    options.rounds = 40;
    options.seed = seed;
    options.sample_seconds = 1;
    interleave({recorder.side("a", 1), recorder.side("b", 1), recorder.side("c", 1)}, options);
    // Calibration is one call of each.
    return std::vector<std::string>(recorder.log.begin() + 3, recorder.log.end());
  };
  const std::vector<std::string> log = order(1);
  ASSERT_THAT(log, SizeIs(120));
  std::set<std::string> firsts;
  for (std::size_t round = 0; round < 40; ++round) {
    const std::set<std::string> sides(log.begin() + static_cast<std::ptrdiff_t>(3 * round),
                                      log.begin() + static_cast<std::ptrdiff_t>(3 * round + 3));
    EXPECT_THAT(sides, SizeIs(3));
    firsts.insert(log[3 * round]);
  }
  EXPECT_THAT(firsts, SizeIs(3));
  EXPECT_EQ(order(1), log);
  EXPECT_NE(order(2), log);
}

TEST(Interleave, TakesMinimumQuartileAndMedianPerCall) {
  int call = 0;
  const std::vector<double> costs{5, 1, 9, 2, 8};
  const Side side{"x", [&](std::int64_t calls, std::int64_t warmup) {
                    if (warmup == 0 || calls == 0) return static_cast<double>(calls) * 1.0;  // calibration
                    return static_cast<double>(calls) * costs[static_cast<std::size_t>(call++)];
                  }};
  InterleaveOptions options;
  options.rounds = 5;
  options.sample_seconds = 4;
  const SideTimes times = interleave({side}, options)[0];
  EXPECT_EQ(times.calls, 4);
  EXPECT_EQ(times.samples, costs);
  EXPECT_EQ(times.min_seconds, 1);
  EXPECT_EQ(times.quartile_seconds, 2);
  EXPECT_EQ(times.median_seconds, 5);
}

TEST(Interleave, GoesOnUntilShortSamplesAddUp) {
  Recorder recorder;
  InterleaveOptions options;
  options.rounds = 10;
  options.sample_seconds = 1;
  options.least_seconds = 50;
  EXPECT_THAT(interleave({recorder.side("a", 1), recorder.side("b", 1)}, options)[0].samples, SizeIs(25));
  options.least_seconds = 5;
  EXPECT_THAT(interleave({recorder.side("a", 1)}, options)[0].samples, SizeIs(10)) << "never fewer";
  options.least_seconds = 1e9;
  EXPECT_THAT(interleave({recorder.side("a", 1)}, options)[0].samples, SizeIs(400)) << "a bound";
}

TEST(Ratio, IsThatOfTheCalmSamples) {
  const auto side = [](std::vector<double> samples) {
    SideTimes times;
    times.samples = std::move(samples);
    summarize(times);
    return times;
  };
  // Five of nine samples of one side were disturbed, four of the other.
  const SideTimes temper = side({2, 2, 2, 2, 9, 9, 9, 9, 9}), peer = side({3, 3, 3, 3, 3, 9, 9, 9, 9});
  EXPECT_DOUBLE_EQ(ratio(peer, temper), 1.5);
  EXPECT_DOUBLE_EQ(ratio(temper, temper), 1);
  EXPECT_THROW(side({}), Error);
}

TEST(Interleave, StopsAtTheBudgetButNotBeforeFiveRounds) {
  Recorder recorder;
  InterleaveOptions options;
  options.sample_seconds = 1;
  options.rounds = 100;
  options.budget_seconds = 12;
  EXPECT_THAT(interleave({recorder.side("a", 1)}, options)[0].samples, SizeIs(12));
  options.budget_seconds = 1;
  EXPECT_THAT(interleave({recorder.side("a", 1)}, options)[0].samples, SizeIs(5));
}

TEST(Interleave, TimesAFunctionByTheClockItIsGiven) {
  ManualClock clock;
  int calls = 0;
  const Side side = side_of(
      "f",
      [&] {
        ++calls;
        clock.advance(std::chrono::milliseconds(3));
      },
      clock);
  EXPECT_THAT(side.run(4, 2), DoubleNear(0.012, 1e-12));
  EXPECT_EQ(calls, 6);
}

TEST(Interleave, NothingToCompareIsAnError) {
  EXPECT_THROW(interleave({}, {}), Error);
  Recorder recorder;
  InterleaveOptions options;
  options.rounds = 0;
  EXPECT_THROW(interleave({recorder.side("a", 1)}, options), Error);
}

TEST(Median, OfOddAndEvenCounts) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_THROW(median({}), Error);
}

}  // namespace
}  // namespace temper::peers
