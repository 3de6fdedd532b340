// What a call may spend, on the whole and on each task; where its time went; which task it went to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "temper/support/hash.h"
#include "tune_fixture.h"

namespace temper::tune {
namespace {

using testing::kSampleCandidates;
using testing::sample_task;

class BudgetTest : public testing::TuneTest {};

TEST_F(BudgetTest, ATimeBudgetIsKeptWithinOneMeasurement) {
  Options timed = options();
  timed.trials.reset();
  timed.budget_seconds = 0.9;
  const Report report = run(timed);
  EXPECT_GT(report.trials, 5);
  EXPECT_LT(report.trials, kSampleCandidates);
  EXPECT_LE(report.wall_seconds, 0.9 + 0.05);
  EXPECT_GE(hardware_->races, 1) << "the race's time is put aside";
}

TEST_F(BudgetTest, WhatRacesLeaveOfTheBudgetIsSearchedToo) {
  Options timed = options();
  timed.trials.reset();
  timed.budget_seconds = 1.5;
  hardware_->race_cost = 0.001;  // much less than is put aside
  run(timed);
  EXPECT_GT(clock_.seconds(), 1.4);
  EXPECT_LE(clock_.seconds(), 1.5 + 0.03);
}

TEST_F(BudgetTest, WhatACutBatchLeavesComesFirstWhenTheSearchGoesOn) {
  class Counting : public search::Strategy {
   public:
    Counting(const search::StrategyContext& context, std::size_t& asked)
        : random_(search::make_strategy("random", context)), asked_(&asked) {}
    std::vector<search::Candidate> ask(int count) override {
      std::vector<search::Candidate> candidates = random_->ask(count);
      *asked_ += candidates.size();
      return candidates;
    }
    void tell(std::span<const search::Told> results) override { random_->tell(results); }

   private:
    std::unique_ptr<search::Strategy> random_;
    std::size_t* asked_;
  };
  std::size_t asked = 0;
  Options timed = options();
  timed.trials.reset();
  timed.budget_seconds = 1.5;
  timed.make_strategy = [&](const search::StrategyContext& context) {
    return std::make_unique<Counting>(context, asked);
  };
  hardware_->race_cost = 0.001;  // much less than is put aside: the search goes on several times
  run(timed);
  EXPECT_LE(asked + 1 - hardware_->measured.size(), static_cast<std::size_t>(timed.batch)) << "the last batch alone";
}

TEST_F(BudgetTest, TheFirstOfTwoBudgetsEnds) {
  Options both = options();
  both.trials = 5;
  both.budget_seconds = 1000;
  EXPECT_EQ(run(both).trials, 5);
  both.store = nullptr;
  both.trials = 1000;
  both.budget_seconds = 0.3;
  EXPECT_LT(run(both).trials, 20);
}

TEST_F(BudgetTest, PhasesAreExclusiveAndAddUp) {
  hardware_->idle_per_run = 0.005;
  const Report report = run(options());
  const PhaseSeconds& phases = report.phases;
  EXPECT_NEAR(phases.total(), report.wall_seconds, 1e-9);
  EXPECT_NEAR(phases.build, hardware_->builds * 0.01, 1e-9);
  EXPECT_NEAR(phases.run, 24 * 0.02 + hardware_->races * 0.05, 1e-9);
  EXPECT_NEAR(phases.idle, 24 * 0.005, 1e-9);
}

TEST_F(BudgetTest, TimesOfTasksAndWhatTheyShareAddUp) {
  hardware_->idle_per_run = 0.005;
  const std::vector<Task> tasks{sample_task("rare", 1), sample_task("common", 50)};
  const Report report = tune(tasks, options());
  double sum = report.shared.total();
  for (const TaskReport& task : report.tasks) {
    // A default and candidates; the races' part depends on who raced how often.
    EXPECT_NEAR(task.phases.idle, static_cast<double>(task.trials) * 0.005, 1e-9);
    EXPECT_GE(task.phases.run + 1e-9, static_cast<double>(task.trials) * 0.02);
    sum += task.phases.total();
  }
  EXPECT_NEAR(sum, report.wall_seconds, 1e-9);
  EXPECT_NEAR(report.phases.total(), report.wall_seconds, 1e-9);
}

TEST_F(BudgetTest, ALongMeasurementEndsItsBudgetAndNoOtherBegins) {
  Options timed = options();
  timed.trials.reset();
  timed.budget_seconds = 1.0;
  const double longest = 5;
  hardware_->before_run = [&] {
    if (hardware_->measured.size() == 6) clock_.advance(std::chrono::seconds(5));
  };
  const Report report = run(timed);
  EXPECT_EQ(hardware_->measured.size(), 7U) << "what had begun is kept";
  EXPECT_LE(report.wall_seconds, 1.0 + longest + 0.05);
  EXPECT_EQ(hardware_->races, 0);
}

TEST_F(BudgetTest, EachTaskHasItsTrials) {
  const std::vector<Task> tasks{sample_task("rare", 1), sample_task("common", 50)};
  Options each = options();
  each.trials.reset();
  each.trials_per_task = 10;
  std::int64_t least_left = 100;
  each.progress = [&](const Event& event) { least_left = std::min(least_left, event.trials_left.value_or(-1)); };
  const Report report = tune(tasks, each);
  EXPECT_EQ(report.tasks[0].trials, 10);
  EXPECT_EQ(report.tasks[1].trials, 10);
  EXPECT_EQ(least_left, 0);
  // And the whole may end first.
  each.store = nullptr;
  each.trials = 7;
  EXPECT_EQ(tune(tasks, each).trials, 7);
}

TEST_F(BudgetTest, EachTaskHasItsTimeRacesIncluded) {
  const std::vector<Task> tasks{sample_task("rare", 1), sample_task("common", 50)};
  Options each = options();
  each.trials.reset();
  each.budget_seconds_per_task = 0.9;
  const Report report = tune(tasks, each);
  for (const TaskReport& task : report.tasks) {
    EXPECT_GT(task.trials, 5);
    EXPECT_LT(task.trials, kSampleCandidates);
    EXPECT_LE(task.phases.total(), 0.9 + 0.05);
  }
  EXPECT_GE(hardware_->races, 2);
}

/// Hears how much is spent and asks for candidates in plain order.
class Listening : public search::Strategy {
 public:
  Listening(const search::StrategyContext& context, std::vector<double>& heard)
      : inner_(search::make_strategy("grid", context)), heard_(&heard) {}
  std::vector<search::Candidate> ask(int count) override { return inner_->ask(count); }
  void tell(std::span<const search::Told> results) override { inner_->tell(results); }
  void set_progress(double fraction) override { heard_->push_back(fraction); }

