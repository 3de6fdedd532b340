#include "temper/support/resident_memory.h"

#include <gtest/gtest.h>

#include <vector>

namespace temper {
namespace {

TEST(ResidentMemory, GrowsWithWhatIsTouched) {
  constexpr std::int64_t kBytes = 64 << 20;
  const std::int64_t before = resident_bytes();
  ASSERT_GT(before, 0);
  const std::vector<char> touched(kBytes, 1);
  EXPECT_GE(resident_bytes(), before + kBytes / 2) << static_cast<int>(touched.back());
}

}  // namespace
}  // namespace temper
