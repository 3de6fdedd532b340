#include "temper/tune/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "search/toy_space.h"
#include "temper/support/error.h"
#include "temper/tune/dataset_collection.h"
#include "temper/tune/dataset_features.h"
#include "temper/tune/task_space.h"
#include "tune_fixture.h"

namespace temper::tune {
namespace {

using ::testing::HasSubstr;
using testing::sample_target;

/// Times of a real space, without hardware: what the knobs say, and a failure now and then.
testing::Fate by_hash(const record::CandidateRecord& candidate) {
  testing::Fate fate;
  fate.seconds = 1e-4;
  for (const auto& [name, value] : candidate.knobs) fate.seconds += 1e-5 * static_cast<double>(value % 7);
  if (candidate.text().size() % 5 == 0) fate.run_failure = record::FailureKind::Crash;
  return fate;
}

class DatasetTest : public ::testing::Test {
 protected:
  Options options() {
    Options options;
    options.target = sample_target();
    options.hardware = &hardware_;
    options.clock = &clock_;
    options.store = store_.get();
    return options;
  }
  Dataset collected(std::size_t count, std::uint64_t seed) {
    collect(std::span(&task_, 1), count, seed, options());
    return dataset_of(*store_, std::span(&task_, 1), sample_target(), count, seed);
  }

