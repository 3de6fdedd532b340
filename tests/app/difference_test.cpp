// When two tensors count as equal.
#include "temper/app/difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "temper/support/error.h"

namespace temper::app {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

Difference compare_floats(std::vector<float> actual, const std::vector<float>& expected) {
  const auto count = static_cast<std::int64_t>(expected.size());
  return compare(std::as_bytes(std::span(actual)), TEMPER_F32, {count}, {}, peers::Tensor::f32("t", {count}, expected));
}

TEST(Difference, IsRelativeToTheLargestMagnitudeOfTheReference) {
  EXPECT_DOUBLE_EQ(compare_floats({1, -7, 2.5F}, {1, -8, 2}).error, 1.0 / 8);
  EXPECT_DOUBLE_EQ(compare_floats({0.25F, 0}, {0, 0}).error, 0.25) << "absolute beside zeros";
  EXPECT_EQ(compare_floats({3, 4}, {3, 4}).error, 0);
}

TEST(Difference, NumbersThatAreNone) {
  EXPECT_EQ(compare_floats({kNan, kInfinity, 1}, {kNan, kInfinity, 1}).error, 0);
  EXPECT_EQ(compare_floats({kNan, 1}, {1, 1}).error, std::numeric_limits<double>::infinity());
  EXPECT_EQ(compare_floats({1, 1}, {kNan, 1}).error, std::numeric_limits<double>::infinity());
  EXPECT_EQ(compare_floats({kInfinity}, {-kInfinity}).error, std::numeric_limits<double>::infinity());
  EXPECT_DOUBLE_EQ(compare_floats({kInfinity, 3}, {kInfinity, 4}).error, 0.25) << "an infinity is no magnitude";
}

TEST(Difference, SaysWhereTheLargestElementsAre) {
  const Difference difference = compare_floats({-5, 1, 3}, {-5, 4, 3});
  EXPECT_EQ(difference.largest_at, 2);
  EXPECT_EQ(difference.reference_largest_at, 1);
  EXPECT_EQ(compare_floats({-5, -1}, {-1, -5}).largest_at, 1) << "negative numbers alone";
}

TEST(Difference, SeesThroughTheOrderOfAxes) {
  // The reference is [2,3]; it is stored as [3,2].
  const std::vector<float> expected{1, 2, 3, 4, 5, 6}, stored{1, 4, 2, 5, 3, 6};
  const peers::Tensor reference = peers::Tensor::f32("t", {2, 3}, expected);
  const Difference same = compare(std::as_bytes(std::span(stored)), TEMPER_F32, {3, 2}, {1, 0}, reference);
  EXPECT_EQ(same.error, 0);
  EXPECT_EQ(same.largest_at, 5);
  EXPECT_GT(compare(std::as_bytes(std::span(stored)), TEMPER_F32, {2, 3}, {}, reference).error, 0.1);
  EXPECT_THROW(compare(std::as_bytes(std::span(stored)), TEMPER_F32, {2, 3}, {1, 0}, reference), Error);

  // NHWC [1,2,1,3] of NCHW [1,3,2,1], in integers.
  const std::vector<std::int64_t> nchw{1, 2, 3, 4, 5, 6}, nhwc{1, 3, 5, 2, 4, 6};
  const peers::Tensor integers = peers::Tensor::i64("t", {1, 3, 2, 1}, nchw);
  EXPECT_EQ(compare(std::as_bytes(std::span(nhwc)), TEMPER_I64, {1, 2, 1, 3}, {0, 2, 3, 1}, integers).error, 0);
}

TEST(Difference, AxesOfOneElementDoNotMatter) {
  // What is stored as NHWC [1,1,3,2] is [1,2,3] in the reference, which has no axis for rows.
  const std::vector<float> expected{1, 2, 3, 4, 5, 6}, stored{1, 4, 2, 5, 3, 6};
  const peers::Tensor reference = peers::Tensor::f32("t", {1, 2, 3}, expected);
  EXPECT_EQ(compare(std::as_bytes(std::span(stored)), TEMPER_F32, {1, 1, 3, 2}, {0, 2, 3, 1}, reference).error, 0);
  EXPECT_THROW(compare(std::as_bytes(std::span(stored)), TEMPER_F32, {1, 1, 2, 3}, {0, 2, 3, 1}, reference), Error);
}

TEST(Difference, IntegersAreEqualOrNot) {
  const std::vector<std::int64_t> numbers{1, 2}, other{1, 3};
  const peers::Tensor reference = peers::Tensor::i64("t", {2}, numbers);
  const Difference same = compare(std::as_bytes(std::span(numbers)), TEMPER_I64, {2}, {}, reference);
  EXPECT_EQ(same.error, 0);
  EXPECT_EQ(same.largest_at, -1);
  EXPECT_EQ(compare(std::as_bytes(std::span(other)), TEMPER_I64, {2}, {}, reference).error,
            std::numeric_limits<double>::infinity());
}

TEST(Difference, DoublesAreComparedLikeFloats) {
  const std::vector<double> numbers{1, 2 + 1e-9, 4}, other{1, 2, 4};
  peers::Tensor reference;
  reference.name = "t";
  reference.dtype = "f64";
  reference.dims = {3};
  const auto bytes = std::as_bytes(std::span(other));
  reference.data.assign(bytes.begin(), bytes.end());
  const Difference difference = compare(std::as_bytes(std::span(numbers)), TEMPER_F64, {3}, {}, reference);
  EXPECT_NEAR(difference.error, 1e-9 / 4, 1e-15);
  EXPECT_EQ(difference.largest_at, 2);
}

TEST(Difference, AnotherTypeOrSizeIsABug) {
  const std::vector<float> numbers{1, 2};
  const peers::Tensor reference = peers::Tensor::f32("t", {2}, numbers);
  EXPECT_THROW(compare(std::as_bytes(std::span(numbers)), TEMPER_I64, {1}, {}, reference), Error);
  EXPECT_THROW(compare(std::as_bytes(std::span(numbers)).first(4), TEMPER_F32, {1}, {}, reference), Error);
}

}  // namespace
}  // namespace temper::app
