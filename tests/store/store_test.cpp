// What every store does, on the file and in memory alike.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "record/generators.h"
#include "store/fixtures.h"
#include "temper/store/sqlite_connection.h"
#include "temper/store/sqlite_queries.h"
#include "temper/store/sqlite_store.h"
#include "temper/store/task_distance.h"

namespace temper::store {
namespace {

using record::FailureKind;
using ::testing::ElementsAre;
using testing::error_of;
using testing::failed;
using ::testing::HasSubstr;
using testing::matmul;
using testing::measured;

class StoreTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Store> open(const SqliteOptions& options = {}) {
    if (std::string(GetParam()) == "memory") return open_in_memory(options);
    return open_sqlite(folder_.file("a.db"), OpenMode::Create, options);
  }

 private:
  testing::TemporaryFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(Every, StoreTest, ::testing::Values("memory", "file"),
                         [](const auto& instance) { return std::string(instance.param); });

std::vector<std::int64_t> tiles(const std::vector<Record>& records) {
  std::vector<std::int64_t> out;
  for (const Record& r : records) out.push_back(r.candidate.knobs.at(0).second);
  return out;
}

TEST_P(StoreTest, BestComesFirstAndFailuresNever) {
  const auto store = open();
  store->append(std::vector{measured(matmul(1), 1, 3e-3), measured(matmul(1), 2, 1e-3), measured(matmul(1), 3, 2e-3),
                            failed(matmul(1), 4, FailureKind::Crash, "SIGSEGV"), measured(matmul(2), 5, 1e-6),
                            measured(matmul(1), 6, 1e-6, "other")});
  EXPECT_THAT(tiles(store->best(matmul(1), "zen4", 2)), ElementsAre(2, 3));
  EXPECT_THAT(tiles(store->best(matmul(1), "zen4", 100)), ElementsAre(2, 3, 1));
  EXPECT_TRUE(store->best(matmul(1), "zen4", 0).empty());
  EXPECT_TRUE(store->best(matmul(3), "zen4", 1).empty());
  EXPECT_TRUE(store->best(matmul(1), "nowhere", 1).empty());
}

TEST_P(StoreTest, AllHasEveryCandidateInOrderWithItsFailure) {
  const auto store = open();
  store->append(std::vector{measured(matmul(1), 2, 1e-3), failed(matmul(1), 1, FailureKind::WrongResult, "off by 3")});
  store->append(std::vector{measured(matmul(1), 3, 1e-4), measured(matmul(2), 9, 1e-4)});
  const std::vector<Record> all = store->all(matmul(1), "zen4");
  EXPECT_THAT(tiles(all), ElementsAre(2, 1, 3));
  EXPECT_EQ(all[1].measurement.failure, FailureKind::WrongResult);
  EXPECT_EQ(all[1].measurement.reason, "off by 3");
}

TEST_P(StoreTest, ACandidateIsStoredOnce) {
  const auto store = open();
  EXPECT_EQ(store->append(std::vector{measured(matmul(1), 1, 3e-3), measured(matmul(1), 1, 1e-3)}),
            (Appended{1, 0, 1}));
  EXPECT_EQ(store->append(std::vector{measured(matmul(1), 1, 2e-3)}), (Appended{0, 0, 1}));
  EXPECT_EQ(store->append(std::vector{failed(matmul(1), 2, FailureKind::Crash, "first")}), (Appended{1, 0, 0}));
  EXPECT_EQ(store->append(std::vector{measured(matmul(1), 2, 1e-9)}), (Appended{0, 0, 1}));
  const std::vector<Record> all = store->all(matmul(1), "zen4");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].measurement.min_seconds, 3e-3);
  EXPECT_EQ(all[1].measurement.failure, FailureKind::Crash);
}

TEST_P(StoreTest, ARecordOfAnotherProgramGivesWayUnlessTheOriginIsAnImport) {
  const auto store = open();
  Record old = measured(matmul(1), 1, 1e-3);
  old.trace = "old trace";
  store->append(std::vector{old});
  const std::int64_t old_id = store->best(matmul(1), "zen4", 1).at(0).id;
  int step = 0;
  for (const auto& change : std::vector<void (*)(Record&)>{[](Record& r) { r.definition_hash = 2; },
                                                           [](Record& r) { r.temper_version = "0.2.0"; }}) {
    Record fresh = measured(matmul(1), 1, 5e-3 + step);
    fresh.definition_hash = old.definition_hash;
    fresh.temper_version = old.temper_version;
    change(fresh);
    EXPECT_EQ(store->append(std::vector{fresh}, OnConflict::Keep), (Appended{0, 0, 1}));
    EXPECT_EQ(store->append(std::vector{fresh}), (Appended{0, 1, 0}));
    const std::vector<Record> all = store->all(matmul(1), "zen4");
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].measurement.min_seconds, 5e-3 + step);
    EXPECT_GT(all[0].id, old_id) << "an id must keep its meaning";
    EXPECT_FALSE(store->record(all[0].id).trace);
    old = fresh;
    ++step;
  }
  EXPECT_EQ(error_of([&] { store->record(old_id); }).code(), ErrorCode::NotFound);
}

