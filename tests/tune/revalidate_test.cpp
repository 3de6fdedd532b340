#include "temper/tune/revalidate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "temper/compile/replay.h"
#include "temper/tune/lookup.h"
#include "temper/tune/recorded_task.h"
#include "temper/tune/task_space.h"
#include "temper/tune/verdict.h"
#include "temper/tune/version.h"
#include "tune_fixture.h"

namespace temper::tune {
namespace {

using record::FailureKind;
using ::testing::ElementsAre;
using testing::Fate;
using ::testing::HasSubstr;
using testing::knob;
using testing::sample_target;
using testing::sample_task;
using Kind = TaskVerdict::Kind;

/// A database that an older Temper has filled: the default and the three best of a search.
class RevalidateTest : public testing::TuneTest {
 protected:
  RevalidateTest() { fill(task_); }

  record::Record old_record(const Task& task, std::int64_t m, std::int64_t n, double seconds,
                            const std::string& origin = "evolutionary") const {
    record::Record r;
    r.task = task.key;
    r.target = target::fingerprint(sample_target());
    r.definition_hash = task.definition_hash;
    r.temper_version = "0.0.1";
    r.candidate = {"tiled", {{"m", m}, {"n", n}, {"k", 2}, {"bad", 0}}};
    if (origin == kDefaultOrigin) r.candidate = {"tiled", {{"m", 1}, {"n", 1}, {"k", 1}, {"bad", 0}}};
    r.measurement.min_seconds = r.measurement.median_seconds = seconds;
    r.measurement.repeats = 5;
    r.strategy = origin;
    r.created_unix_ms = 1000;
    const TaskSpace space(task, sample_target(), templates_);
    const search::Candidate candidate = search::from_record(space, r.candidate);
    r.trace = compile::print_recorded(space.compute(candidate), space.materialise(candidate).trace());
    return r;
  }
  void add(const record::Record& r) { store_->append(std::span(&r, 1), store::OnConflict::Replace); }
  void fill(const Task& task) {
    add(old_record(task, 1, 1, 9e-3, kDefaultOrigin));
    add(old_record(task, 4, 8, 1e-3));
    add(old_record(task, 2, 8, 2e-3));
    add(old_record(task, 2, 4, 3e-3));
  }
  RevalidateOptions checking() {
    RevalidateOptions options;
    options.templates = templates_;
    options.target = sample_target();
    options.hardware = hardware_.get();
    options.clock = &clock_;
    return options;
  }
  RevalidateReport check() { return revalidate(*store_, checking()); }
  std::optional<record::Record> used() const { return best(*store_, task_, sample_target()); }
  std::map<std::string, record::Record> by_candidate() const {
    std::map<std::string, record::Record> out;
    for (const record::Record& r : stored()) out.emplace(r.candidate.text(), r);
    return out;
  }
};

TEST_F(RevalidateTest, AWinnerThatStillWinsIsConfirmedAndUsedAgain) {
  EXPECT_FALSE(used().has_value()) << "what another version measured is never applied";
  const RevalidateReport report = check();
  ASSERT_EQ(report.tasks.size(), 1U);
  const TaskVerdict& verdict = report.tasks.front();
  EXPECT_EQ(verdict.kind, Kind::Confirmed) << verdict.reason;
  EXPECT_EQ(verdict.task, task_.key);
  EXPECT_EQ(verdict.best_candidate, "tiled{m=4,n=8,k=2,bad=0}");
  EXPECT_DOUBLE_EQ(verdict.default_seconds, testing::landscape({"tiled", {{"m", 1}, {"n", 1}, {"k", 1}}}).seconds);
  ASSERT_EQ(verdict.records.size(), 3U);
  EXPECT_EQ(verdict.records[0].recorded_seconds, 1e-3);
  EXPECT_EQ(verdict.records[0].temper_version, "0.0.1");
  EXPECT_TRUE(verdict.records[0].measurement.ok());
  const std::optional<record::Record> now = used();
  ASSERT_TRUE(now.has_value());
  EXPECT_EQ(now->candidate.text(), verdict.best_candidate);
  EXPECT_EQ(now->temper_version, version());
  EXPECT_EQ(now->measurement.repeats, kSettledRepeats);
  EXPECT_EQ(now->strategy, "evolutionary") << "who found it stays known";
  EXPECT_TRUE(now->trace.has_value());
  EXPECT_EQ(hardware_->outputs_returned, 1) << "the default's outputs are held to the oracle";
  EXPECT_TRUE(hardware_->compared_everything);
  EXPECT_EQ(hardware_->raced.size(), 4U);
}

TEST_F(RevalidateTest, ASecondCallFindsNothingToDo) {
  check();
  const int builds = hardware_->builds;
  const RevalidateReport again = check();
  EXPECT_TRUE(again.tasks.empty());
  EXPECT_EQ(again.untouched, 1U);
  EXPECT_EQ(hardware_->builds, builds);
  RevalidateOptions all = checking();
  all.all = true;
  EXPECT_EQ(revalidate(*store_, all).tasks.front().kind, Kind::Confirmed);
  EXPECT_GT(hardware_->builds, builds);
}

TEST_F(RevalidateTest, AllGoesOnWithWhatWasNotCheckedLately) {
  fill(sample_task("other"));
  clock_.advance(std::chrono::seconds(100));
  add(old_record(task_, 8, 4, 5e-3));
  record::Record late = old_record(task_, 8, 2, 5e-3);
  late.created_unix_ms = 50'000;
  add(late);
  RevalidateOptions all = checking();
  all.all = true;
  all.measured_before_unix_ms = 50'000;
  const RevalidateReport report = revalidate(*store_, all);
  ASSERT_EQ(report.tasks.size(), 2U) << "both have old records, whatever the time";
  RevalidateOptions again = checking();
  again.all = true;
  again.measured_before_unix_ms = 100'000;
  EXPECT_EQ(revalidate(*store_, again).untouched, 2U) << "both were measured at that time";
  again.measured_before_unix_ms = clock_.unix_milliseconds() + 1;
  EXPECT_EQ(revalidate(*store_, again).tasks.size(), 2U);
}

TEST_F(RevalidateTest, WrongNumbersAreNeverAppliedAgain) {
  use([](const record::CandidateRecord& c) {
    Fate fate = testing::landscape(c);
    if (knob(c, "m") == 4) fate.run_failure = FailureKind::WrongResult;
    return fate;
  });
  const TaskVerdict verdict = check().tasks.at(0);
  EXPECT_EQ(verdict.kind, Kind::Confirmed) << "the second best still wins";
  EXPECT_EQ(verdict.best_candidate, "tiled{m=2,n=8,k=2,bad=0}");
  EXPECT_EQ(verdict.reason, "failed on purpose");
  EXPECT_EQ(verdict.records[0].measurement.failure, FailureKind::WrongResult);
  const record::Record wrong = by_candidate().at("tiled{m=4,n=8,k=2,bad=0}");
  EXPECT_EQ(wrong.measurement.failure, FailureKind::WrongResult);
  EXPECT_EQ(wrong.measurement.reason, "failed on purpose");
  EXPECT_EQ(wrong.temper_version, version());
  EXPECT_EQ(used()->candidate.text(), verdict.best_candidate);
}

TEST_F(RevalidateTest, ADefaultWithWrongNumbersDoesNotBecomeWhatIsExpected) {
  use([](const record::CandidateRecord& c) {
    Fate fate = testing::landscape(c);
    fate.wrong_output = knob(c, "m") == 1;
    return fate;
  });
  const TaskVerdict verdict = check().tasks.at(0);
  EXPECT_EQ(verdict.kind, Kind::Confirmed);
  EXPECT_EQ(verdict.default_seconds, 0);
  EXPECT_EQ(by_candidate().at("tiled{m=1,n=1,k=1,bad=0}").measurement.failure, FailureKind::WrongResult);
  EXPECT_EQ(hardware_->outputs_returned, 2);
  EXPECT_EQ(check().untouched, 1U) << "that it fails is a result";
}

TEST_F(RevalidateTest, AWinnerThatTheDefaultHasCaughtUpWithIsNoWinner) {
  use([](const record::CandidateRecord&) { return Fate{.seconds = 1e-3}; });
  const TaskVerdict verdict = check().tasks.at(0);
  EXPECT_EQ(verdict.kind, Kind::DefaultKept);
  EXPECT_EQ(verdict.best_candidate, "tiled{m=1,n=1,k=1,bad=0}");
  EXPECT_EQ(used()->strategy, kDefaultOrigin);
}

TEST_F(RevalidateTest, NothingThatRunsIsAFailureWithItsReason) {
  use([](const record::CandidateRecord&) { return Fate{.build_failure = FailureKind::CompileError}; });
  const TaskVerdict verdict = check().tasks.at(0);
  EXPECT_EQ(verdict.kind, Kind::Failed);
  EXPECT_EQ(verdict.reason, "cannot be built");
  EXPECT_FALSE(used().has_value());
  EXPECT_EQ(check().untouched, 1U);
}

TEST_F(RevalidateTest, WithoutTrustworthyTimesEverythingStaysAsItWas) {
  use([](const record::CandidateRecord&) { return Fate{.run_failure = FailureKind::Unstable, .spoils_races = true}; });
  EXPECT_EQ(check().tasks.at(0).kind, Kind::Undecided);
  for (const record::Record& r : stored()) EXPECT_EQ(r.temper_version, "0.0.1");
  use([](const record::CandidateRecord& c) {
    Fate fate = testing::landscape(c);
    fate.spoils_races = true;
    if (knob(c, "m") > 1) fate.run_failure = FailureKind::Unstable;
    return fate;
  });
  EXPECT_EQ(check().tasks.at(0).kind, Kind::Undecided) << "of the winners nothing is known";
  use(testing::landscape);
  EXPECT_EQ(check().tasks.at(0).kind, Kind::Confirmed) << "a later call tries again";
}

TEST_F(RevalidateTest, ARaceGivesATimeToWhatHadNoneThatCouldBeTrusted) {
  use([](const record::CandidateRecord& c) {
    Fate fate = testing::landscape(c);
    if (knob(c, "m") == 4) fate.run_failure = FailureKind::Unstable;
    return fate;
  });
  const TaskVerdict verdict = check().tasks.at(0);
  EXPECT_EQ(verdict.kind, Kind::Confirmed);
  EXPECT_EQ(verdict.best_candidate, "tiled{m=4,n=8,k=2,bad=0}");
  EXPECT_EQ(verdict.reason, "");
  EXPECT_TRUE(used()->trace.has_value());
}

TEST_F(RevalidateTest, ATraceThatNoLongerReplaysGivesWayToItsCandidate) {
  record::Record renamed = old_record(task_, 4, 8, 1e-3);
  renamed.trace = compile::print_recorded(task_.compute, {}) + "split C gone 4 peel\n";
  add(renamed);
  record::Record unknown = renamed;
  unknown.candidate = {"forgotten", {{"tile", 4}}};
  unknown.measurement.min_seconds = unknown.measurement.median_seconds = 0.5e-3;
  add(unknown);
  const TaskVerdict verdict = check().tasks.at(0);
  EXPECT_EQ(verdict.kind, Kind::Confirmed);
  EXPECT_EQ(verdict.best_candidate, "tiled{m=4,n=8,k=2,bad=0}");
  EXPECT_EQ(verdict.records.at(0).candidate.design, "forgotten");
  EXPECT_EQ(verdict.records.at(0).measurement.failure, FailureKind::InvalidSchedule);
  EXPECT_THAT(verdict.records.at(0).measurement.reason, HasSubstr("forgotten"));
  EXPECT_THAT(used()->trace.value(), HasSubstr("split C m 4 peel"));
}

TEST_F(RevalidateTest, OnlyTheBestFewAreChecked) {
  RevalidateOptions options = checking();
  options.best = 1;
  const TaskVerdict verdict = revalidate(*store_, options).tasks.at(0);
  EXPECT_EQ(verdict.records.size(), 1U);
  EXPECT_EQ(by_candidate().at("tiled{m=2,n=4,k=2,bad=0}").temper_version, "0.0.1");
  options.best = 0;
  EXPECT_THROW(revalidate(*store_, options), Error);
}

TEST_F(RevalidateTest, AStopKeepsWhatWasDecidedAndTheNextCallGoesOn) {
  fill(sample_task("another"));
  fill(sample_task("third"));
  RevalidateOptions options = checking();
  std::vector<std::string> seen;
  const RevalidateReport report =
      revalidate(*store_, options, [&](const TaskVerdict& verdict, std::size_t done, std::size_t all) {
        seen.push_back(verdict.task.op + " " + std::to_string(done) + "/" + std::to_string(all));
        if (done == 2) options.cancellation.request();
      });
  EXPECT_TRUE(report.cancelled);
  EXPECT_THAT(seen, ElementsAre("another 1/3", "product 2/3"));
  const RevalidateReport rest = check();
  EXPECT_FALSE(rest.cancelled);
  EXPECT_EQ(rest.untouched, 2U);
  ASSERT_EQ(rest.tasks.size(), 1U);
  EXPECT_EQ(rest.tasks.front().task.op, "third");
}

TEST_F(RevalidateTest, AMeasurementCutShortByAStopIsNoResult) {
  RevalidateOptions options = checking();
  hardware_->before_run = [&] { throw Error(ErrorCode::Cancelled, "stopped"); };
  const RevalidateReport report = revalidate(*store_, options);
  EXPECT_TRUE(report.cancelled);
  EXPECT_TRUE(report.tasks.empty());
  for (const record::Record& r : stored()) EXPECT_EQ(r.temper_version, "0.0.1");
}

TEST_F(RevalidateTest, OtherTargetsAreLeftAlone) {
  record::Record elsewhere = old_record(sample_task("elsewhere"), 4, 8, 1e-3);
  elsewhere.target = "another machine";
  add(elsewhere);
  const RevalidateReport report = check();
  EXPECT_EQ(report.tasks.size() + report.untouched, 1U);
  EXPECT_EQ(store_->all(elsewhere.task, "another machine").at(0).temper_version, "0.0.1");
}

TEST_F(RevalidateTest, ATaskWithoutADefinitionIsSkippedAndSaysWhy) {
  record::Record layouts = old_record(task_, 4, 8, 1e-3);
  layouts.task = {"layouts", {{"model", "00ff"}, {"threads", "1"}}};
  layouts.trace.reset();
  add(layouts);
  const RevalidateReport report = check();
  ASSERT_EQ(report.tasks.size(), 2U);
  const auto skipped = std::ranges::find(report.tasks, Kind::Skipped, &TaskVerdict::kind);
  ASSERT_NE(skipped, report.tasks.end());
  EXPECT_EQ(skipped->task.op, "layouts");
  EXPECT_EQ(skipped->reason, "its definition is not in the database; tune its model again");
}

TEST_F(RevalidateTest, RecordsOfAnotherDefinitionAreHeldToTodays) {
  const Task spec = task_from_spec("matmul(m=8,n=8,k=8)", 1);
  store_ = store::open_in_memory();
  record::Record old = old_record(task_, 4, 8, 1e-3);
  old.task = spec.key;
  old.definition_hash = spec.definition_hash ^ 1;
  old.temper_version = version();
  old.candidate = {"gone", {}};
  old.trace.reset();
  add(old);
  testing::FakeHardware hardware(spec.compute, [](const record::CandidateRecord&) { return Fate{.seconds = 1e-3}; });
  RevalidateOptions options = checking();
  options.hardware = &hardware;
  options.templates = space::builtin_templates();
  const RevalidateReport report = revalidate(*store_, options);
  ASSERT_EQ(report.tasks.size(), 1U) << "the definition alone differs";
  EXPECT_EQ(report.tasks.front().kind, Kind::Failed) << report.tasks.front().reason;
  const std::optional<record::Record> now = best(*store_, spec, sample_target());
  ASSERT_TRUE(now.has_value());
  EXPECT_EQ(now->strategy, kDefaultOrigin);
  EXPECT_EQ(now->definition_hash, spec.definition_hash);
}

TEST(RecordedTask, ASpecIsDefinedByTodaysOperators) {
  const auto store = store::open_in_memory();
  for (const char* spec : {"matmul(m=8,n=16,k=8)", "conv2d(ic=4,h=8,w=8,oc=4,kh=3,kw=3,pad=1)"}) {
    for (const Task& task : {task_from_spec(spec, 2), with_cold_constants(task_from_spec(spec, 2))}) {
      const std::optional<Task> found = task_of(*store, task.key, "anywhere");
      ASSERT_TRUE(found.has_value()) << task.key.text();
      EXPECT_EQ(found->key, task.key);
      EXPECT_EQ(found->definition_hash, task.definition_hash);
      EXPECT_EQ(found->cold_constants, task.cold_constants);
      EXPECT_EQ(found->alternatives.size(), task.alternatives.size());
    }
  }
  EXPECT_FALSE(task_of(*store, {"maxpool", {{"in0", "f32[1;3;8;8]"}, {"threads", "1"}}}, "anywhere").has_value());
}

TEST_F(RevalidateTest, OtherTasksAreDefinedByWhatTheirRecordsKeep) {
  Task cold = with_cold_constants(sample_task("cold"));
  cold.alternatives.push_back({"swapped", testing::product(8, 8, 8)});
  fill(cold);
  record::Record swapped = old_record(cold, 4, 4, 0.5e-3);
  swapped.candidate.design = "swapped/tiled";
  add(swapped);
  for (const Task* task : {static_cast<const Task*>(&task_), static_cast<const Task*>(&cold)}) {
    const std::optional<Task> found = task_of(*store_, task->key, target::fingerprint(sample_target()));
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->key, task->key);
    EXPECT_EQ(found->definition_hash, task->definition_hash);
    EXPECT_EQ(found->cold_constants, task->cold_constants);
    EXPECT_EQ(found->alternatives.size(), task->alternatives.size());
  }
  EXPECT_FALSE(task_of(*store_, task_.key, "another").has_value());
}

}  // namespace
}  // namespace temper::tune
