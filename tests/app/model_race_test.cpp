// Which kernels a bundle holds.
#include "temper/app/model_race.h"

#include <gtest/gtest.h>

namespace temper::app {
namespace {

peers::SideTimes side(double median) {
  peers::SideTimes times;
  times.median_seconds = median;
  return times;
}

TEST(ModelRace, TunedKernelsLoseWhenTheDefaultsAreFasterBeyondChance) {
  EXPECT_FALSE(loses(side(1.0), side(2.0)));
  EXPECT_FALSE(loses(side(1.0), side(1.0)));
  EXPECT_FALSE(loses(side(1.0), side(0.995))) << "half a percent is chance";
  EXPECT_TRUE(loses(side(1.0), side(0.98)));
  EXPECT_TRUE(loses(side(2.0), side(1.0)));
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
