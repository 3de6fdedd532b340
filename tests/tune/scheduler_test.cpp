#include "temper/tune/scheduler.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "temper/support/error.h"

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
  EXPECT_EQ(next_task(Scheduler::Gain, tasks, 16, random), 2U);
  tasks[1].count = 3;
  EXPECT_EQ(next_task(Scheduler::Gain, tasks, 16, random), 1U);
  tasks[1].open = false;
  EXPECT_EQ(next_task(Scheduler::Gain, tasks, 16, random), 2U);
}

TEST(Scheduler, TheFirstTrialsAreFew) {
  TaskProgress task = warm(1);
  task.trials = 1;  // the default
  EXPECT_EQ(trials_at_once(Scheduler::Gain, task, 16), kFirstTrials - 1);
  EXPECT_EQ(trials_at_once(Scheduler::Gain, task, 5), 5);
  EXPECT_EQ(trials_at_once(Scheduler::RoundRobin, task, 16), 16);
  task.trials = 6;
  EXPECT_EQ(trials_at_once(Scheduler::Gain, task, 16), kFirstTrials - 6) << "of a run that was stopped";
  EXPECT_EQ(trials_at_once(Scheduler::Gain, task, 5), 5);
  task.trials = kFirstTrials;
  EXPECT_EQ(trials_at_once(Scheduler::Gain, task, 16), 16);
}

TEST(Scheduler, ATaskTooSmallToMatterNeedsNoFirstBatch) {
  RandomStream random(1);
  std::vector<TaskProgress> tasks{warm(1), warm(1e-3)};
  tasks[1].trials = 1;
  tasks[1].window_seconds = 0;
  EXPECT_EQ(next_task(Scheduler::Gain, tasks, 16, random), 0U);
  tasks[1].count = 100;  // a hundred places make it a tenth of the model
  EXPECT_EQ(next_task(Scheduler::Gain, tasks, 16, random), 1U);
}

TEST(Scheduler, ASmallTaskThatGainsNoMoreIsLeftAlone) {
  RandomStream random(1);
  std::vector<TaskProgress> tasks{warm(1), warm(1e-3)};
  tasks[0].open = false;
  tasks[1].fruitless = kGainWindow - 1;
  EXPECT_EQ(next_task(Scheduler::Gain, tasks, 16, random), 1U);
  tasks[1].fruitless = kGainWindow;
  EXPECT_FALSE(next_task(Scheduler::Gain, tasks, 16, random).has_value());
  EXPECT_EQ(next_task(Scheduler::RoundRobin, tasks, 16, random), 1U) << "in turn means every open task";
}

TEST(Scheduler, GainIsForEachSecondAndNotForEachTrial) {
  RandomStream random(1);
  std::vector<TaskProgress> tasks{warm(1), warm(1, 2)};
  tasks[0].trial_seconds = 0.1;
  tasks[1].trial_seconds = 0.5;  // twice the gain of a trial, at five times its cost
  int first = 0;
  constexpr int kDecisions = 100;
  for (int i = 0; i < kDecisions; ++i) first += next_task(Scheduler::Gain, tasks, 16, random) == 0U ? 1 : 0;
  EXPECT_GT(first, kDecisions * 9 / 10);
  tasks[0].trial_seconds = tasks[1].trial_seconds = 0.5;
  first = 0;
  for (int i = 0; i < kDecisions; ++i) first += next_task(Scheduler::Gain, tasks, 16, random) == 0U ? 1 : 0;
  EXPECT_LT(first, kDecisions / 10);
}

TEST(Scheduler, AnUntimedTaskIsTakenToCostWhatTheOthersDo) {
  RandomStream random(1);
  std::vector<TaskProgress> tasks{warm(1), warm(1, 2), warm(1)};
  tasks[0].trial_seconds = tasks[2].trial_seconds = 0.01;  // one second for a trial of the other would make it last
  int untimed = 0;
  constexpr int kDecisions = 100;
  for (int i = 0; i < kDecisions; ++i) untimed += next_task(Scheduler::Gain, tasks, 16, random) == 1U ? 1 : 0;
  EXPECT_GT(untimed, kDecisions * 9 / 10);
}

TEST(Scheduler, RoundRobinTakesTheOneWithTheFewestTrials) {
  RandomStream random(1);
  std::vector<TaskProgress> tasks{warm(1, 100), warm(1), warm(1)};
  std::vector<std::size_t> order;
  for (int i = 0; i < 6; ++i) {
    order.push_back(*next_task(Scheduler::RoundRobin, tasks, 16, random));
    tasks[order.back()].measured += 16;
  }
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 0, 1, 2}));
  tasks[0].open = false;
  EXPECT_EQ(next_task(Scheduler::RoundRobin, tasks, 16, random), 1U);
}

TEST(Scheduler, NamesAreReadAndWrongOnesExplained) {
  for (const Scheduler scheduler : {Scheduler::Gain, Scheduler::RoundRobin})
    EXPECT_EQ(parse_scheduler(to_string(scheduler)), scheduler);
  EXPECT_THROW(parse_scheduler("fair"), Error);
}

TEST(Scheduler, NothingIsLeftWhenAllAreClosed) {
  RandomStream random(1);
  std::vector<TaskProgress> tasks{warm(1), warm(1)};
  tasks[0].open = tasks[1].open = false;
  EXPECT_FALSE(next_task(Scheduler::Gain, tasks, 16, random).has_value());
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
  for (int i = 0; i < kDecisions; ++i) largest += next_task(Scheduler::Gain, tasks, 16, random) == 1U ? 1 : 0;
  EXPECT_GT(largest, kDecisions * 9 / 10);
  EXPECT_LT(largest, kDecisions);
}

}  // namespace
}  // namespace temper::tune
