#include "temper/tune/tune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>

#include "temper/support/error.h"
#include "temper/tune/lookup.h"
#include "temper/tune/task_space.h"
#include "temper/tune/verdict.h"
#include "temper/tune/version.h"
#include "tune_fixture.h"

namespace temper::tune {
namespace {

using record::FailureKind;
using testing::FakeHardware;
using testing::Fate;
using testing::knob;
using testing::kSampleCandidates;
using testing::landscape;
using testing::sample_target;
using testing::sample_task;
using testing::sample_templates;
using testing::TuneTest;

TEST_F(TuneTest, FindsTheBestAndReportsIt) {
  const Report report = run(options());
  ASSERT_EQ(report.tasks.size(), 1U);
  const TaskReport& task = report.tasks.front();
  EXPECT_EQ(task.error, "");
  EXPECT_EQ(task.key, task_.key.text());
  EXPECT_EQ(task.trials, 24);
  EXPECT_EQ(report.trials, 24);
  EXPECT_EQ(task.valid_candidates, static_cast<std::uint64_t>(kSampleCandidates));
  EXPECT_DOUBLE_EQ(task.default_seconds, landscape({"tiled", {{"m", 1}, {"n", 1}, {"k", 1}}}).seconds);
  EXPECT_LT(task.best_seconds, task.default_seconds);
  EXPECT_FALSE(task.default_kept);
  EXPECT_DOUBLE_EQ(task.gflops, task_.flops / task.best_seconds * 1e-9);
  EXPECT_DOUBLE_EQ(landscape(record::CandidateRecord::parse(task.best_candidate)).seconds, task.best_seconds);
  EXPECT_EQ(store_->record(task.record_id).candidate.text(), task.best_candidate);
  EXPECT_FALSE(report.cancelled);
}

TEST_F(TuneTest, TheDefaultIsMeasuredFirstAndEverythingIsCompared) {
  run(options());
  EXPECT_EQ(hardware_->measured.front(), "tiled{m=1,n=1,k=1,bad=0}");
  EXPECT_TRUE(hardware_->compared_everything);
  EXPECT_EQ(hardware_->outputs_returned, 1);
  for (const record::Record& record : stored()) {
    EXPECT_EQ(record.strategy == kDefaultOrigin, record.candidate.text() == "tiled{m=1,n=1,k=1,bad=0}");
    EXPECT_EQ(record.temper_version, version());
    EXPECT_EQ(record.definition_hash, task_.definition_hash);
  }
}

TEST_F(TuneTest, MeasuresNothingTwice) {
  run(options());
  const std::vector<std::string> first = hardware_->measured;
  EXPECT_EQ(std::set(first.begin(), first.end()).size(), first.size());
  hardware_->measured.clear();
  const Report report = run(options());
  EXPECT_EQ(report.tasks.front().resumed, 24);
  for (const std::string& candidate : hardware_->measured)
    EXPECT_THAT(first, ::testing::Not(::testing::Contains(candidate)));
  EXPECT_EQ(hardware_->measured.size(), 24U);
  EXPECT_EQ(stored().size(), 48U);
  EXPECT_TRUE(hardware_->compared_everything) << "a task that is taken up again must verify too";
}

/// Candidates of the alternative are faster; `error` is how far they are from the reference.
testing::Table with_alternative(double error) {
  return [error](const record::CandidateRecord& c) {
    Fate fate = landscape(c);
    if (algorithm_of(c.design).empty()) return fate;
    fate.seconds /= 10;
    fate.max_error = error;
    return fate;
  };
}

TEST_F(TuneTest, AnAlternativeBeyondTheErrorThatIsAllowedIsRecordedAndNeverTheBest) {
  task_.alternatives.push_back({"swapped", testing::product(8, 8, 8)});
  use(with_alternative(2e-5));
  Options strict = options();
  strict.trials = 80;
  strict.max_error = 1e-5;
  const Report report = run(strict);
  const TaskReport& task = report.tasks.front();
  EXPECT_EQ(algorithm_of(record::CandidateRecord::parse(task.best_candidate).design), "");
  EXPECT_GT(task.failures.at("max_error"), 0);
  EXPECT_EQ(task.failure_reason,
            "it differs from the reference by 2e-05 of the largest output; other algorithms may differ by 1e-05");
  for (const std::string& raced : hardware_->raced)
    EXPECT_EQ(algorithm_of(record::CandidateRecord::parse(raced).design), "");
  int beyond = 0;
  for (const record::Record& record : stored()) {
    if (algorithm_of(record.candidate.design).empty()) continue;
    EXPECT_TRUE(record.measurement.ok());
    EXPECT_EQ(record.measurement.max_error, 2e-5);
    ++beyond;
  }
  EXPECT_EQ(beyond, task.failures.at("max_error"));
  // The same records serve a user who allows more, without a trial.
  Options loose = options();
  loose.trials = 1;
  const Report later = run(loose);
  EXPECT_EQ(algorithm_of(record::CandidateRecord::parse(later.tasks.front().best_candidate).design), "swapped");
  EXPECT_EQ(algorithm_of(best(*store_, task_, sample_target())->candidate.design), "swapped");
  EXPECT_EQ(algorithm_of(best(*store_, task_, sample_target(), 1e-5)->candidate.design), "");
  // And back: what was found under the looser limit does not win under the stricter one.
  EXPECT_EQ(algorithm_of(record::CandidateRecord::parse(run(strict).tasks.front().best_candidate).design), "");
}

TEST_F(TuneTest, NoErrorAllowedMeansNoAlternativeTried) {
  task_.alternatives.push_back({"swapped", testing::product(8, 8, 8)});
  use(with_alternative(0));
  Options none = options();
  none.max_error = 0;
  none.trials = 1000;
  const Report report = run(none);
  EXPECT_EQ(report.tasks.front().valid_candidates, static_cast<std::uint64_t>(kSampleCandidates));
  EXPECT_EQ(report.trials, kSampleCandidates);
  Options some = options();
  some.max_error = 1e-12;
  EXPECT_EQ(run(some).tasks.front().valid_candidates, 2U * kSampleCandidates) << "designs of all definitions count";
}

TEST_F(TuneTest, EndsWhenTheSpaceIsExhausted) {
  Options all = options();
  all.trials = 1000;
  const Report report = run(all);
  EXPECT_EQ(report.trials, kSampleCandidates);
  EXPECT_DOUBLE_EQ(report.tasks.front().best_seconds, 1e-3);
  const Report again = run(all);
  EXPECT_EQ(again.trials, 0);
  EXPECT_EQ(again.tasks.front().best_candidate, report.tasks.front().best_candidate);
}

TEST_F(TuneTest, SameSeedAndTimesGiveTheSameCandidates) {
  Options without_store = options();
  without_store.store = nullptr;
  run(without_store);
  const std::vector<std::string> first = hardware_->measured;
  hardware_->measured.clear();
  run(without_store);
  EXPECT_EQ(hardware_->measured, first);
  hardware_->measured.clear();
  without_store.strategy = "random";
  run(without_store);
  const std::vector<std::string> random = std::exchange(hardware_->measured, {});
  without_store.seed = 7;
  run(without_store);
  EXPECT_NE(hardware_->measured, random);
}

TEST_F(TuneTest, SaysWhatTheModelSawAndHowOftenItWasRight) {
  const Report report = run(options());
  const cost::ScorerCounts& counts = report.tasks.front().model;
  EXPECT_EQ(counts.measured, report.trials);
  EXPECT_GT(counts.seen, counts.measured);
  EXPECT_GT(counts.pairs, 0);
  EXPECT_LE(counts.right, counts.pairs);
  Options unknown = options();
  unknown.models.learner = "oracle";
  EXPECT_THROW(run(unknown), Error);
}

TEST_F(TuneTest, ANetworkMayLearnInsteadOfTrees) {
  Options network = options();
  network.models.learner = "mlp";
  EXPECT_EQ(run(network).trials, 24);
}

TEST_F(TuneTest, AStopKeepsWhatWasMeasured) {
  Options stopping = options();
  hardware_->before_run = [&] {
    if (hardware_->measured.size() == 10) stopping.cancellation.request();
  };
  const Report report = run(stopping);
  EXPECT_TRUE(report.cancelled);
  EXPECT_EQ(report.trials, 11);
  EXPECT_EQ(stored().size(), 11U);
  EXPECT_EQ(hardware_->races, 0);
  EXPECT_GT(report.tasks.front().best_seconds, 0);
}

TEST_F(TuneTest, AMeasurementCutShortByAStopIsNoResult) {
  Options stopping = options();
  hardware_->before_run = [&] {
    if (hardware_->measured.size() == 10) throw Error(ErrorCode::Cancelled, "stopped");
  };
  const Report report = run(stopping);
  EXPECT_TRUE(report.cancelled);
  EXPECT_EQ(report.trials, 10);
  EXPECT_EQ(stored().size(), 10U);
}

TEST_F(TuneTest, ABrokenHardwareTestLosesNothing) {
  hardware_->before_run = [&] {
    if (hardware_->measured.size() == 10) throw Error(ErrorCode::Io, "no runner starts");
  };
  EXPECT_THROW(run(options()), Error);
  EXPECT_EQ(stored().size(), 10U);
}

TEST_F(TuneTest, AListenerThatThrowsLosesNothing) {
  Options heard = options();
  heard.progress = [&](const Event& event) {
    if (event.kind == Event::Kind::Trial && hardware_->measured.size() == 10) throw std::runtime_error("no paper");
  };
  EXPECT_THROW(run(heard), std::runtime_error);
  EXPECT_EQ(stored().size(), 10U);
}

TEST_F(TuneTest, WhatWasMeasuredIsStoredBeforeAnyoneLearnsFromIt) {
  class Dull : public search::Strategy {
   public:
    explicit Dull(const search::StrategyContext& context) : random_(search::make_strategy("random", context)) {}
    std::vector<search::Candidate> ask(int count) override { return random_->ask(count); }
    void tell(std::span<const search::Told> results) override {
      told_ += results.size();
      if (told_ > 1) throw Error(ErrorCode::Internal, "it cannot learn");
    }

   private:
    std::unique_ptr<search::Strategy> random_;
    std::size_t told_ = 0;
  };
  Options dull = options();
  dull.make_strategy = [](const search::StrategyContext& context) { return std::make_unique<Dull>(context); };
  const Report report = run(dull);
  EXPECT_THAT(report.tasks.front().error, ::testing::HasSubstr("it cannot learn"));
  EXPECT_EQ(stored().size(), 1U + 8U) << "the default and a batch";
}

TEST_F(TuneTest, NobodyTimesWhileCandidatesAreSearched) {
  class Watched : public search::Strategy {
   public:
    Watched(const search::StrategyContext& context, const FakeHardware& hardware)
        : inner_(search::make_strategy("random", context)), hardware_(&hardware) {}
    std::vector<search::Candidate> ask(int count) override {
      EXPECT_TRUE(hardware_->busy);
      return inner_->ask(count);
    }
    void tell(std::span<const search::Told> results) override { inner_->tell(results); }

   private:
    std::unique_ptr<search::Strategy> inner_;
    const FakeHardware* hardware_;
  };
  Options watched = options();
  watched.make_strategy = [&](const search::StrategyContext& context) {
    return std::make_unique<Watched>(context, *hardware_);
  };
  hardware_->idle_per_search = 0.25;
  const Report report = run(watched);
  EXPECT_GT(report.phases.idle, 0.25);
  EXPECT_NEAR(report.phases.search, 0, 1e-9) << "what was waited is no search";
  EXPECT_NEAR(report.phases.total(), report.wall_seconds, 1e-9);
}

TEST_F(TuneTest, TheHardwareTestHearsTheBestTimeWithTheTask) {
  const Report first = run(options());
  Options on = options();
  on.trials = 4;
  run(on);
  EXPECT_EQ(hardware_->best_told.front(), std::nullopt);
  ASSERT_TRUE(hardware_->best_told.back().has_value());
  EXPECT_DOUBLE_EQ(*hardware_->best_told.back(), first.tasks.front().best_seconds);
}

TEST_F(TuneTest, FailuresAreStoredCountedAndNeverBest) {
  use([](const record::CandidateRecord& c) {
    Fate fate = landscape(c);
    if (knob(c, "m") == 2) fate.build_failure = FailureKind::CompileTimeout;
    if (knob(c, "m") == 4) fate.run_failure = FailureKind::Crash;
    return fate;
  });
  Options all = options();
  all.trials = 1000;
  const Report report = run(all);
  const TaskReport& task = report.tasks.front();
  EXPECT_EQ(task.failures.at("compile_timeout"), 16);
  EXPECT_EQ(task.failures.at("crash"), 16);
  EXPECT_EQ(report.trials, kSampleCandidates);
  int crashes = 0;
  for (const record::Record& record : stored()) {
    if (record.measurement.failure != FailureKind::Crash) continue;
    ++crashes;
    EXPECT_EQ(record.measurement.reason, "failed on purpose");
  }
  EXPECT_EQ(crashes, 16);
  EXPECT_NE(knob(record::CandidateRecord::parse(task.best_candidate), "m"), 4);
}

TEST_F(TuneTest, RefusedSchedulesAreDataButCostNoTrial) {
  templates_ = sample_templates({0, 1});
  Options all = options();
  all.strategy = "random";
  all.trials = 1000;
  const Report report = run(all);
  EXPECT_EQ(report.trials, kSampleCandidates);
  EXPECT_EQ(report.tasks.front().failures.at("invalid_schedule"), kSampleCandidates);
  EXPECT_EQ(stored().size(), 2U * kSampleCandidates);
}

TEST_F(TuneTest, WrongNumbersNeverBecomeWhatIsExpected) {
  use([](const record::CandidateRecord& c) {
    Fate fate = landscape(c);
    fate.wrong_output = knob(c, "m") == 1;  // the default among them
    return fate;
  });
  const Report report = run(options());
  const TaskReport& task = report.tasks.front();
  EXPECT_GE(task.failures.at("wrong_result"), 1);
  EXPECT_EQ(task.default_seconds, 0);
  EXPECT_GT(task.best_seconds, 0);
  EXPECT_TRUE(hardware_->compared_everything);
}

TEST_F(TuneTest, RecordsOfAnotherVersionAreProposedButMeasuredAgain) {
  record::Record old;
  old.task = task_.key;
  old.target = target::fingerprint(sample_target());
  old.definition_hash = task_.definition_hash;
  old.temper_version = "0.0.1";
  old.candidate = {"tiled", {{"m", 8}, {"n", 2}, {"k", 8}, {"bad", 0}}};
  old.measurement.min_seconds = old.measurement.median_seconds = 1e-9;
  store_->append(std::span(&old, 1));
  Options few = options();
  few.trials = 4;
  const Report report = run(few);
  EXPECT_THAT(hardware_->measured, ::testing::Contains(old.candidate.text()));
  EXPECT_NE(report.tasks.front().best_seconds, 1e-9);
  EXPECT_EQ(report.tasks.front().resumed, 0);
}

TEST_F(TuneTest, WinnersOfSimilarTasksAreTriedEarly) {
  Options all = options();
  all.trials = 1000;
  const std::string winner = run(all).tasks.front().best_candidate;
  const Task similar = sample_task("product", 1, 16);
  hardware_ = std::make_unique<FakeHardware>(similar.compute, landscape);
  Options few = options();
  few.strategy = "random";
  few.trials = 3;
  tune(std::span(&similar, 1), few);
  EXPECT_EQ(hardware_->measured.at(1), winner);
  const Task another = sample_task("product", 1, 24);
  hardware_ = std::make_unique<FakeHardware>(another.compute, landscape);
  few = options();
  few.strategy = "random";
  few.trials = 3;
  few.transfer = false;
  tune(std::span(&another, 1), few);
  EXPECT_NE(hardware_->measured.at(1), winner);
}

TEST_F(TuneTest, SamplesForTheMedianAreTrialsToo) {
  Options sampled = options();
  sampled.measure_random = true;
  const Report report = run(sampled);
  EXPECT_EQ(report.trials, 24);
  ASSERT_TRUE(report.tasks.front().median_random_seconds.has_value());
  const std::int64_t samples = std::ranges::count(stored(), kSampleOrigin, &record::Record::strategy);
  EXPECT_GT(samples, kRandomSample / 2);
  const Report again = run(sampled);
  EXPECT_EQ(again.tasks.front().median_random_seconds, report.tasks.front().median_random_seconds);
  EXPECT_EQ(std::ranges::count(stored(), kSampleOrigin, &record::Record::strategy), samples);
}

TEST_F(TuneTest, PatienceEndsATaskThatGainsNothing) {
  use([](const record::CandidateRecord&) { return Fate{.seconds = 1e-3}; });
  Options patient = options();
  patient.trials = 1000;
  patient.patience = 10;
  const Report report = run(patient);
  EXPECT_GE(report.trials, 10);
  EXPECT_LE(report.trials, 10 + patient.batch + 1);
}

TEST_F(TuneTest, WrongOptionsAreRefusedBeforeAnythingRuns) {
  const auto refused = [&](auto change, const std::string& text) {
    Options wrong = options();
    change(wrong);
    try {
      run(wrong);
      ADD_FAILURE() << "not refused: " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
      EXPECT_THAT(error.what(), ::testing::HasSubstr(text));
    }
  };
  refused([](Options& o) { o.strategy = "guess"; }, "there is no strategy 'guess'");
  refused([](Options& o) { o.strategy_options = {{"populaton", 3}}; }, "populaton");
  refused([](Options& o) { o.trials = 0; }, "at least one trial");
  refused([](Options& o) { o.budget_seconds = -1; }, "budget");
  refused([](Options& o) { o.budget_seconds_per_task = 0; }, "budget of a task");
  refused([](Options& o) { o.trials_per_task = 0; }, "for each task");
  refused([](Options& o) { o.stall_seconds = -1; }, "stall");
  refused([](Options& o) { o.batch = 0; }, "batch");
  EXPECT_TRUE(hardware_->measured.empty());
}

TEST_F(TuneTest, ATaskWithoutATemplateDoesNotStopTheOthers) {
  std::vector<space::Template> narrow = templates_;
  narrow.front().applies = [](const ir::Compute& compute, const target::Target&) {
    return compute.outputs.front()->shape()[0] == 8;
  };
  const std::vector<Task> tasks{sample_task("wide", 1, 4), sample_task()};
  Options both = options();
  both.templates = narrow;
  const Report report = tune(tasks, both);
  EXPECT_THAT(report.tasks[0].error, ::testing::HasSubstr("no template"));
  EXPECT_EQ(report.tasks[0].trials, 0);
  EXPECT_EQ(report.tasks[1].error, "");
  EXPECT_EQ(report.tasks[1].trials, 24);
}

}  // namespace
}  // namespace temper::tune
