#include "temper/runner/surroundings.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "runner/fake_surroundings.h"
#include "temper/runner/timing.h"

namespace temper::runner {
namespace {

using testing::FakeSurroundings;

/// Samples of a kernel that takes a millisecond, on a machine of which the test says what it does.
class Disturbances : public ::testing::Test {
 protected:
  Disturbances() {
    timing.set_repeats(5);
    timing.set_retakes(4);
    surroundings.probe_seconds = [this] { return probe; };
    surroundings.paused = [this] { advance(1e-3); };
  }
  void advance(double seconds) {
    clock.advance(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds)));
  }
  /// Runs for `seconds`, of which others have `lost`.
  double run(double seconds, double lost = 0) {
    advance(seconds);
    surroundings.used.cpu_seconds += seconds - lost;
    if (lost > 0) ++surroundings.used.switches;
    ++taken;
    return seconds;
  }
  Samples samples(const std::function<double()>& take, double end = 1e9) {
    return sample(take, [this] { ++warmed; }, 1, timing, watch, clock, end);
  }

  ManualClock clock;
  FakeSurroundings surroundings;
  protocol::Timing timing;
  Watch watch{surroundings, clock};
  double probe = 1e-6;
  int taken = 0, warmed = 0;
};

TEST_F(Disturbances, AQuietMachineTakesWhatIsWanted) {
  const Samples result = samples([&] { return run(1e-3); });
  EXPECT_EQ(result.seconds, std::vector<double>(5, 1e-3));
  EXPECT_EQ(taken, 5);
  EXPECT_TRUE(result.unstable.empty());
  EXPECT_EQ(result.disturbed.others() + result.disturbed.clock(), 0);
  EXPECT_EQ(surroundings.probes, 7) << "one before, one after each sample, one at the end";
  EXPECT_EQ(surroundings.pauses, 0);
}

TEST_F(Disturbances, WhatOthersInterruptIsTakenAgainAndNeverCounts) {
  const Samples result = samples([&] { return taken % 2 == 0 ? run(1.5e-3, 0.5e-3) : run(1e-3); });
  EXPECT_EQ(result.seconds, std::vector<double>(5, 1e-3));
  EXPECT_EQ(result.disturbed.others(), 5);
  EXPECT_TRUE(result.unstable.empty());
  EXPECT_EQ(surroundings.pauses, 5);
  EXPECT_EQ(warmed, 5);
}

TEST_F(Disturbances, AShortInterruptionIsNone) {
  const Samples result = samples([&] { return run(1e-3, 0.9 * kLostShare * 1e-3); });
  EXPECT_EQ(taken, 5);
  EXPECT_EQ(result.disturbed.others(), 0);
}

TEST_F(Disturbances, AThreadThatSleepsIsNotInterrupted) {
  const Samples result = samples([&] {
    advance(1e-3);  // waits for a thread of its own: no CPU, and nobody took it
    ++taken;
    return 1e-3;
  });
  EXPECT_EQ(result.seconds.size(), 5U);
}

TEST_F(Disturbances, WithoutTwoUndisturbedSamplesThereIsNoTime) {
  const Samples never = samples([&] { return run(2e-3, 1e-3); });
  EXPECT_TRUE(never.seconds.empty());
  EXPECT_EQ(taken, 25) << "five, and four times as many again";
  EXPECT_EQ(never.unstable, "0 undisturbed samples; other processes had the CPU in 25");
  taken = 0;
  const Samples once = samples([&] { return taken == 7 ? run(1e-3) : run(2e-3, 1e-3); });
  EXPECT_EQ(once.unstable, "1 undisturbed samples; other processes had the CPU in 24");
  taken = 0;
  const Samples twice = samples([&] { return taken == 7 || taken == 20 ? run(1e-3) : run(2e-3, 1e-3); });
  EXPECT_TRUE(twice.unstable.empty());
  EXPECT_EQ(twice.seconds, std::vector<double>(2, 1e-3)) << "only those";
}

TEST_F(Disturbances, ASampleOfAnotherClockIsTakenAgain) {
  const Samples result = samples([&] {
    probe = taken == 2 ? 1.2e-6 : 1e-6;
    return run(taken == 2 ? 1.2e-3 : 1e-3);
  });
  EXPECT_EQ(result.seconds, std::vector<double>(5, 1e-3));
  EXPECT_EQ(result.disturbed.clock(), 1);
}

