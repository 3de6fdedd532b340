#include "temper/measure/measurer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "measure/fixtures.h"
#include "temper/support/error.h"

namespace temper::measure {
namespace {

using record::FailureKind;
using namespace temper::testing;

class MeasurerTest : public ::testing::Test {
 protected:
  TemporaryFolder folder;
  SystemClock clock;
  CancellationToken cancelled;
};

TEST_F(MeasurerTest, NobodyTimesWhileItKeepsTheProcessorsBusy) {
  const MeasureOptions options = test_options(folder);
  Measurer measurer("target", options, clock);
  TimingLock others(options.lock_file);
  bool busy = false;
  measurer.keep_busy(
      [&] {
        busy = true;
        const CancellationToken soon;
        const std::jthread timer([&] {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          soon.request();
        });
        EXPECT_FALSE(others.acquire(TimingLock::Mode::Time, soon).has_value());
      },
      cancelled);
  EXPECT_TRUE(busy);
  EXPECT_TRUE(others.acquire(TimingLock::Mode::Time, cancelled).has_value());
}

TEST_F(MeasurerTest, EveryCandidateGetsItsResult) {
  MeasureOptions options = test_options(folder);
  Measurer measurer("target", options, clock);
  measurer.set_task(affine_task());
  const std::vector<MeasureInput> batch{
      {"c", "artifact right"}, {"c", "refuse"}, {"c", "artifact wrong"}, {"c", "artifact right"}};
  std::vector<std::size_t> order;
  const auto results = measurer.measure(
      batch, cancelled, [&](std::size_t built, std::size_t finished, std::size_t index, const Measured&) {
        EXPECT_EQ(built, 4u);
        EXPECT_EQ(finished, order.size() + 1);
        order.push_back(index);
      });
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 3}));
  for (const Measured& measured : results) {
    EXPECT_TRUE(measured.done);
    EXPECT_GT(measured.measurement.build_seconds, 0);
  }
  const record::Measurement& right = results[0].measurement;
  EXPECT_TRUE(right.ok()) << right.reason;
  EXPECT_GT(right.min_seconds, 0);
  EXPECT_GE(right.median_seconds, right.min_seconds);
  EXPECT_EQ(right.repeats, 3);
  EXPECT_GE(right.number, 1);
  EXPECT_GT(right.run_seconds, 0);
  EXPECT_EQ(results[0].artifact, artifact_text("right"));
  EXPECT_EQ(results[0].build_steps.at("copy"), 0.5);
  EXPECT_EQ(results[1].measurement.failure, FailureKind::InvalidSchedule);
  EXPECT_EQ(results[1].measurement.run_seconds, 0);
  EXPECT_EQ(results[2].measurement.failure, FailureKind::WrongResult);
  EXPECT_GT(results[2].measurement.max_error, 0);
  EXPECT_EQ(results[2].measurement.min_seconds, 0) << "a failure has no time";
  EXPECT_GT(measurer.phases().build, 0);
  EXPECT_GT(measurer.phases().run, 0);
}

TEST_F(MeasurerTest, ClassifiesAStormOfFaults) {
  struct Kind {
    const char* trace;
    FailureKind failure;
  };
  std::vector<Kind> kinds{{"artifact right", FailureKind::None},
                          {"artifact segfault", FailureKind::Crash},
                          {"artifact write_past", FailureKind::OutOfBounds},
                          {"artifact read_past", FailureKind::OutOfBounds},
                          {"artifact wrong", FailureKind::WrongResult},
                          {"artifact huge_workspace", FailureKind::ResourceLimit},
                          {"artifact right", FailureKind::None},
                          {"crash", FailureKind::CompileError}};
  std::vector<MeasureInput> batch;
  std::vector<FailureKind> expected;
  for (int i = 0; i < 64; ++i) {
    const Kind& kind = kinds[static_cast<std::size_t>(i * 5) % kinds.size()];
    batch.push_back({"c", kind.trace});
    expected.push_back(kind.failure);
  }
  Measurer measurer("target", test_options(folder), clock);
  measurer.set_task(affine_task());
  const auto results = measurer.measure(batch, cancelled);
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_TRUE(results[i].done);
    EXPECT_EQ(results[i].measurement.failure, expected[i]) << batch[i].trace << ": " << results[i].measurement.reason;
  }
}

TEST_F(MeasurerTest, HangsEndAtTheirLimits) {
  MeasureOptions options = test_options(folder);
  options.run_limit_seconds = options.build_limit_seconds = 0.3;
  Measurer measurer("target", options, clock);
  measurer.set_task(affine_task());
  const auto results = measurer.measure(std::vector<MeasureInput>{{"c", "artifact hang"}, {"c", "hang"}}, cancelled);
  EXPECT_EQ(results[0].measurement.failure, FailureKind::RunTimeout) << results[0].measurement.reason;
  EXPECT_EQ(results[1].measurement.failure, FailureKind::CompileTimeout) << results[1].measurement.reason;
}