  Task task_ = task_from_spec("matmul(m=16,n=24,k=8)", 1);
  ManualClock clock_;
  testing::FakeHardware hardware_{task_.compute, by_hash};
  std::unique_ptr<store::Store> store_ = store::open_in_memory();
};

TEST_F(DatasetTest, ASampleIsDistinctUniformAndGrows) {
  const TaskSpace space(task_, sample_target(), space::builtin_templates());
  const search::SpaceIndex index(space);
  const std::vector<search::Candidate> large = draw_sample(index, 400, task_, 3);
  const search::CandidateSet distinct(large.begin(), large.end());
  EXPECT_EQ(distinct.size(), 400U);
  for (const search::Candidate& candidate : large) EXPECT_TRUE(index.contains(candidate));
  const std::vector<search::Candidate> small = draw_sample(index, 150, task_, 3);
  EXPECT_TRUE(std::equal(small.begin(), small.end(), large.begin()));
  EXPECT_NE(draw_sample(index, 150, task_, 4), small);
  // Designs have their share of the space.
  std::vector<double> drawn(static_cast<std::size_t>(index.designs()));
  for (const search::Candidate& candidate : large) drawn[static_cast<std::size_t>(candidate.design)] += 1.0 / 400;
  for (int design = 0; design < index.designs(); ++design) {
    const double share = static_cast<double>(index.size(design)) / static_cast<double>(index.size());
    EXPECT_NEAR(drawn[static_cast<std::size_t>(design)], share, 0.11);
  }
}

TEST_F(DatasetTest, ASmallSpaceIsTakenWhole) {
  const search::FakeSpace space({search::Design{"one", {{"a", {0, 1, 2, 3, 4}}}, {}}});
  const search::SpaceIndex index(space);
  const std::vector<search::Candidate> all = draw_sample(index, 100, task_, 1);
  EXPECT_EQ(search::CandidateSet(all.begin(), all.end()).size(), 5U);
}

TEST_F(DatasetTest, WhatWasMeasuredIsNotMeasuredAgain) {
  const Report first = collect(std::span(&task_, 1), 40, 1, options());
  ASSERT_EQ(first.tasks.size(), 1U);
  EXPECT_GE(first.trials, 40);
  const std::size_t measured = hardware_.measured.size();
  const Report second = collect(std::span(&task_, 1), 40, 1, options());
  EXPECT_EQ(second.trials, 0);
  EXPECT_EQ(hardware_.measured.size(), measured);
  const Report more = collect(std::span(&task_, 1), 60, 1, options());
  EXPECT_EQ(more.trials, 20);
}

TEST_F(DatasetTest, HoldsTheSampleWithItsFailures) {
  const Dataset dataset = collected(80, 1);
  ASSERT_EQ(dataset.tasks.size(), 1U);
  const DatasetTask& task = dataset.tasks.front();
  EXPECT_EQ(task.rows.size(), 80U);
  std::size_t failed = 0;
  for (const DatasetRow& row : task.rows) {
    const testing::Fate fate = by_hash(candidate_of(task, row));
    if (!row.ok()) {
      ++failed;
      EXPECT_EQ(row.failure, fate.run_failure);
    } else {
      EXPECT_DOUBLE_EQ(row.seconds, fate.seconds);
    }
  }
  EXPECT_GT(failed, 0U);
  EXPECT_LT(failed, 80U);
}

TEST_F(DatasetTest, TextBringsItBack) {
  const Dataset dataset = collected(60, 1);
  const Dataset again = parse_dataset(print(dataset), "text");
  EXPECT_EQ(again.target, dataset.target);
  ASSERT_EQ(again.tasks.size(), 1U);
  const DatasetTask &a = dataset.tasks.front(), &b = again.tasks.front();
  EXPECT_EQ(b.task.key, a.task.key);
  EXPECT_EQ(b.task.threads, a.task.threads);
  EXPECT_EQ(b.task.definition_hash, a.task.definition_hash);
  EXPECT_DOUBLE_EQ(b.task.flops, a.task.flops);
  EXPECT_EQ(b.designs, a.designs);
  ASSERT_EQ(b.rows.size(), a.rows.size());
  for (std::size_t i = 0; i < a.rows.size(); ++i) {
    EXPECT_EQ(b.rows[i].values, a.rows[i].values);
    EXPECT_EQ(b.rows[i].failure, a.rows[i].failure);
    EXPECT_NEAR(b.rows[i].seconds, a.rows[i].seconds, 1e-4 * a.rows[i].seconds);
  }
  EXPECT_EQ(print(again), print(dataset));
}

TEST_F(DatasetTest, KeepsTheDefinitionsOfAlternatives) {
  Dataset dataset;
  dataset.target = "t";
  DatasetTask task;
  task.task = task_from_spec("conv2d(ic=16,h=12,w=12,oc=16,kh=3,kw=3,pad=1,layout=nhwc)", 2);
  ASSERT_FALSE(task.task.alternatives.empty());
  dataset.tasks.push_back(task);
  const Task again = parse_dataset(print(dataset), "text").tasks.front().task;
  EXPECT_EQ(again.threads, 2);
  ASSERT_EQ(again.alternatives.size(), task.task.alternatives.size());
  for (std::size_t i = 0; i < again.alternatives.size(); ++i) {
    EXPECT_EQ(again.alternatives[i].algorithm, task.task.alternatives[i].algorithm);
    EXPECT_EQ(ir::structural_hash(again.alternatives[i].compute),
              ir::structural_hash(task.task.alternatives[i].compute));
  }
}

TEST_F(DatasetTest, ErrorsNameTheLine) {
  const std::string whole = print(collected(20, 1));
  const auto error_of = [](const std::string& text) -> std::string {
    try {
      parse_dataset(text, "d.dataset");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_THAT(error_of("something else"), HasSubstr("d.dataset, line 1"));
  EXPECT_THAT(error_of("temper-dataset 2\n"), HasSubstr("schema"));
  EXPECT_THAT(error_of(whole + whole.substr(whole.find("task "))), HasSubstr("twice"));
  EXPECT_THAT(error_of(whole.substr(0, whole.size() - 8)), HasSubstr("whole?"));
  std::string wrong = whole;
  wrong.replace(wrong.find("\n= ") + 3, 1, "x");
  const auto line =
      1 + std::count(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(whole.find("\n= ") + 1), '\n');
  EXPECT_THAT(error_of(wrong), HasSubstr("line " + std::to_string(line)));
}

TEST_F(DatasetTest, RowsHaveFeaturesOfTheCandidates) {
  Dataset dataset = collected(40, 1);
  const TaskRows rows = rows_of(dataset.tasks.front(), sample_target());
  const auto failed = static_cast<std::size_t>(
      std::ranges::count_if(dataset.tasks.front().rows, [](const DatasetRow& row) { return !row.ok(); }));
  EXPECT_EQ(rows.failed, failed);
  EXPECT_EQ(rows.unknown, 0U);
  EXPECT_EQ(rows.seconds.size(), 40 - failed);
  EXPECT_EQ(rows.features.rows(), rows.seconds.size());
  EXPECT_EQ(rows.features.columns(), rows.columns.size());
  EXPECT_EQ(std::set<std::string>(rows.columns.begin(), rows.columns.end()).size(), rows.columns.size());
  // A candidate of other templates than today's is counted, not guessed at.
  dataset.tasks.front().rows.front().values.front() = 12345;
  dataset.tasks.front().rows.front().failure = record::FailureKind::None;
  dataset.tasks.front().rows.front().seconds = 1;
  EXPECT_EQ(rows_of(dataset.tasks.front(), sample_target()).unknown, 1U);
}

}  // namespace
}  // namespace temper::tune
