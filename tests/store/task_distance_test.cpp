#include "temper/store/task_distance.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "record/generators.h"

namespace temper::store {
namespace {

using record::TaskKey;

double between(const std::string& a, const std::string& b) { return distance(TaskKey::parse(a), TaskKey::parse(b)); }

TEST(TaskDistance, SizesAreAsFarApartAsTheirRatio) {
  EXPECT_DOUBLE_EQ(between("matmul(m=256,n=8)", "matmul(m=512,n=8)"), 1);
  EXPECT_DOUBLE_EQ(between("matmul(m=512,n=16)", "matmul(m=256,n=8)"), 2);
  EXPECT_DOUBLE_EQ(between("matmul(m=3)", "matmul(m=4)"), std::log2(4.0 / 3));
  EXPECT_DOUBLE_EQ(between("pool(in=f32[1;3;48;200])", "pool(in=f32[1;3;24;100])"), 2);
  EXPECT_EQ(between("matmul(m=1)", "matmul(m=1000000)"), kOtherValue) << "one size is no more than another thing";
}

TEST(TaskDistance, WhatIsNoSizeCostsAFixedAmount) {
  EXPECT_EQ(between("conv(layout=nchw)", "conv(layout=nhwc)"), kOtherValue);
  EXPECT_EQ(between("conv(in=f32[8])", "conv(in=f16[8])"), kOtherValue) << "the digits of a name are no number";
  EXPECT_EQ(between("matmul(trans_b=0)", "matmul(trans_b=1)"), kOtherValue);
  EXPECT_EQ(between("matmul(m=8)", "matmul(m=8,epilogue=relu)"), kOtherValue);
  EXPECT_EQ(between("matmul(m=8)", "matmul(k=8)"), 2 * kOtherValue);
  EXPECT_EQ(between("scale(by=1)", "scale(by=1.0)"), kOtherValue) << "different keys are never at no distance";
  EXPECT_EQ(between("matmul(m=8)", "conv(m=8)"), std::numeric_limits<double>::infinity());
}

TEST(TaskDistance, FieldsAreMatchedByNameAndOneByOne) {
  EXPECT_EQ(between("matmul(m=8,n=16)", "matmul(n=16,m=8)"), 0);
  EXPECT_EQ(between("add(in=4,in=8)", "add(in=4,in=16)"), 1);
  EXPECT_EQ(between("add(in=4,in=8)", "add(in=8)"), 1 + kOtherValue);
}

TEST(TaskDistance, AShapeNearbyIsNearerThanAnotherLayoutAndThatNearerThanBoth) {
  const std::string wanted = "conv(ic=64,h=56,layout=nhwc)";
  const double shape = between(wanted, "conv(ic=64,h=28,layout=nhwc)");
  const double layout = between(wanted, "conv(ic=64,h=56,layout=nchw)");
  EXPECT_LT(shape, layout);
  EXPECT_LT(layout, between(wanted, "conv(ic=64,h=28,layout=nchw)"));
}

RC_GTEST_PROP(TaskDistanceProperty, SymmetricAndZeroForItself, ()) {
  const TaskKey a = (*record::testing::record()).task;
  TaskKey b = (*record::testing::record()).task;
  b.op = a.op;
  RC_ASSERT(distance(a, a) == 0);
  const double there = distance(a, b), back = distance(b, a);
  RC_ASSERT(std::abs(there - back) <= 1e-9 * (1 + there));
  RC_ASSERT(there >= 0);
}

}  // namespace
}  // namespace temper::store