TEST_P(StoreTest, ABetterMeasurementOfTheSameCandidateReplacesItWhenAsked) {
  const auto store = open();
  store->append(std::vector{measured(matmul(1), 1, 1e-3), measured(matmul(1), 2, 2e-3)});
  EXPECT_EQ(store->append(std::vector{measured(matmul(1), 1, 3e-3)}, OnConflict::Replace), (Appended{0, 1, 0}));
  EXPECT_EQ(store->record(1).measurement.min_seconds, 3e-3) << "the same candidate keeps its number";
  EXPECT_THAT(tiles(store->best(matmul(1), "zen4", 9)), ElementsAre(2, 1));
}

TEST_P(StoreTest, AnUnstableTimeGivesWayToAnyFreshMeasurement) {
  const auto store = open();
  store->append(std::vector{failed(matmul(1), 1, FailureKind::Unstable, "stands alone")});
  EXPECT_EQ(store->append(std::vector{measured(matmul(1), 1, 1e-3)}, OnConflict::Keep), (Appended{0, 0, 1}));
  EXPECT_EQ(store->append(std::vector{measured(matmul(1), 1, 2e-3)}), (Appended{0, 1, 0}));
  EXPECT_EQ(store->append(std::vector{measured(matmul(1), 1, 3e-3)}), (Appended{0, 0, 1}));
  EXPECT_EQ(store->all(matmul(1), "zen4").at(0).measurement.min_seconds, 2e-3);
}

TEST_P(StoreTest, TheDefaultKeepsItsTraceToo) {
  SqliteOptions options;
  options.traces_per_task = 2;
  const auto store = open(options);
  Record untuned = measured(matmul(1), 9, 9e-3);
  untuned.strategy = "default";
  untuned.trace = "trace of the default";
  store->append(std::vector{untuned});
  for (int tile = 8; tile > 0; --tile) {
    Record r = measured(matmul(1), tile, tile * 1e-3);
    r.trace = "trace";
    store->append(std::vector{r});
  }
  EXPECT_EQ(store->best(matmul(1), "zen4", 9).at(8).trace, "trace of the default");
  EXPECT_EQ(store->best(matmul(1), "zen4", 9).at(7).trace, std::nullopt);
}

TEST_P(StoreTest, OnlyTheBestFewKeepTheirTrace) {
  SqliteOptions options;
  options.traces_per_task = 2;
  const auto store = open(options);
  for (int tile = 10; tile > 0; --tile) {
    Record r = measured(matmul(1), tile, tile * 1e-3);
    r.trace = "trace " + std::to_string(tile);
    Record of_another_task = measured(matmul(2), tile, 1.0 / tile);
    of_another_task.trace = r.trace;
    store->append(std::vector{r, of_another_task});
  }
  Record crashed = failed(matmul(1), 99, FailureKind::Crash, "");
  crashed.trace = "trace of a failure";
  store->append(std::vector{crashed});
  std::map<std::int64_t, std::string> traces;
  store->for_each([&](const Record& r) {
    if (r.trace && r.task == matmul(1)) traces[r.candidate.knobs.at(0).second] = *r.trace;
  });
  EXPECT_EQ(traces, (std::map<std::int64_t, std::string>{{1, "trace 1"}, {2, "trace 2"}}));
  EXPECT_EQ(store->best(matmul(1), "zen4", 1).at(0).trace, "trace 1");
  EXPECT_EQ(store->best(matmul(2), "zen4", 1).at(0).trace, "trace 10");
  EXPECT_EQ(store->best(matmul(1), "zen4", 3).at(2).trace, std::nullopt);
}

TEST_P(StoreTest, ABatchIsAllOrNothing) {
  const auto store = open();
  Record bad = measured(matmul(1), 2, 1e-3);
  bad.measurement.min_seconds = 0;
  const Error error = error_of([&] { store->append(std::vector{measured(matmul(1), 1, 1e-3), bad}); });
  EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
  EXPECT_THAT(error.where(), HasSubstr("packed{tile=2}"));
  EXPECT_TRUE(store->all(matmul(1), "zen4").empty());
}

