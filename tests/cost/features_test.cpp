#include "temper/cost/features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "search/toy_space.h"
#include "temper/support/error.h"

namespace temper::cost {
namespace {

using search::Candidate;
using search::FakeSpace;

FakeSpace two_designs() {
  return FakeSpace({{"direct", {{"rows", {1, 3, 7}}, {"columns", {15, 31}}}, {}},
                    {"packed", {{"block", {-1, 63}}, {"rows", {1, 127}}}, {}}});
}

TEST(Features, ColumnsAreNamedAndShared) {
  const FakeSpace space = two_designs();
  const FeatureExtractor extractor(space, {{"m", 1023}}, {"flops"});
  EXPECT_THAT(extractor.columns(),
              ::testing::ElementsAre("fact.m", "design.direct", "design.packed", "knob.rows", "knob.columns",
                                     "knob.block", "program.flops", "program.seconds"));
}

TEST(Features, RowsHoldLogarithmsAndMissingValues) {
  const FakeSpace space = two_designs();
  const FeatureExtractor extractor(space, {{"m", 1023}}, {"flops"});
  Analysis analysis;
  analysis.seconds = 0.125;
  analysis.features = {42};
  const std::vector<float> direct = extractor.extract({0, {2, 0}}, analysis);
  EXPECT_THAT(std::vector<float>(direct.begin(), direct.begin() + 5), ::testing::ElementsAre(10, 1, 0, 3, 4));
  EXPECT_TRUE(std::isnan(direct[5]));  // `block` belongs to the other design
  EXPECT_EQ(direct[6], 42);
  EXPECT_EQ(direct[7], -3);
  const std::vector<float> packed = extractor.extract({1, {0, 1}});
  EXPECT_EQ(packed[2], 1);
  EXPECT_EQ(packed[3], 7);
  EXPECT_EQ(packed[5], -1);
  for (const std::size_t missing : {4, 6, 7}) EXPECT_TRUE(std::isnan(packed[missing])) << missing;
}

TEST(Features, WrongAnalysesAreCaught) {
  const FakeSpace space = two_designs();
  Analysis analysis;
  analysis.features = {1, 2};
  EXPECT_THROW(FeatureExtractor(space, {}, {"one"}).extract({0, {0, 0}}, analysis), Error);
}

TEST(Features, LogScaleIsOddAndMonotone) {
  EXPECT_EQ(log_scale(0), 0);
  EXPECT_EQ(log_scale(7), 3);
  EXPECT_EQ(log_scale(-7), -3);
  for (double v = -10; v < 10; v += 0.5) EXPECT_LT(log_scale(v), log_scale(v + 0.5));
}

}  // namespace
}  // namespace temper::cost
