#include "temper/measure/statistics.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "temper/support/error.h"

namespace temper::measure {
namespace {

using Samples = std::vector<double>;

TEST(Statistics, MinimumAndMedian) {
  EXPECT_EQ(minimum(Samples{3, 1, 2}), 1);
  EXPECT_EQ(median(Samples{9, 1, 2}), 2);
  EXPECT_EQ(median(Samples{4, 1, 2, 100}), 3);
  EXPECT_EQ(median(Samples{5}), 5);
  EXPECT_THROW(minimum(Samples{}), Error);
}

TEST(Statistics, DeviationIgnoresOutliers) {
  EXPECT_EQ(median_absolute_deviation(Samples{1, 2, 3, 4, 1000}), 1);
  EXPECT_EQ(median_absolute_deviation(Samples{2, 2, 2}), 0);
}

TEST(Statistics, MarksSlowOutliersOnly) {
  EXPECT_EQ(slow_outliers(Samples{10, 11, 10.5, 40, 1}), (std::vector<bool>{false, false, false, true, false}));
  EXPECT_EQ(slow_outliers(Samples{10, 10, 10, 11}), (std::vector<bool>{false, false, false, true}))
      << "without a deviation";
  EXPECT_EQ(slow_outliers(Samples{10, 10, 10, 10.1}), (std::vector<bool>{false, false, false, false}));
}

TEST(Statistics, AMinimumNeedsASecondSampleNearIt) {
  EXPECT_TRUE(is_stable(Samples{10, 12, 50}, 0.5));
  EXPECT_FALSE(is_stable(Samples{10, 16, 50}, 0.5));
  EXPECT_TRUE(is_stable(Samples{10, 16, 50}, 1.0));
  EXPECT_TRUE(is_stable(Samples{10}, 0.1));
  EXPECT_FALSE(is_stable(Samples{0, 0}, 1.0)) << "no time passes";
}

TEST(Statistics, OrderDoesNotMatterAndScaleGoesThrough) {
  EXPECT_TRUE(rc::check("statistics are those of the set", [] {
    const auto numbers = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 1000000)));
    Samples samples(numbers.begin(), numbers.end()), backwards(numbers.rbegin(), numbers.rend()), doubled;
    for (const double sample : samples) doubled.push_back(2 * sample);
    RC_ASSERT(median(samples) == median(backwards));
    RC_ASSERT(median(doubled) == 2 * median(samples));
    RC_ASSERT(median_absolute_deviation(doubled) == 2 * median_absolute_deviation(samples));
    RC_ASSERT(minimum(samples) <= median(samples));
    RC_ASSERT(is_stable(samples, 0.3) == is_stable(backwards, 0.3));
    RC_ASSERT(2 * std::ranges::count(slow_outliers(samples), true) <= static_cast<std::ptrdiff_t>(samples.size()));
  }));
}

}  // namespace
}  // namespace temper::measure
