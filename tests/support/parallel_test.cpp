#include "temper/support/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <vector>

namespace temper {
namespace {

TEST(Parallel, EachIsDoneOnce) {
  for (const int threads : {1, 2, 5}) {
    std::vector<int> done(100, 0);
    share_among_threads(100, threads, [&](int i) { ++done[static_cast<std::size_t>(i)]; });
    EXPECT_EQ(done, std::vector<int>(100, 1)) << threads;
  }
  share_among_threads(0, 3, [](int) { FAIL() << "there is nothing to do"; });
}

TEST(Parallel, WorkOfTwoThreadsRunsAtTheSameTime) {
  std::latch both(2);
  share_among_threads(2, 2, [&](int) { both.arrive_and_wait(); });
  EXPECT_TRUE(both.try_wait());
}

TEST(Parallel, TheFirstErrorEndsIt) {
  for (const int threads : {1, 3}) {
    std::atomic<int> begun = 0;
    const auto work = [&](int i) {
      ++begun;
      if (i == 10) throw std::runtime_error("ten");
    };
    EXPECT_THROW(share_among_threads(100000, threads, work), std::runtime_error);
    if (threads == 1) {
      EXPECT_EQ(begun, 11);
    }
  }
}

}  // namespace
}  // namespace temper
