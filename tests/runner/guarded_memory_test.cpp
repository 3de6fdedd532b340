#include "temper/runner/guarded_memory.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace temper::runner {
namespace {

TEST(GuardedMemory, StartsAlignedAndEndsAtTheGuard) {
  for (const std::int64_t bytes : {0, 1, 4, 63, 64, 65, 4000, 4096, 4097, 100000}) {
    GuardedMemory memory(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % 64, 0u);
    const auto end = reinterpret_cast<std::uintptr_t>(memory.data()) + static_cast<std::uintptr_t>(bytes);
    EXPECT_LE(end, memory.behind().begin);
    EXPECT_LT(memory.behind().begin - end, 64u);
    EXPECT_EQ(memory.before().end, memory.middle().begin);
    EXPECT_EQ(memory.middle().end, memory.behind().begin);
    EXPECT_FALSE(memory.damage());
  }
}

TEST(GuardedMemory, HoldsNaNOfBothWidths) {
  const GuardedMemory memory(64);
  float narrow = 0;
  double wide = 0;
  std::memcpy(&narrow, memory.data() + 12, sizeof narrow);
  std::memcpy(&wide, memory.data() + 24, sizeof wide);
  EXPECT_TRUE(std::isnan(narrow));
  EXPECT_TRUE(std::isnan(wide));
}

TEST(GuardedMemory, NoticesEveryByteAroundTheBuffer) {
  GuardedMemory memory(100);
  std::memset(memory.data(), 1, 100);
  EXPECT_FALSE(memory.damage()) << "the buffer itself may be written";
  for (const std::int64_t at : {100, 101, 127}) {
    const std::byte before = memory.data()[at];
    memory.data()[at] = std::byte{1};
    EXPECT_EQ(memory.damage(), std::to_string(at - 100) + " bytes behind its end");
    memory.data()[at] = before;
  }
  memory.data()[-3] = std::byte{1};
  EXPECT_EQ(memory.damage(), "3 bytes before its start");
}

TEST(GuardedMemoryDeathTest, FaultsOutsideAndWhereProtected) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  GuardedMemory memory(4096);
  EXPECT_DEATH(static_cast<volatile std::byte*>(memory.data())[4096] = std::byte{1}, "");
  EXPECT_DEATH(static_cast<volatile std::byte*>(memory.data())[-1] = std::byte{1}, "");
  memory.set_writable(false);
  EXPECT_DEATH(static_cast<volatile std::byte*>(memory.data())[0] = std::byte{1}, "");
  memory.set_writable(true);
  memory.data()[0] = std::byte{1};
}

}  // namespace
}  // namespace temper::runner
