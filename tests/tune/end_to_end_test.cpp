// The whole loop with real builders and runners on a tiny product.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "paths.h"
#include "sample_task.h"
#include "temper/measure/measurer.h"
#include "temper/store/sqlite_store.h"
#include "temper/tune/lookup.h"
#include "temper/tune/on_demand.h"
#include "temper/tune/processes.h"
#include "temper/tune/tune.h"
#include "temper/tune/verdict.h"

namespace temper::tune {
namespace {

using testing::sample_task;
using testing::sample_templates;

/// Failures that the code is to blame for; a busy machine may make any time untrustworthy.
std::int64_t faults(const TaskReport& report) {
  std::int64_t count = 0;
  for (const auto& [kind, number] : report.failures) count += kind == "unstable" ? 0 : number;
  return count;
}

class EndToEnd : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!target_.has("avx2") || !target_.has("fma")) GTEST_SKIP() << "code is generated for AVX2 and FMA";
    hardware_ = start_processes(target_, 1, options_.cancellation, clock_, paths::programs());
    options_.hardware = hardware_.get();
    options_.templates = templates_;
    options_.target = target_;
    options_.store = store_.get();
    options_.trials = 6;
    options_.batch = 3;
  }

  target::Target target_ = target::detect();
  SystemClock clock_;
  std::vector<space::Template> templates_ = sample_templates();
  std::unique_ptr<store::Store> store_ = store::open_in_memory();
  std::unique_ptr<HardwareTest> hardware_;
  Options options_;
};

TEST_F(EndToEnd, TunesStoresAndLooksUp) {
  const Task task = sample_task("product", 1, 12);
  const Report report = tune(std::span(&task, 1), options_);
  const TaskReport& told = report.tasks.front();
  EXPECT_EQ(told.error, "");
  EXPECT_EQ(told.trials, 6);
  EXPECT_EQ(faults(told), 0);
  EXPECT_GT(told.default_seconds, 0);
  EXPECT_GT(told.best_seconds, 0);
  EXPECT_NEAR(report.phases.total(), report.wall_seconds, 1e-6);
  EXPECT_GT(report.phases.build, 0);
  EXPECT_GT(report.phases.run, 0);

  const std::optional<record::Record> record = best(*store_, task, target_);
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->candidate.text(), told.best_candidate);
  const Built built = artifact_for(store_.get(), task, target_, Mode::Cached, templates_);
  EXPECT_EQ(built.record->id, told.record_id);
  EXPECT_GT(built.artifact.bytes.size(), 0U);
  EXPECT_FALSE(artifact_for(store_.get(), task, target_, Mode::Off, templates_).record.has_value());
}

TEST_F(EndToEnd, ATaskIsTakenUpAgain) {
  const Task task = sample_task("product", 1, 12);
  tune(std::span(&task, 1), options_);
  const Report report = tune(std::span(&task, 1), options_);
  EXPECT_EQ(report.tasks.front().resumed, 6);
  EXPECT_EQ(report.tasks.front().trials, 6);
  EXPECT_EQ(faults(report.tasks.front()), 0);
}

TEST_F(EndToEnd, AMissSearchesOnlyWhereThatIsAllowed) {
  const Task task = sample_task("product", 1, 12);
  EXPECT_FALSE(artifact_on_demand(task, Mode::Cached, options_).record.has_value());
  EXPECT_TRUE(store_->tasks().empty());
  EXPECT_TRUE(artifact_on_demand(task, Mode::On, options_).record.has_value());
  const std::size_t measured = store_->all(task.key, target::fingerprint(target_)).size();
  EXPECT_GT(measured, 0U);
  EXPECT_TRUE(artifact_on_demand(task, Mode::On, options_).record.has_value());
  EXPECT_EQ(store_->all(task.key, target::fingerprint(target_)).size(), measured);
}

TEST_F(EndToEnd, RepeatAndNumberAreAsGiven) {
  const Task task = sample_task("product", 1, 12);
  Options options = options_;
  const std::unique_ptr<HardwareTest> hardware =
      start_processes(target_, 1, options.cancellation, clock_, paths::programs(), {.repeat = 3, .number = 7});
  options.hardware = hardware.get();
  options.trials = 1;
  std::vector<record::Record> records;
  for (int attempt = 0; attempt < 20; ++attempt) {  // an unstable default is timed once more
    tune(std::span(&task, 1), options);
    records = store_->all(task.key, target::fingerprint(target_));
    ASSERT_EQ(records.size(), 1U);
    if (records.front().measurement.failure != record::FailureKind::Unstable) break;
  }
  ASSERT_TRUE(records.front().measurement.ok()) << records.front().measurement.reason;
  EXPECT_EQ(records.front().measurement.number, 7);
  EXPECT_EQ(records.front().measurement.repeats % 3, 0) << "whole rounds of three samples";
}

TEST_F(EndToEnd, AStopBeforeTheFirstMeasurementLeavesNothing) {
  options_.cancellation.request();
  const Task task = sample_task("product", 1, 12);
  const Report report = tune(std::span(&task, 1), options_);
  EXPECT_TRUE(report.cancelled);
  EXPECT_EQ(report.trials, 0);
  EXPECT_TRUE(store_->tasks().empty());
}

}  // namespace
}  // namespace temper::tune
