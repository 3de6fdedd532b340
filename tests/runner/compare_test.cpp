#include "temper/runner/compare.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace temper::runner {
namespace {

template <class T>
Comparison compare_values(temper_dtype dtype, std::vector<T> actual, std::vector<T> expected, double tolerance) {
  return compare(dtype, std::as_bytes(std::span(actual)), std::as_bytes(std::span(expected)), tolerance);
}

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Compare, CountsWhatLiesBeyondTheTolerance) {
  const Comparison result = compare_values<float>(TEMPER_F32, {1, 2.5f, 3, -8}, {1, 2, 3.25f, -8}, 0.25);
  EXPECT_EQ(result.wrong, 1);
  EXPECT_EQ(result.first_wrong, 1);
  EXPECT_EQ(result.first_text, "element 1 is 2.5 instead of 2");
  EXPECT_EQ(result.max_difference, 0.5);
  EXPECT_EQ(result.max_expected, 8);
  EXPECT_EQ(result.relative(), 0.5 / 8);
}

TEST(Compare, NaNAndInfinityEqualOnlyThemselves) {
  EXPECT_EQ(compare_values<float>(TEMPER_F32, {kNaN, kInfinity, -kInfinity}, {kNaN, kInfinity, -kInfinity}, 0).wrong,
            0);
  EXPECT_EQ(
      compare_values<float>(TEMPER_F32, {kNaN, 1, kInfinity, kInfinity, 1}, {1, kNaN, 1, -kInfinity, kInfinity}, 1e30)
          .wrong,
      5);
  EXPECT_EQ(compare_values<float>(TEMPER_F32, {kNaN}, {1}, kInfinity).max_difference, kInfinity);
}

TEST(Compare, KnowsEveryElementType) {
  EXPECT_EQ(compare_values<double>(TEMPER_F64, {1.0 + 1e-12}, {1.0}, 1e-13).wrong, 1);
  EXPECT_EQ(compare_values<std::int8_t>(TEMPER_I8, {-128, 5}, {127, 6}, 1).wrong, 1);
  EXPECT_EQ(compare_values<std::int8_t>(TEMPER_I8, {-128}, {127}, 1).max_difference, 255);
  EXPECT_EQ(compare_values<std::uint8_t>(TEMPER_U8, {255}, {0}, 1).max_difference, 255);
  EXPECT_EQ(compare_values<std::uint8_t>(TEMPER_BOOL, {1, 0}, {0, 0}, 0).wrong, 1);
  EXPECT_EQ(compare_values<std::int32_t>(TEMPER_I32, {1 << 30}, {-(1 << 30)}, 0).max_difference, 2147483648.0);
  EXPECT_EQ(compare_values<std::int64_t>(TEMPER_I64, {INT64_MAX}, {INT64_MIN}, 0).max_difference,
            18446744073709551615.0);
}

TEST(Compare, NothingExpectedIsRelativeToNothing) {
  EXPECT_EQ(compare_values<float>(TEMPER_F32, {0.5f}, {0}, 1).relative(), 0.5);
  EXPECT_EQ(compare_values<float>(TEMPER_F32, {}, {}, 0).wrong, 0);
}

}  // namespace
}  // namespace temper::runner