 private:
  std::unique_ptr<search::Strategy> inner_;
  std::vector<double>* heard_;
};

TEST_F(BudgetTest, StrategiesHearHowMuchIsSpentOfWhicheverEndsFirst) {
  std::vector<double> heard;
  Options told = options();
  told.batch = 5;
  told.make_strategy = [&](const search::StrategyContext& context) {
    return std::make_unique<Listening>(context, heard);
  };
  told.trials = 21;
  told.trials_per_task = 1000;
  run(told);
  EXPECT_THAT(heard, ::testing::ElementsAre(::testing::DoubleEq(1.0 / 21), ::testing::DoubleEq(6.0 / 21),
                                            ::testing::DoubleEq(11.0 / 21), ::testing::DoubleEq(16.0 / 21)));
  heard.clear();
  told.store = nullptr;
  told.trials = 1000;
  told.trials_per_task = 11;
  run(told);
  EXPECT_THAT(heard, ::testing::ElementsAre(::testing::DoubleEq(1.0 / 11), ::testing::DoubleEq(6.0 / 11)));
}

TEST_F(BudgetTest, NothingIsBuiltThatTheBudgetCannotMeasure) {
  Options sampled = options();
  sampled.measure_random = true;
  sampled.trials = 6;
  EXPECT_EQ(run(sampled).trials, 6);
  EXPECT_EQ(hardware_->builds, 6);
}

TEST_F(BudgetTest, AModelSpendsItsTrialsWhereTheTimeIs) {
  const std::vector<Task> tasks{sample_task("rare", 1), sample_task("common", 50)};
  Options both = options();
  both.trials = 48;
  const Report report = tune(tasks, both);
  EXPECT_EQ(report.tasks[0].trials + report.tasks[1].trials, 48);
  EXPECT_GE(report.tasks[0].trials, 8) << "each task gets a first batch";
  EXPECT_GT(report.tasks[1].trials, report.tasks[0].trials);
}

TEST_F(BudgetTest, InTurnEveryTaskGetsAsMuch) {
  const std::vector<Task> tasks{sample_task("rare", 1), sample_task("common", 50)};
  Options both = options();
  both.trials = 50;
  both.scheduler = Scheduler::RoundRobin;
  const Report report = tune(tasks, both);
  EXPECT_EQ(report.tasks[0].trials, 25);
  EXPECT_EQ(report.tasks[1].trials, 25);
}

TEST_F(BudgetTest, ChoosingByGainBeatsTurnsInTheSameTime) {
  const std::vector<Task> tasks{sample_task("rare", 1), sample_task("common", 20), sample_task("seldom", 2)};
  const auto model_seconds = [&](Scheduler scheduler) {
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      Options timed = options();
      timed.store = nullptr;
      timed.trials.reset();
      timed.budget_seconds = 2.5;
      timed.batch = 4;
      timed.seed = seed;
      timed.scheduler = scheduler;
      timed.strategy = "random";  // what is found depends on how many are tried, and on nothing else
      for (const TaskReport& task : tune(tasks, timed).tasks) sum += task.best_seconds * task.count;
    }
    return sum;
  };
  EXPECT_LT(model_seconds(Scheduler::Gain), model_seconds(Scheduler::RoundRobin));
}

TEST_F(BudgetTest, ATaskHearsOfWinnersThatWereFoundAfterItBegan) {
  // The second task's own strategy never leaves the first corner: its winner can come from the first task alone.
  const Task similar = make_task("product", {{"m", "8"}, {"epilogue", "none"}}, testing::product(8, 8, 8), 1, 50);
  const std::vector<Task> tasks{sample_task("product", 1, 8), similar};
  Options both = options();
  both.trials = 120;
  both.scheduler = Scheduler::RoundRobin;
  both.make_strategy = [](const search::StrategyContext& context) {
    search::StrategyContext own = context;
    own.options = {};
    const bool first = context.seed == hash_combine(0, hash_text(sample_task("product", 1, 8).key.text()));
    if (!first) own.options["lexicographic"] = 1;
    return search::make_strategy(first ? "evolutionary" : "grid", own);
  };
  std::vector<std::string> tried;
  std::string winner;
  std::int64_t trials_then = 0;
  both.progress = [&](const Event& event) {
    if (event.kind != Event::Kind::Trial) return;
    if (event.task == 0 && event.best_seconds == 1e-3 && winner.empty()) {
      winner = event.trial->candidate;
      trials_then = static_cast<std::int64_t>(tried.size());
    }
    if (event.task == 1) tried.push_back(event.trial->candidate);
  };
  tune(tasks, both);
  ASSERT_FALSE(winner.empty());
  EXPECT_GT(trials_then, 8) << "the second task had begun, or this shows nothing";
  const auto found = std::ranges::find(tried, winner);
  ASSERT_NE(found, tried.end());
  EXPECT_LE(found - tried.begin(), 2 * trials_then + both.batch);
}

}  // namespace
}  // namespace temper::tune
