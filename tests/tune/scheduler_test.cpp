#include "temper/tune/scheduler.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace temper::tune {
namespace {

TaskProgress warm(double best_seconds, int count = 1) {
  TaskProgress task;
  task.best_seconds = best_seconds;
  task.count = count;
  task.trials = 100;
  return task;
}

TEST(Scheduler, ColdTasksComeFirstCostlyOnesBeforeOthers) {
  RandomStream random(1);
  std::vector<TaskProgress> tasks{warm(10), warm(1), warm(2)};
  tasks[0].window_seconds = 1000;  // much to gain, but not now
  tasks[1].trials = tasks[2].trials = 1;
  EXPECT_EQ(next_task(tasks, 16, random), 2U);
  tasks[1].count = 3;
  EXPECT_EQ(next_task(tasks, 16, random), 1U);
  tasks[1].open = false;
  EXPECT_EQ(next_task(tasks, 16, random), 2U);
}

TEST(Scheduler, NothingIsLeftWhenAllAreClosed) {
  RandomStream random(1);
  std::vector<TaskProgress> tasks{warm(1), warm(1)};
  tasks[0].open = tasks[1].open = false;
  EXPECT_FALSE(next_task(tasks, 16, random).has_value());
}

TEST(Scheduler, GainGrowsWithWhatItDependsOn) {
  const TaskProgress base = warm(1);
  TaskProgress frequent = base, gaining = base, tried = base;
  frequent.count = 2;
  gaining.window_seconds = 1.5;
  tried.trials = 1000;
  EXPECT_GT(expected_gain(frequent, 0), expected_gain(base, 0));
  EXPECT_GT(expected_gain(gaining, 0), expected_gain(base, 0));
  EXPECT_LT(expected_gain(tried, 0), expected_gain(base, 0));
}

TEST(Scheduler, ATaskNearTheBestThroughputHasLittleToGain) {
  TaskProgress near = warm(1), far = warm(1);
  near.flops = 100e9;
  far.flops = 10e9;
  EXPECT_LT(expected_gain(near, 100e9), expected_gain(far, 100e9));
  EXPECT_GT(expected_gain(near, 100e9), 0);
}

TEST(Scheduler, MostDecisionsTakeTheLargestGainAndSomeAnyTask) {
  RandomStream random(3);
  const std::array tasks{warm(1), warm(1, 10), warm(1)};
  int largest = 0;
  constexpr int kDecisions = 1000;
  for (int i = 0; i < kDecisions; ++i) largest += next_task(tasks, 16, random) == 1U ? 1 : 0;
  EXPECT_GT(largest, kDecisions * 9 / 10);
  EXPECT_LT(largest, kDecisions);
}

}  // namespace
}  // namespace temper::tune
