#include "temper/runtime/thread_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace temper::runtime {
namespace {

struct Coverage {
  std::vector<int> hits;  // neighbouring threads write neighbouring elements, never the same one
  std::mutex mutex;
  std::multiset<int> threads;
  std::multiset<std::int64_t> sizes;
};

void cover(void* context, int thread, std::int64_t begin, std::int64_t end) {
  auto& coverage = *static_cast<Coverage*>(context);
  for (std::int64_t i = begin; i < end; ++i) ++coverage.hits[static_cast<std::size_t>(i)];
  const std::scoped_lock lock(coverage.mutex);
  coverage.threads.insert(thread);
  coverage.sizes.insert(end - begin);
}

class ThreadPoolTest : public ::testing::TestWithParam<int> {};

TEST_P(ThreadPoolTest, CoversEachIterationOnceInBalancedRanges) {
  const int threads = GetParam();
  ThreadPool pool(threads);
  EXPECT_EQ(pool.threads(), threads);
  for (const std::int64_t extent : {1, 2, 3, 7, 64, 1001}) {
    Coverage coverage;
    coverage.hits.assign(static_cast<std::size_t>(extent), 0);
    pool.parallel_for(extent, cover, &coverage);
    EXPECT_EQ(coverage.hits, std::vector<int>(static_cast<std::size_t>(extent), 1));
    const auto parts = static_cast<std::size_t>(std::min<std::int64_t>(threads, extent));
    EXPECT_EQ(coverage.threads.size(), parts);
    EXPECT_EQ(std::set<int>(coverage.threads.begin(), coverage.threads.end()).size(), parts)
        << "a thread got two ranges";
    EXPECT_LE(*coverage.sizes.rbegin() - *coverage.sizes.begin(), 1);
  }
}

TEST_P(ThreadPoolTest, EachPhaseSeesWhatTheOneBeforeWrote) {
  ThreadPool pool(GetParam());
  std::vector<std::int64_t> values(97, 0);
  struct Context {
    std::vector<std::int64_t>* values;
    std::int64_t round;
    bool ordered;
  } context{&values, 0, true};
  // Thread t reads, from its own range mirrored, what another thread wrote in the phase before.
  const auto check = [](void* opaque, int, std::int64_t begin, std::int64_t end) {
    auto& c = *static_cast<Context*>(opaque);
    for (std::int64_t i = begin; i < end; ++i) {
      if ((*c.values)[static_cast<std::size_t>(96 - i)] != c.round) c.ordered = false;
    }
  };
  const auto write = [](void* opaque, int, std::int64_t begin, std::int64_t end) {
    auto& c = *static_cast<Context*>(opaque);
    for (std::int64_t i = begin; i < end; ++i) ++(*c.values)[static_cast<std::size_t>(i)];
  };
  for (int round = 0; round < 500; ++round) {
    pool.parallel_for(97, check, &context);
    pool.parallel_for(97, write, &context);
    ++context.round;
  }
  EXPECT_TRUE(context.ordered);
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolTest, ::testing::Values(1, 2, 3, 8));

TEST(ThreadPool, WakesWorkersThatHaveGoneToSleep) {
  ThreadPool pool(3);
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    Coverage coverage;
    coverage.hits.assign(9, 0);
    pool.parallel_for(9, cover, &coverage);
    EXPECT_EQ(coverage.hits, std::vector<int>(9, 1));
  }
}

TEST(ThreadPool, NothingToDoCallsNothing) {
  ThreadPool pool(2);
  pool.parallel_for(0, [](void*, int, std::int64_t, std::int64_t) { FAIL(); }, nullptr);
}

TEST(ThreadPool, PinsWorkersToTheGivenCpus) {
  const std::vector<int> allowed = allowed_cpus();
  ASSERT_FALSE(allowed.empty());
  const std::vector<int> cpus{allowed.front(), allowed.back()};
  ThreadPool pool(2, cpus);
  struct Context {
    std::vector<int> of_worker;
  } context;
  pool.parallel_for(
      2,
      [](void* opaque, int thread, std::int64_t, std::int64_t) {
        if (thread == 1) static_cast<Context*>(opaque)->of_worker = allowed_cpus();
      },
      &context);
  EXPECT_EQ(context.of_worker, std::vector<int>{allowed.back()});
  EXPECT_EQ(allowed_cpus(), allowed) << "the caller is not pinned";
}

TEST(PinnedThread, GivesTheCpusBack) {
  const std::vector<int> before = allowed_cpus();
  {
    const PinnedThread pinned(before.back());
    EXPECT_EQ(allowed_cpus(), std::vector<int>{before.back()});
  }
  EXPECT_EQ(allowed_cpus(), before);
}

TEST(Scratch, GivesEachThreadItsOwnAlignedPart) {
  Scratch scratch;
  scratch.reserve(3, 100);
  ASSERT_EQ(scratch.pointers().size(), 3u);
  const auto distance = [&] {
    return static_cast<std::byte*>(scratch.pointers()[2]) - static_cast<std::byte*>(scratch.pointers()[1]);
  };
  for (void* part : scratch.pointers()) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(part) % kAlignment, 0u);
  EXPECT_GE(distance(), 100);
  scratch.reserve(2, 5000);
  ASSERT_EQ(scratch.pointers().size(), 3u) << "it only grows";
  EXPECT_GE(distance(), 5000);
}

}  // namespace
}  // namespace temper::runtime
