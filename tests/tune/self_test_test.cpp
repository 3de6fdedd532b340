#include "temper/tune/self_test.h"

#include <gtest/gtest.h>

#include "fake_hardware.h"
#include "sample_task.h"
#include "temper/support/error.h"

namespace temper::tune {
namespace {

using testing::FakeHardware;
using testing::Fate;
using testing::sample_target;
using testing::sample_task;

class SelfTest : public ::testing::Test {
 protected:
  SelfTest() {
    options_.goals = {1e-4};
    options_.equal_races = 3;
    options_.unequal_races = 2;
  }
  std::vector<RaceSeries> run(Fate fate = {.seconds = 1e-4}) {
    FakeHardware hardware(task_.compute, [&](const record::CandidateRecord&) { return fate; });
    return self_test(sample_target(), hardware, options_);
  }
  Task task_ = sample_task();
  SelfTestOptions options_;
};

TEST_F(SelfTest, EqualRacersTieAndMoreWorkIsFound) {
  int reports = 0;
  options_.progress = [&](const RaceSeries&) { ++reports; };
  const std::vector<RaceSeries> series = run();
  ASSERT_EQ(series.size(), 3U);
  EXPECT_EQ(series[0].more_work, 0);
  EXPECT_EQ(series[0].tie, 3);
  EXPECT_EQ(series[0].wrong(), 0);
  EXPECT_EQ(series[0].median_pairs, 12) << "what never contradicts is decided as soon as can be";
  EXPECT_DOUBLE_EQ(series[0].seconds, 1e-4);
  for (std::size_t i : {1, 2}) {
    EXPECT_EQ(series[i].busy, i == 2);
    EXPECT_EQ(series[i].first, 2);
    EXPECT_EQ(series[i].wrong(), 0);
  }
  EXPECT_EQ(reports, 7);
}

TEST_F(SelfTest, MissesAreCounted) {
  options_.more_work = 0.001;  // within a tie
  options_.equal_races = 0;
  const std::vector<RaceSeries> series = run();
  ASSERT_EQ(series.size(), 2U);
  EXPECT_EQ(series[0].tie, 2);
  EXPECT_EQ(series[0].wrong(), 2);
}

TEST_F(SelfTest, SlowKernelsDoNotRaceAgainstMoreWork) {
  options_.unequal_seconds = 1e-5;
  EXPECT_EQ(run().size(), 1U);
}

TEST_F(SelfTest, RefusesWhatItCannotDo) {
  EXPECT_THROW(run({.build_failure = record::FailureKind::CompileError}), Error);
  options_.goals = {0};
  EXPECT_THROW(run(), Error);
}

TEST_F(SelfTest, CanBeStopped) {
  options_.cancellation.request();
  try {
    run();
    FAIL() << "went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Cancelled);
  }
}

}  // namespace
}  // namespace temper::tune
