#include "temper/tune/prune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "sample_task.h"
#include "temper/store/sqlite_store.h"
#include "temper/support/error.h"
#include "temper/tune/lookup.h"
#include "temper/tune/verdict.h"
#include "temper/tune/version.h"

namespace temper::tune {
namespace {

using ::testing::ElementsAre;
using testing::sample_target;
using testing::sample_task;

using Reasons = std::map<std::string, std::int64_t>;

class PruneTest : public ::testing::Test {
 protected:
  /// Stores a record of candidate `m`; a time of 0 is a crash.
  void add(std::int64_t m, double seconds, const std::string& origin = "random", const std::string& temper = "",
           int repeats = 5, double median = 0) {
    record::Record r;
    r.task = task_.key;
    r.target = target_;
    r.definition_hash = task_.definition_hash;
    r.temper_version = temper.empty() ? std::string(version()) : temper;
    r.candidate = {"tiled", {{"m", m}}};
    r.measurement.min_seconds = seconds;
    r.measurement.median_seconds = median > 0 ? median : seconds;
    r.measurement.repeats = repeats;
    if (seconds == 0) r.measurement.failure = record::FailureKind::Crash;
    r.strategy = origin;
    store_->append(std::span(&r, 1));
  }
  std::vector<std::int64_t> left() const {
    std::vector<std::int64_t> out;
    for (const record::Record& r : store_->all(task_.key, target_)) out.push_back(r.candidate.knobs[0].second);
    return out;
  }

  Task task_ = sample_task();
  std::string target_ = target::fingerprint(sample_target());
  std::unique_ptr<store::Store> store_ = store::open_in_memory();
};

TEST_F(PruneTest, TheBestFewAndTheDefaultStay) {
  add(1, 9e-3, kDefaultOrigin);
  for (std::int64_t m = 2; m <= 8; ++m) add(m, static_cast<double>(m) * 1e-3);
  add(9, 0);
  const PruneReport report = prune(*store_, {.keep = 3});
  EXPECT_THAT(left(), ElementsAre(1, 2, 3, 4, 9)) << "failures are another option";
  EXPECT_EQ(report.records, 9);
  EXPECT_EQ(report.removed, 4);
  EXPECT_EQ(report.reasons, (Reasons{{"slower", 4}}));
  EXPECT_EQ(prune(*store_, {.keep = 3}).removed, 0);
}

TEST_F(PruneTest, EachTaskAndTargetKeepsItsOwn) {
  add(1, 1e-3);
  add(2, 2e-3);
  target_ = "another";
  add(3, 8e-3);
  add(4, 9e-3);
  EXPECT_EQ(prune(*store_, {.keep = 1}).removed, 2);
  EXPECT_THAT(left(), ElementsAre(3));
}

TEST_F(PruneTest, ADryRunCountsAndRemovesNothing) {
  add(1, 1e-3);
  add(2, 2e-3);
  add(3, 0);
  const PruneReport report = prune(*store_, {.keep = 1, .failures = true, .dry_run = true});
  EXPECT_EQ(report.removed, 2);
  EXPECT_EQ(report.reasons, (Reasons{{"slower", 1}, {"failure", 1}}));
  EXPECT_THAT(left(), ElementsAre(1, 2, 3));
}

TEST_F(PruneTest, StaleRecordsGoUnlessTheyAreAllThereIs) {
  add(1, 9e-3, kDefaultOrigin, "0.0.1");
  add(2, 1e-3, "random", "0.0.1");
  add(3, 2e-3, "random", "0.0.1");
  add(4, 0, "random", "0.0.1");
  EXPECT_EQ(prune(*store_, {.stale = true}).reasons, (Reasons{{"stale", 2}}));
  EXPECT_THAT(left(), ElementsAre(1, 2)) << "what can still be checked stays";
  add(5, 8e-3, kDefaultOrigin);
  add(6, 3e-3);
  EXPECT_EQ(prune(*store_, {.stale = true}).reasons, (Reasons{{"stale", 2}}));
  EXPECT_THAT(left(), ElementsAre(5, 6));
}

TEST_F(PruneTest, RecordsOfTodayFillTheBestFewFirst) {
  add(1, 1e-3, "random", "0.0.1");
  add(2, 2e-3, "random", "0.0.1");
  add(3, 5e-3);
  add(4, 6e-3);
  prune(*store_, {.keep = 3});
  EXPECT_THAT(left(), ElementsAre(1, 3, 4));
}

TEST_F(PruneTest, AFailedDefaultStaysToo) {
  add(1, 0, kDefaultOrigin);
  add(2, 0);
  add(3, 1e-3);
  EXPECT_EQ(prune(*store_, {.keep = 1, .stale = true, .failures = true}).reasons, (Reasons{{"failure", 1}}));
  EXPECT_THAT(left(), ElementsAre(1, 3));
}

TEST_F(PruneTest, WhatLookUpsUseIsTheSameAfterwards) {
  add(1, 9e-3, kDefaultOrigin);
  add(2, 1.00e-3, "random", "", 24, 1.3e-3);
  add(3, 1.01e-3, "random", "", 24, 1.2e-3);
  add(4, 1.02e-3, "random", "", 24, 1.1e-3);
  const auto used = [&] { return best(*store_, task_, sample_target())->candidate.knobs[0].second; };
  EXPECT_EQ(used(), 4);
  prune(*store_, {.keep = 1, .stale = true, .failures = true});
  EXPECT_THAT(left(), ElementsAre(1, 2, 4));
  EXPECT_EQ(used(), 4);
}

TEST_F(PruneTest, AStopEndsItBetweenTasks) {
  add(1, 1e-3);
  add(2, 2e-3);
  PruneOptions options{.keep = 1};
  options.cancellation.request();
  EXPECT_TRUE(prune(*store_, options).cancelled);
  EXPECT_THAT(left(), ElementsAre(1, 2));
}

TEST_F(PruneTest, NothingAskedForIsAnError) {
  EXPECT_THROW(prune(*store_, {}), Error);
  EXPECT_THROW(prune(*store_, {.keep = 0}), Error);
}

}  // namespace
}  // namespace temper::tune