TEST_F(MeasurerTest, CancellationKeepsWhatIsMeasured) {
  Measurer measurer("target", test_options(folder), clock);
  measurer.set_task(affine_task());
  const std::vector<MeasureInput> batch(5, {"c", "artifact right"});
  const auto results =
      measurer.measure(batch, cancelled, [&](std::size_t, std::size_t finished, std::size_t, const Measured&) {
        if (finished == 2) cancelled.request();
      });
  EXPECT_EQ(std::ranges::count_if(results, &Measured::done), 2);
  EXPECT_TRUE(results[1].measurement.ok());
  for (const Measured& measured : measurer.measure(batch, cancelled)) EXPECT_FALSE(measured.done);
}

TEST_F(MeasurerTest, AMinimumThatStandsAloneIsUnstable) {
  MeasureOptions options = test_options(folder);
  options.stability_tolerance = -1;  // no second sample can come that close
  options.stability_retries = 2;
  Measurer measurer("target", options, clock);
  measurer.set_task(affine_task());
  const Measured measured = measurer.time(artifact_text("right"), true, cancelled);
  EXPECT_EQ(measured.measurement.failure, FailureKind::Unstable);
  EXPECT_EQ(measured.measurement.repeats, 9) << "three rounds of three";
  EXPECT_EQ(measured.measurement.reason, "the fastest of 9 samples stands alone");
}

TEST_F(MeasurerTest, GivesUpOnWhatIsFarFromTheBest) {
  MeasureOptions options = test_options(folder);
  options.give_up_factor = 1e-9;
  Measurer measurer("target", options, clock);
  measurer.set_task(affine_task());
  EXPECT_EQ(measurer.time(artifact_text("right"), true, cancelled).measurement.repeats, 3) << "there is no best yet";
  EXPECT_EQ(measurer.time(artifact_text("right"), true, cancelled).measurement.repeats, 1);
  measurer.set_task(affine_task());
  EXPECT_EQ(measurer.time(artifact_text("right"), true, cancelled).measurement.repeats, 3) << "a new task has none";
  measurer.set_task(affine_task(), 1.0);
  EXPECT_EQ(measurer.time(artifact_text("right"), true, cancelled).measurement.repeats, 1) << "unless it is given one";
}

TEST_F(MeasurerTest, ReturnsOutputsAndRaces) {
  Measurer measurer("target", test_options(folder), clock);
  measurer.set_task(affine_task());
  const Measurer::Outputs outputs = measurer.run_once(artifact_text("right"), cancelled);
  EXPECT_TRUE(outputs.measurement.ok()) << outputs.measurement.reason;
  EXPECT_EQ(outputs.outputs.at("y"), affine_task().outputs(0).expected());
  EXPECT_EQ(measurer.run_once(artifact_text("segfault"), cancelled).measurement.failure, FailureKind::Crash);
  const std::vector<std::string> racers{artifact_text("right"), artifact_text("right")};
  const Measurer::Race race = measurer.race(racers, {}, 5, 1, cancelled);
  EXPECT_EQ(race.failure, FailureKind::None) << race.reason;
  ASSERT_EQ(race.seconds.size(), 2u);
  EXPECT_EQ(race.seconds[0].size(), 5u) << "what turns out to be disturbed is taken again";
  EXPECT_EQ(race.seconds[1].size(), 5u);
  const std::vector<std::int64_t> numbers{3, 7};
  EXPECT_EQ(measurer.race(racers, numbers, 2, 1, cancelled).numbers, numbers);
}

TEST_F(MeasurerTest, NothingIsBuiltWhileAnotherTunerTimes) {
  const MeasureOptions options = test_options(folder);
  const std::vector<MeasureInput> batch(3, {"c", "watch " + options.lock_file.string()});
  const auto tune = [&](std::vector<Measured>& results) {
    Measurer measurer("target", options, clock);
    measurer.set_task(affine_task());
    for (int round = 0; round < 6; ++round) {
      for (Measured& measured : measurer.measure(batch, cancelled)) results.push_back(std::move(measured));
    }
  };
  std::vector<Measured> mine, theirs;
  std::thread other([&] { tune(theirs); });
  tune(mine);
  other.join();
  for (const std::vector<Measured>* results : {&mine, &theirs}) {
    ASSERT_EQ(results->size(), 18U);
    for (const Measured& measured : *results) {
      EXPECT_NE(measured.measurement.failure, FailureKind::CompileError) << measured.measurement.reason;
      EXPECT_FALSE(measured.artifact.empty());
    }
  }
}

TEST_F(MeasurerTest, RefusesImpossibleOptions) {
  MeasureOptions options = test_options(folder);
  options.threads = 0;
  EXPECT_THROW(Measurer("target", options, clock), Error);
  options = test_options(folder);
  options.runner = "/nowhere/temper-runner";
  EXPECT_THROW(Measurer("target", options, clock), Error);
}

}  // namespace
}  // namespace temper::measure
