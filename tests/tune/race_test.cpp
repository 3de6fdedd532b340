// What the races at the end of a search decide.
#include <gtest/gtest.h>

#include "temper/tune/verdict.h"
#include "temper/tune/version.h"
#include "tune_fixture.h"

namespace temper::tune {
namespace {

using record::FailureKind;
using testing::Fate;
using testing::knob;
using testing::landscape;
using testing::sample_target;
using RaceTest = testing::TuneTest;

TEST_F(RaceTest, TheDefaultStaysUnlessItIsBeatenBeyondNoise) {
  use([](const record::CandidateRecord& c) {
    Fate fate{.seconds = 1e-3};
    if (knob(c, "m") == 4) fate.seconds = 0.994e-3;
    return fate;
  });
  const TaskReport task = run(options()).tasks.front();
  EXPECT_TRUE(task.default_kept);
  EXPECT_EQ(task.best_candidate, "tiled{m=1,n=1,k=1,bad=0}");
  EXPECT_DOUBLE_EQ(task.best_seconds, task.default_seconds);
}

TEST_F(RaceTest, AGainThatTheRaceDoesNotConfirmIsDropped) {
  use([](const record::CandidateRecord& c) {
    Fate fate{.seconds = 1e-3};
    if (knob(c, "m") == 4) fate = {.seconds = 0.5e-3, .race_seconds = 1.2e-3};
    if (knob(c, "m") == 2) fate = {.seconds = 0.8e-3};
    return fate;
  });
  Options all = options();
  all.trials = 1000;
  const TaskReport task = run(all).tasks.front();
  EXPECT_TRUE(hardware_->raced.contains("tiled{m=1,n=1,k=1,bad=0}")) << "the default takes part";
  EXPECT_GT(hardware_->races, 1) << "whoever moves up must race too";
  EXPECT_EQ(knob(record::CandidateRecord::parse(task.best_candidate), "m"), 2);
  EXPECT_GT(store_->record(task.record_id).measurement.repeats, 5) << "the race's times are kept";
}

TEST_F(RaceTest, ADisturbedBlockIsTakenAgain) {
  hardware_->spoiled_races = 2;
  const TaskReport task = run(options()).tasks.front();
  EXPECT_GE(store_->record(task.record_id).measurement.repeats, kSettledRepeats);
}

TEST_F(RaceTest, ADisturbedHeatIsNoReasonToLeaveTheFinalOut) {
  hardware_->run_seconds = 0.2;  // a long search, which has a heat
  hardware_->spoiled_races = 3;  // all its attempts
  Options all = options();
  all.trials = 1000;
  const TaskReport task = run(all).tasks.front();
  EXPECT_GE(store_->record(task.record_id).measurement.repeats, kSettledRepeats);
}

TEST_F(RaceTest, TheHeatOfALongSearchGivesTheUnluckyAChance) {
  use([](const record::CandidateRecord& c) {
    const std::int64_t rank = 100 * knob(c, "m") + 10 * knob(c, "n") + knob(c, "k");
    Fate fate{.seconds = 1e-3 + 1e-6 * static_cast<double>(rank)};
    if (rank == 141) fate.race_seconds = 0.5e-3;  // ninth when timed alone
    return fate;
  });
  Options all = options();
  all.trials = 1000;
  hardware_->run_seconds = 0.2;
  const TaskReport task = run(all).tasks.front();
  const record::CandidateRecord best = record::CandidateRecord::parse(task.best_candidate);
  EXPECT_EQ(knob(best, "n"), 4);
  EXPECT_DOUBLE_EQ(task.best_seconds, 0.5e-3);
}

TEST_F(RaceTest, AFinalEndsWhenEveryRacerIsDecided) {
  // Two are best, the first by 2%; what `swing` adds has them change places from block to block.
  const auto races = [&](double swing) {
    use([&](const record::CandidateRecord& c) {
      const std::int64_t tile = 100 * knob(c, "m") + 10 * knob(c, "n") + knob(c, "k");
      Fate fate{.seconds = tile == 444 ? 0.5e-3 : tile == 222 ? 0.51e-3 : 1e-3};
      if (tile == 444) fate.race_swing = swing;
      return fate;
    });
    store_ = store::open_in_memory();
    Options all = options();
    all.trials = 1000;
    hardware_->run_seconds = 0.2;
    run(all);
    return hardware_->races;
  };
  const int decided = races(0), undecided = races(0.1);
  EXPECT_GT(undecided, decided) << "more blocks may show which is the faster";
  EXPECT_GE(decided, 1 + 8) << "a heat, and as many blocks as a verdict takes";
}

TEST_F(RaceTest, ADefaultWithoutATrustworthyTimeGetsOneInTheRace) {
  use([](const record::CandidateRecord& c) {
    Fate fate = landscape(c);
    if (knob(c, "m") * knob(c, "n") * knob(c, "k") == 1) fate.run_failure = FailureKind::Unstable;
    return fate;
  });
  const TaskReport task = run(options()).tasks.front();
  EXPECT_GT(task.default_seconds, 0);
  EXPECT_FALSE(task.default_kept);
}

TEST_F(RaceTest, ADefaultWithoutATrustworthyTimeIsMeasuredAgainWhenTakenUp) {
  // Killed before the race: what is stored of the default is that its time was unstable.
  record::Record unstable;
  unstable.task = task_.key;
  unstable.target = target::fingerprint(sample_target());
  unstable.definition_hash = task_.definition_hash;
  unstable.temper_version = version();
  unstable.strategy = kDefaultOrigin;
  unstable.candidate = {"tiled", {{"m", 1}, {"n", 1}, {"k", 1}, {"bad", 0}}};
  unstable.measurement.failure = FailureKind::Unstable;
  record::Record other = unstable;
  other.strategy = "random";
  other.candidate = {"tiled", {{"m", 2}, {"n", 1}, {"k", 1}, {"bad", 0}}};
  store_->append(std::vector{unstable, other});
  Options one = options();
  one.trials = 1;
  const TaskReport report = run(one).tasks.front();
  EXPECT_EQ(hardware_->measured, std::vector<std::string>{unstable.candidate.text()});
  EXPECT_GT(report.default_seconds, 0);
  EXPECT_EQ(report.resumed, 1) << "the other one stays what it is";
  const std::vector<record::Record> records = stored();
  ASSERT_EQ(records.size(), 2U);
  for (const record::Record& record : records) {
    if (record.candidate != unstable.candidate) continue;
    EXPECT_TRUE(record.measurement.ok());
    EXPECT_TRUE(store_->record(record.id).trace) << "the default can be replayed";
  }
}

}  // namespace
}  // namespace temper::tune
