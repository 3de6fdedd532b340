// Budget and phases: what a call may spend and where its time went.
#include <gtest/gtest.h>

#include <chrono>

#include "temper/support/clock.h"
#include "temper/tune/budget.h"
#include "temper/tune/phase_clock.h"

namespace temper::tune {
namespace {

using std::chrono::seconds;

TEST(PhaseClock, AnInnerPhasePausesTheOuterOne) {
  ManualClock clock;
  PhaseClock phases(clock);
  clock.advance(seconds(1));
  {
    const PhaseClock::Scope run(phases, Phase::Run);
    clock.advance(seconds(2));
    {
      const PhaseClock::Scope model(phases, Phase::Model);
      clock.advance(seconds(4));
    }
    clock.advance(seconds(8));
  }
  clock.advance(seconds(16));
  EXPECT_DOUBLE_EQ(phases.settle(), 31);
  EXPECT_DOUBLE_EQ(phases.seconds(Phase::Search), 17);
  EXPECT_DOUBLE_EQ(phases.seconds(Phase::Run), 10);
  EXPECT_DOUBLE_EQ(phases.seconds(Phase::Model), 4);
}

TEST(PhaseClock, TransfersNeverTakeMoreThanThereIs) {
  ManualClock clock;
  PhaseClock phases(clock, Phase::Run);
  clock.advance(seconds(3));
  phases.settle();
  phases.transfer(Phase::Run, Phase::Idle, 5);
  EXPECT_DOUBLE_EQ(phases.seconds(Phase::Run), 0);
  EXPECT_DOUBLE_EQ(phases.seconds(Phase::Idle), 3);
  phases.transfer(Phase::Idle, Phase::Run, -1);
  EXPECT_DOUBLE_EQ(phases.seconds(Phase::Idle), 3);
}

TEST(PhaseClock, TasksAndWhatBelongsToNoneAddUp) {
  ManualClock clock;
  PhaseClock phases(clock, Phase::Search, 2);
  clock.advance(seconds(1));
  {
    const PhaseClock::TaskScope task(phases, 1);
    clock.advance(seconds(2));
    const PhaseClock::Scope run(phases, Phase::Run);
    clock.advance(seconds(4));
    EXPECT_DOUBLE_EQ(phases.task_seconds(1), 6) << "up to now";
    phases.settle();
    phases.transfer(Phase::Run, Phase::Idle, 3);
  }
  clock.advance(seconds(8));
  {
    const PhaseClock::TaskScope task(phases, 0);
    clock.advance(seconds(16));
  }
  EXPECT_DOUBLE_EQ(phases.settle(), 31);
  EXPECT_DOUBLE_EQ(phases.task_seconds(0), 16);
  EXPECT_DOUBLE_EQ(phases.task_seconds(1), 6);
  EXPECT_DOUBLE_EQ(phases.seconds(Phase::Search, std::nullopt), 9);
  EXPECT_DOUBLE_EQ(phases.seconds(Phase::Run, 1), 1);
  EXPECT_DOUBLE_EQ(phases.seconds(Phase::Idle, 1), 3);
  EXPECT_DOUBLE_EQ(phases.seconds(Phase::Idle, std::nullopt), 0);
  EXPECT_DOUBLE_EQ(phases.seconds(Phase::Search), 27);
}

TEST(Budget, TrialsEndIt) {
  Budget budget({}, 2);
  EXPECT_TRUE(budget.allows_trial(1e9, 1e9));
  budget.spend_trial();
  EXPECT_DOUBLE_EQ(budget.progress(0), 0.5);
  budget.spend_trial();
  EXPECT_FALSE(budget.allows_trial(0));
  EXPECT_EQ(budget.trials_left(), 0);
  EXPECT_EQ(budget.seconds_left(5), std::nullopt);
}

TEST(Budget, TimeEndsItAndWhatIsReservedIsSpent) {
  Budget budget(10, {});
  EXPECT_TRUE(budget.allows_trial(8, 1));
  EXPECT_FALSE(budget.allows_trial(8, 3)) << "a trial that would end too late does not begin";
  budget.reserve(3);
  EXPECT_FALSE(budget.allows_trial(8));
  EXPECT_TRUE(budget.allows_seconds(8, 1)) << "the reserve is for this";
  EXPECT_DOUBLE_EQ(budget.progress(2), 0.5);
  EXPECT_DOUBLE_EQ(budget.seconds_left(12).value(), 0);
}

}  // namespace
}  // namespace temper::tune
