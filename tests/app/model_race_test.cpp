// Which kernels a bundle holds.
#include "temper/app/model_race.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "temper/support/error.h"

namespace temper::app {
namespace {

peers::SideTimes side(const std::vector<double>& samples) {
  peers::SideTimes times;
  times.samples = samples;
  peers::summarize(times);
  return times;
}

TEST(ModelRace, TunedKernelsLoseWhenTheDefaultsAreFasterBeyondChance) {
  const std::vector<double> second{1.0, 1.1, 1.05};
  const auto times = [&](double factor) {
    std::vector<double> samples = second;
    for (double& sample : samples) sample *= factor;
    return side(samples);
  };
  EXPECT_FALSE(loses(times(1), times(2)));
  EXPECT_FALSE(loses(times(1), times(1)));
  EXPECT_FALSE(loses(times(1), times(0.995))) << "half a percent is chance";
  EXPECT_TRUE(loses(times(1), times(0.98)));
  EXPECT_TRUE(loses(times(2), times(1)));
}

TEST(ModelRace, ABusyMachineDecidesNothing) {
  // Somebody else took most of the tuned side's rounds: its best sample says what it can do.
  EXPECT_FALSE(loses(side({3, 3, 1, 3, 3}), side({1.2, 1.2, 1.2, 1.2, 1.2})));
  // And the other way round: one lucky sample of the defaults among rounds that they lose.
  EXPECT_FALSE(loses(side({1, 1, 1, 1, 1}), side({2, 2, 0.9, 2, 2})));
}

TEST(ModelRace, AStopEndsIt) {
  const auto plan = std::make_shared<const runtime::Plan>();
  RaceOptions options;
  options.rounds = 5;
  EXPECT_EQ(race_models({{"a", plan}, {"b", plan}}, {}, options).sides.size(), 2U);
  options.cancellation.request();
  try {
    race_models({{"a", plan}, {"b", plan}}, {}, options);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Cancelled);
  }
}

TEST(ModelRace, PlansAreComparedByTheirKernels) {
  const auto plan = [](const std::vector<std::string>& artifacts) {
    runtime::Plan result;
    for (const std::string& text : artifacts)
      result.add_artifact(runtime::Bytes::copy_of(std::as_bytes(std::span(text))));
    return result;
  };
  EXPECT_TRUE(same_kernels(plan({"a", "b"}), plan({"a", "b"})));
  EXPECT_FALSE(same_kernels(plan({"a", "b"}), plan({"a", "c"})));
  EXPECT_FALSE(same_kernels(plan({"a", "b"}), plan({"a"})));
}

}  // namespace
}  // namespace temper::app
