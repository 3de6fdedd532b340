#include "temper/ir/strides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace temper::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Strides, WithoutGaps) {
  EXPECT_THAT(row_major_strides({2, 3, 4}), ElementsAre(12, 4, 1));
  EXPECT_THAT(row_major_strides({}), IsEmpty());
  EXPECT_EQ(span_elements({2, 3, 4}, {12, 4, 1}), 24);
  EXPECT_THAT(element_places({2, 3}, {3, 1}), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Strides, WithGaps) {
  EXPECT_EQ(span_elements({2, 3}, {8, 2}), 13);
  EXPECT_THAT(element_places({2, 3}, {8, 2}), ElementsAre(0, 2, 4, 8, 10, 12));
}

TEST(Strides, OfOneAndOfNoElement) {
  EXPECT_EQ(span_elements({}, {}), 1);
  EXPECT_THAT(element_places({}, {}), ElementsAre(0));
  EXPECT_EQ(span_elements({2, 0}, {8, 1}), 0);
  EXPECT_THAT(element_places({2, 0}, {8, 1}), IsEmpty());
}

}  // namespace
}  // namespace temper::ir