TEST_P(StoreTest, RefusesRecordsWithoutIdentityOrTime) {
  const auto store = open();
  const std::vector<void (*)(Record&)> defects = {
      [](Record& r) { r.task.op.clear(); },
      [](Record& r) { r.target.clear(); },
      [](Record& r) { r.candidate.design.clear(); },
      [](Record& r) { r.measurement.min_seconds = std::numeric_limits<double>::quiet_NaN(); },
      [](Record& r) { r.measurement.median_seconds = std::numeric_limits<double>::infinity(); },
      [](Record& r) { r.measurement.min_seconds = -1; },
  };
  for (const auto& defect : defects) {
    Record r = measured(matmul(1), 1, 1e-3);
    defect(r);
    EXPECT_EQ(error_of([&] { store->append(std::vector{r}); }).code(), ErrorCode::InvalidArgument);
  }
  EXPECT_TRUE(store->tasks().empty());
}

TEST_P(StoreTest, TasksAreSummarised) {
  const auto store = open();
  store->append(std::vector{measured(matmul(2), 1, 3e-3), measured(matmul(2), 7, 1e-3),
                            failed(matmul(2), 3, FailureKind::Crash, ""), failed(matmul(1), 1, FailureKind::Crash, ""),
                            measured(matmul(2), 1, 5e-3, "a target")});
  const std::vector<TaskSummary> tasks = store->tasks();
  ASSERT_EQ(tasks.size(), 3u);
  EXPECT_EQ(tasks[0].task, matmul(1));
  EXPECT_EQ(std::tuple(tasks[0].records, tasks[0].valid, tasks[0].best_id, tasks[0].best_seconds),
            std::tuple(1, 0, 0, 0.0));
  EXPECT_EQ(tasks[1].target, "a target");
  EXPECT_EQ(tasks[2].target, "zen4");
  EXPECT_EQ(std::tuple(tasks[2].records, tasks[2].valid, tasks[2].best_seconds), std::tuple(3, 2, 1e-3));
  EXPECT_EQ(store->record(tasks[2].best_id).candidate.knobs.at(0).second, 7);
  EXPECT_EQ(tasks[2].updated_unix_ms, 1'700'000'000'007);
}

TEST_P(StoreTest, NearestTasksComeByTheirDistance) {
  const auto store = open();
  TaskKey transposed = matmul(2);
  transposed.fields.emplace_back("trans_b", "1");
  store->append(std::vector{measured(matmul(256), 1, 1), measured(transposed, 1, 1), measured(matmul(4), 1, 1),
                            measured(matmul(4), 1, 1, "skylake"), measured({"softmax", {}}, 1, 1)});
  std::vector<std::tuple<TaskKey, std::string, double>> found;
  for (const NearTask& near : store->nearest_tasks(matmul(2), 9, ""))
    found.emplace_back(near.summary.task, near.summary.target, near.distance);
  EXPECT_THAT(found,
              ElementsAre(std::tuple(matmul(4), "skylake", 1.0), std::tuple(matmul(4), "zen4", 1.0),
                          std::tuple(transposed, "zen4", kOtherValue), std::tuple(matmul(256), "zen4", kOtherValue)));
  EXPECT_EQ(store->nearest_tasks(matmul(2), 1, "").size(), 1u);
  EXPECT_EQ(store->nearest_tasks(matmul(256), 1, "zen4").at(0).summary.task, matmul(256));
  EXPECT_EQ(store->nearest_tasks(matmul(2), 9, "skylake").size(), 1u);
  EXPECT_TRUE(store->nearest_tasks(matmul(2), 9, "nowhere").empty());
  EXPECT_TRUE(store->nearest_tasks({"conv2d", {}}, 5, "").empty());
}

TEST_P(StoreTest, NearestTasksAreSummarisedAsAllTasksAre) {
  const auto store = open();
  store->append(std::vector{measured(matmul(1), 1, 3e-3), measured(matmul(1), 2, 1e-3),
                            failed(matmul(1), 3, FailureKind::Crash, ""),
                            failed(matmul(2), 1, FailureKind::Crash, "")});
  const std::vector<TaskSummary> tasks = store->tasks();
  const std::vector<NearTask> near = store->nearest_tasks(matmul(1), 9, "");
  ASSERT_EQ(near.size(), 2u);
  for (std::size_t i = 0; i < near.size(); ++i) {
    const TaskSummary &a = near[i].summary, &b = tasks[i];
    EXPECT_EQ(std::tuple(a.task, a.target, a.records, a.valid, a.best_seconds, a.best_id, a.updated_unix_ms),
              std::tuple(b.task, b.target, b.records, b.valid, b.best_seconds, b.best_id, b.updated_unix_ms));
  }
}

