#include "temper/support/clock.h"

#include <gtest/gtest.h>

#include <thread>

#include "temper/support/cancellation.h"

namespace temper {
namespace {

TEST(Clock, ManualClockMovesOnlyWhenTold) {
  ManualClock clock(1000);
  EXPECT_EQ(clock.now().count(), 0);
  clock.advance(std::chrono::milliseconds(1500));
  EXPECT_DOUBLE_EQ(clock.seconds(), 1.5);
  EXPECT_EQ(clock.unix_milliseconds(), 2500);
}

TEST(Clock, SystemClockNeverGoesBack) {
  const SystemClock clock;
  const auto before = clock.now();
  EXPECT_LE(before, clock.now());
  EXPECT_GT(clock.unix_milliseconds(), 1'577'836'800'000);  // 2020-01-01
}

TEST(Cancellation, CopiesShareTheRequestAcrossThreads) {
  const CancellationToken token;
  const CancellationToken copy = token;
  EXPECT_FALSE(copy.requested());
  EXPECT_NO_THROW(copy.throw_if_requested());
  std::thread([&] { token.request(); }).join();
  EXPECT_TRUE(copy.requested());
  EXPECT_FALSE(CancellationToken().requested());
  try {
    copy.throw_if_requested();
    FAIL() << "no error was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Cancelled);
  }
}

}  // namespace
}  // namespace temper
