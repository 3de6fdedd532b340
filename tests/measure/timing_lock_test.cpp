#include "temper/measure/timing_lock.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "runtime/temporary_folder.h"
#include "temper/measure/placement.h"
#include "temper/support/error.h"

namespace temper::measure {
namespace {

using Mode = TimingLock::Mode;
using temper::testing::TemporaryFolder;

/// Whether a second tuner gets the lock within some milliseconds.
bool is_free(const std::filesystem::path& file, Mode mode) {
  TimingLock lock(file);
  const CancellationToken give_up;
  std::jthread timer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    give_up.request();
  });
  return lock.acquire(mode, give_up).has_value();
}

TEST(TimingLock, TimingIsAloneAndBuildsAreNot) {
  const TemporaryFolder folder;
  const auto file = folder / "lock";
  TimingLock lock(file);
  const CancellationToken never;
  {
    const auto timing = lock.acquire(Mode::Time, never);
    EXPECT_FALSE(is_free(file, Mode::Time));
    EXPECT_FALSE(is_free(file, Mode::Build));
  }
  {
    const auto build = lock.acquire(Mode::Build, never);
    EXPECT_TRUE(is_free(file, Mode::Build));
    EXPECT_FALSE(is_free(file, Mode::Time));
  }
  EXPECT_TRUE(is_free(file, Mode::Time));
}

TEST(TimingLock, WaitsForItsTurn) {
  const TemporaryFolder folder;
  TimingLock first(folder / "lock");
  const CancellationToken never;
  std::atomic<bool> released = false, in_order = false;
  std::optional<TimingLock::Guard> guard = first.acquire(Mode::Time, never);
  std::thread other([&] {
    TimingLock second(folder / "lock");
    const auto held = second.acquire(Mode::Time, never);
    in_order = released.load();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  released = true;
  guard.reset();
  other.join();
  EXPECT_TRUE(in_order);
}

TEST(TimingLock, IsForAllUsersAndNamesAFileThatCannotBe) {
  const TemporaryFolder folder;
  const TimingLock lock(folder / "lock");
  struct stat status{};
  ASSERT_EQ(stat((folder / "lock").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0666u);
  try {
    const TimingLock bad(folder / "missing" / "lock");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Io);
    EXPECT_NE(std::string(error.what()).find("missing/lock"), std::string::npos);
  }
}

TEST(Placement, OneCpuPerCoreBeforeAnySecond) {
  // CPUs 0 and 4 share a core, 1 and 5, 2 and 6.
  const std::vector<int> allowed{0, 1, 2, 4, 5, 6}, cores{0, 1, 2, 0, 1, 2};
  EXPECT_EQ(spread_over_cores(allowed, cores, 1), std::vector<int>{6});
  EXPECT_EQ(spread_over_cores(allowed, cores, 3), (std::vector<int>{6, 5, 4}));
  EXPECT_EQ(spread_over_cores(allowed, cores, 9), (std::vector<int>{6, 5, 4, 2, 1, 0}));
  const std::vector<int> here = timing_cpus(1);
  EXPECT_EQ(here.size(), 1u);
}

}  // namespace
}  // namespace temper::measure