TEST_P(StoreTest, WhatCameSinceIsReadAlone) {
  const auto store = open();
  store->append(std::vector{measured(matmul(1), 1, 1e-3), measured(matmul(2), 1, 1e-3)});
  const std::int64_t last = store->all(matmul(1), "zen4").back().id;
  EXPECT_TRUE(store->newer(matmul(1), "zen4", last).empty());
  store->append(std::vector{measured(matmul(1), 2, 1e-3), measured(matmul(2), 2, 1e-3), measured(matmul(1), 3, 1e-3),
                            measured(matmul(1), 4, 1e-3, "other")});
  EXPECT_THAT(tiles(store->newer(matmul(1), "zen4", last)), ElementsAre(2, 3));
  EXPECT_THAT(tiles(store->newer(matmul(1), "zen4", 0)), ElementsAre(1, 2, 3));
}

TEST_P(StoreTest, DefaultsAreFoundWithTheirTraces) {
  const auto store = open();
  Record untuned = measured(matmul(1), 1, 1e-3), of_another_task = measured(matmul(2), 1, 1e-3);
  untuned.strategy = of_another_task.strategy = "default";
  untuned.trace = "trace";
  store->append(std::vector{measured(matmul(1), 2, 1e-6), untuned, of_another_task});
  const std::vector<Record> found = store->defaults(matmul(1), "zen4");
  EXPECT_THAT(tiles(found), ElementsAre(1));
  EXPECT_EQ(found.at(0).trace, "trace");
  EXPECT_TRUE(store->defaults(matmul(1), "other").empty());
}

TEST_P(StoreTest, StatsCountEverythingOnce) {
  const auto store = open();
  Record old = measured(matmul(1), 9, 1e-3);
  old.temper_version = "0.0.9";
  old.schema = 0;
  Record kept = measured(matmul(1), 1, 1e-4);
  kept.trace = "trace";
  store->append(std::vector{kept, old, failed(matmul(1), 2, FailureKind::Crash, ""),
                            failed(matmul(2), 2, FailureKind::Crash, ""),
                            failed(matmul(2), 3, FailureKind::Unstable, ""), measured(matmul(2), 1, 1e-3, "skylake")});
  const StoreStats stats = store->stats();
  using Counts = std::map<std::string, std::int64_t>;
  EXPECT_EQ(std::tuple(stats.tasks, stats.records, stats.traces), std::tuple(2, 6, 1));
  EXPECT_EQ(stats.outcomes, (Counts{{"none", 3}, {"crash", 2}, {"unstable", 1}}));
  EXPECT_EQ(stats.targets, (Counts{{"zen4", 5}, {"skylake", 1}}));
  EXPECT_EQ(stats.versions, (Counts{{"0.1.0", 5}, {"0.0.9", 1}}));
  EXPECT_EQ(stats.schemas, (std::map<int, std::int64_t>{{0, 1}, {1, 5}}));
  EXPECT_EQ(stats.format, 2);
  EXPECT_GT(stats.bytes, 0);
  EXPECT_EQ(open_in_memory()->stats().records, 0);
}