TEST_F(Disturbances, AKernelThatLowersTheClockItselfHasThatTime) {
  surroundings.paused = [&] {
    advance(1e-3);
    probe = 1e-6;  // it recovers as soon as the kernel rests
  };
  const Samples result = samples([&] {
    probe = 1.3e-6;
    return run(1.3e-3);
  });
  EXPECT_EQ(result.seconds, std::vector<double>(5, 1.3e-3));
  EXPECT_EQ(result.disturbed.clock(), 0);
}

TEST_F(Disturbances, AClockThatFallsAndStaysLowSpoilsTheWholeSetAndIsWaitedFor) {
  ASSERT_TRUE(watch.settle());
  const Samples result = samples([&] {
    probe = 1.3e-6;
    return run(1.3e-3);
  });
  EXPECT_TRUE(result.seconds.empty()) << "when it fell is not known";
  EXPECT_EQ(taken, 5) << "nothing is timed while it is low";
  EXPECT_EQ(result.unstable, "0 undisturbed samples; the processor's clock was slower in 25");
  EXPECT_EQ(samples([&] { return run(1.3e-3); }).seconds, std::vector<double>(5, 1.3e-3))
      << "two seconds later that is how fast it is";
}

TEST_F(Disturbances, AClockThatStaysLowIsTheNewNormal) {
  ASSERT_TRUE(watch.settle());
  probe = 1.3e-6;
  EXPECT_FALSE(watch.settle());
  advance(Watch::kNewNormalSeconds);
  EXPECT_TRUE(watch.settle());
  EXPECT_EQ(watch.best_probe(), 1.3e-6);
  probe = 1e-6;
  EXPECT_TRUE(watch.settle());
  EXPECT_EQ(watch.best_probe(), 1e-6) << "a faster one at once";
}

TEST_F(Disturbances, ShortDipsOfTheClockAreWaitedFor) {
  ASSERT_TRUE(watch.settle());
  probe = 1.3e-6;
  int left = 10;
  surroundings.paused = [&] {
    advance(1e-3);
    if (--left == 0) probe = 1e-6;
  };
  EXPECT_TRUE(watch.settle());
  advance(Watch::kNewNormalSeconds);
  probe = 1.3e-6;
  left = 1000;
  EXPECT_FALSE(watch.settle()) << "two dips are not one long one";
}

TEST_F(Disturbances, AReplacedRunnerKnowsTheClockOfTheOneBefore) {
  watch.know(1e-6);
  probe = 1.3e-6;
  EXPECT_FALSE(watch.settle());
  watch.know(5e-6);
  EXPECT_EQ(watch.best_probe(), 1e-6) << "what it has seen itself counts";
}

TEST_F(Disturbances, ALuckyProbeIsForgotten) {
  probe = 0.9e-6;
  ASSERT_TRUE(watch.settle());
  probe = 0.96e-6;
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(watch.settle());
  EXPECT_NEAR(watch.best_probe(), 0.96e-6, 1e-12);
  probe = 1.02e-6;
  EXPECT_TRUE(watch.settle()) << "within 8% of what is usual";
}

TEST_F(Disturbances, GivingUpNeedsAnUndisturbedSample) {
  timing.set_give_up_above_seconds(1.4e-3);
  const Samples slow = samples([&] { return run(2e-3); });
  EXPECT_EQ(slow.seconds.size(), 1U);
  EXPECT_TRUE(slow.unstable.empty());
  taken = 0;
  const Samples interrupted = samples([&] { return taken == 0 ? run(2e-3, 1e-3) : run(1e-3); });
  EXPECT_EQ(interrupted.seconds.size(), 5U) << "the slow one was no sample";
}

TEST_F(Disturbances, TheEndOfTheTimeEndsTheRetakes) {
  const Samples result = samples([&] { return run(2e-3, 1e-3); }, clock.seconds() + 9e-3);
  EXPECT_LT(taken, 6);
  EXPECT_FALSE(result.unstable.empty());
}

TEST(SystemSurroundings, ProbeAndAccountAreThoseOfThisThread) {
  SystemSurroundings surroundings;
  const SystemClock clock;
  EXPECT_GT(surroundings.probe(), 0);
  const Surroundings::Usage before = surroundings.usage();
  const double start = clock.seconds();
  while (surroundings.usage().cpu_seconds < before.cpu_seconds + 1e-3) surroundings.probe();
  EXPECT_GE(clock.seconds() - start, 0.9e-3) << "no thread runs longer than time passes";
  EXPECT_GE(surroundings.usage().switches, before.switches);
  surroundings.pause();
}

}  // namespace
}  // namespace temper::runner