TEST_P(StoreTest, WhatIsRemovedIsGoneWithItsTrace) {
  const auto store = open();
  Record r = measured(matmul(1), 1, 1e-3);
  r.trace = std::string(100'000, 't');
  store->append(std::vector{r, measured(matmul(1), 2, 2e-3), measured(matmul(2), 1, 1e-3, "skylake")});
  EXPECT_EQ(store->remove(std::vector<std::int64_t>{1, 3, 77}), 2);
  EXPECT_EQ(store->remove({}), 0);
  EXPECT_THAT(tiles(store->all(matmul(1), "zen4")), ElementsAre(2));
  const StoreStats before = store->stats();
  EXPECT_EQ(std::tuple(before.tasks, before.records, before.traces), std::tuple(1, 1, 0));
  EXPECT_GT(before.free_bytes, 90'000);
  store->compact();
  const StoreStats after = store->stats();
  EXPECT_EQ(after.free_bytes, 0);
  EXPECT_LT(after.bytes, before.bytes - 90'000);
  EXPECT_THAT(tiles(store->best(matmul(1), "zen4", 9)), ElementsAre(2));
  EXPECT_EQ(store->append(std::vector{measured(matmul(2), 1, 1e-3, "skylake")}), (Appended{1, 0, 0}));
  EXPECT_EQ(store->best(matmul(2), "skylake", 1).at(0).id, 4) << "an id must keep its meaning";
}

TEST_P(StoreTest, FailuresMayHaveNumbersThatAreNone) {
  const auto store = open();
  Record r = failed(matmul(1), 1, FailureKind::WrongResult, "not a number");
  r.measurement.max_error = std::numeric_limits<double>::quiet_NaN();
  r.measurement.run_seconds = std::numeric_limits<double>::infinity();
  store->append(std::vector{r});
  const Record read = store->all(matmul(1), "zen4").at(0);
  EXPECT_TRUE(std::isnan(read.measurement.max_error));
  EXPECT_TRUE(std::isinf(read.measurement.run_seconds));
}

TEST_P(StoreTest, UnknownRecordIsNotFound) {
  const Error error = error_of([&] { open()->record(7); });
  EXPECT_EQ(error.code(), ErrorCode::NotFound);
  EXPECT_THAT(error.message(), HasSubstr("no record 7"));
}

RC_GTEST_PROP(StoreProperty, EveryFieldComesBackAsItWent, ()) {
  Record r = *record::testing::record();
  r.task.op += "op";
  r.target += "target";
  r.candidate.design += "design";
  if (r.measurement.ok()) {
    r.measurement.min_seconds = std::abs(r.measurement.min_seconds) + 1e-9;
    r.measurement.median_seconds = std::abs(r.measurement.median_seconds) + 1e-9;
  } else {
    r.trace.reset();
  }
  const auto store = open_in_memory();
  store->append(std::vector{r});
  std::vector<Record> read;
  store->for_each([&](const Record& found) { read.push_back(found); });
  RC_ASSERT(read.size() == 1u);
  record::testing::expect_same(read[0], r);
}

// The model: a map from candidate to its first record.
RC_GTEST_PROP(StoreProperty, AgreesWithAModelUnderRandomBatches, ()) {
  const auto store = open_in_memory();
  std::map<std::pair<int, int>, double> model;
  const int batches = *rc::gen::inRange(1, 6);
  for (int b = 0; b < batches; ++b) {
    std::vector<Record> batch;
    for (const auto& [m, tile] : *rc::gen::container<std::vector<std::pair<int, int>>>(
             rc::gen::pair(rc::gen::inRange(0, 3), rc::gen::inRange(0, 8)))) {
      const double seconds = *rc::gen::inRange(1, 1000) * 1e-6;
      batch.push_back(measured(matmul(m), tile, seconds));
      model.emplace(std::pair(m, tile), seconds);
    }
    store->append(batch);
  }
  for (int m = 0; m < 3; ++m) {
    std::vector<double> expected, found;
    for (const auto& [key, seconds] : model) {
      if (key.first == m) expected.push_back(seconds);
    }
    std::sort(expected.begin(), expected.end());
    for (const Record& r : store->best(matmul(m), "zen4", 1000)) found.push_back(r.measurement.min_seconds);
    RC_ASSERT(found == expected);
  }
}

// Look-ups must stay fast in a large file: their plans use indexes, never a scan or a sort of records.
TEST(StorePlans, LookUpsUseIndexes) {
  const testing::TemporaryFolder folder;
  open_sqlite(folder.file("a.db"), OpenMode::Create);
  const Connection connection(folder.file("a.db"), Connection::Access::ReadOnly, std::chrono::seconds(1));
  for (const std::string_view sql :
       {queries::kBest, queries::kAll, queries::kNewer, queries::kDefaults, queries::kById, queries::kTask,
        queries::kTasksOfOperator, queries::kFindTask, queries::kFindTarget, queries::kFindRecord}) {
    Statement plan(connection, "EXPLAIN QUERY PLAN " + std::string(sql));
    int steps = 0;
    bool by_default_index = false;
    while (plan.step()) {
      ++steps;
      // Targets are few; every other table is large.
      if (!plan.text(3).starts_with("SCAN g")) {
        EXPECT_THAT(plan.text(3), ::testing::Not(HasSubstr("SCAN"))) << sql;
      }
      // `all` and `newer` return everything, so their sort costs no more than reading does; tasks are ordered by key.
      const bool sorts = sql == queries::kAll || sql == queries::kNewer || sql == queries::kTasksOfOperator;
      EXPECT_THAT(plan.text(3), ::testing::Not(HasSubstr(sorts ? "SCAN r" : "TEMP B-TREE"))) << sql;
      by_default_index = by_default_index || plan.text(3).find("records_default") != std::string::npos;
    }
    EXPECT_GT(steps, 0);
    EXPECT_EQ(by_default_index, sql == queries::kDefaults) << sql;
  }
}

}  // namespace
}  // namespace temper::store
