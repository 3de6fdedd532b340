// Several processes on one file, and processes that die.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "store/fixtures.h"
#include "temper/store/sqlite_connection.h"
#include "temper/store/sqlite_store.h"

namespace temper::store {
namespace {

using testing::matmul;
using testing::measured;
using testing::TemporaryFolder;

/// Runs `body` in a child process; the child's exit code is 0 unless `body` throws.
pid_t in_child(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  try {
    body();
  } catch (const std::exception& error) {
    ::write(STDERR_FILENO, error.what(), std::string(error.what()).size());
    ::_exit(1);
  }
  ::_exit(0);
}

bool ended_well(pid_t child) {
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(StoreProcesses, FourTunersFillOneNewFile) {
  const TemporaryFolder folder;
  const auto path = folder.file("a.db");
  constexpr int kProcesses = 4, kBatches = 20, kBatch = 5;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    children.push_back(in_child([&] {
      const auto store = open_sqlite(path, OpenMode::Create);  // all of them at once: one makes the tables
      for (int b = 0; b < kBatches; ++b) {
        std::vector<Record> batch;
        for (int i = 0; i < kBatch; ++i) {
          batch.push_back(measured(matmul(p), b * kBatch + i, 1 + b));
          batch.push_back(measured(matmul(100), b * kBatch + i, 1 + p));  // the same in every process
        }
        store->append(batch);
      }
    }));
  }
  for (const pid_t child : children) EXPECT_TRUE(ended_well(child));
  const auto store = open_sqlite(path, OpenMode::ReadWrite);
  for (int p = 0; p < kProcesses; ++p) EXPECT_EQ(store->all(matmul(p), "zen4").size(), std::size_t{kBatches * kBatch});
  EXPECT_EQ(store->all(matmul(100), "zen4").size(), std::size_t{kBatches * kBatch});
}

TEST(StoreProcesses, AnotherTunersRecordsAreSeenAtOnce) {
  const TemporaryFolder folder;
  const auto path = folder.file("a.db");
  const auto store = open_sqlite(path, OpenMode::Create);
  EXPECT_TRUE(ended_well(
      in_child([&] { open_sqlite(path, OpenMode::ReadWrite)->append(std::vector{measured(matmul(1), 1, 1)}); })));
  EXPECT_EQ(store->best(matmul(1), "zen4", 1).size(), 1u);
}

// The child has changed rows and dies before it commits: nothing of it is seen, and its lock is gone.
TEST(StoreProcesses, KilledInTheMiddleOfATransaction) {
  const TemporaryFolder folder;
  const auto path = folder.file("a.db");
  open_sqlite(path, OpenMode::Create)->append(std::vector{measured(matmul(1), 1, 1)});
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = in_child([&] {
    const Connection connection(path, Connection::Access::ReadWrite, std::chrono::seconds(1));
    connection.execute("PRAGMA cache_size = 1; PRAGMA cache_spill = 1");  // half of the change reaches the log
    Transaction transaction(connection, Transaction::Kind::Write);
    for (int i = 0; i < 500; ++i) {
      connection.execute("INSERT INTO tasks(op, key) VALUES('half', '" + std::string(1000, 'k') + std::to_string(i) +
                         "')");
    }
    ::write(ready[1], "r", 1);
    ::pause();
  });
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ::kill(child, SIGKILL);
  EXPECT_FALSE(ended_well(child));
  ::close(ready[0]);
  ::close(ready[1]);

  const auto store = open_sqlite(path, OpenMode::ReadWrite);
  EXPECT_EQ(store->tasks().size(), 1u);
  EXPECT_EQ(store->append(std::vector{measured(matmul(2), 1, 1)}), (Appended{1, 0, 0}));
  const Connection connection(path, Connection::Access::ReadOnly, std::chrono::seconds(1));
  EXPECT_EQ(connection.integer("SELECT count(*) FROM tasks"), 2);
  EXPECT_EQ(connection.text("PRAGMA integrity_check"), "ok");
}

// Killed at some moment while it appends: what it reported as stored is there, and every batch is whole or absent.
TEST(StoreProcesses, KilledWhileAppending) {
  constexpr int kBatch = 50;
  for (int round = 0; round < 5; ++round) {
    const TemporaryFolder folder;
    const auto path = folder.file("a.db");
    int progress[2];
    ASSERT_EQ(::pipe(progress), 0);
    const pid_t child = in_child([&] {
      const auto store = open_sqlite(path, OpenMode::Create);
      for (int b = 0;; ++b) {
        std::vector<Record> batch;
        for (int i = 0; i < kBatch; ++i) batch.push_back(measured(matmul(1), b * kBatch + i, 1));
        store->append(batch);
        ::write(progress[1], "b", 1);
      }
    });
    char byte = 0;
    for (int b = 0; b < 2 + 3 * round; ++b) ASSERT_EQ(::read(progress[0], &byte, 1), 1);
    ::kill(child, SIGKILL);
    EXPECT_FALSE(ended_well(child));
    ::close(progress[1]);
    int reported = 2 + 3 * round;
    while (::read(progress[0], &byte, 1) == 1) ++reported;
    ::close(progress[0]);
    const std::size_t found = open_sqlite(path, OpenMode::ReadWrite)->all(matmul(1), "zen4").size();
    EXPECT_EQ(found % kBatch, 0u);
    EXPECT_GE(found, static_cast<std::size_t>(reported) * kBatch);
    EXPECT_LE(found, static_cast<std::size_t>(reported + 1) * kBatch);
  }
}

TEST(StoreProcesses, ThreadsShareOneStore) {
  const auto store = open_in_memory();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&store, t] {
      for (int i = 0; i < 25; ++i) {
        store->append(std::vector{measured(matmul(t), i, 1 + i)});
        store->best(matmul((t + 1) % 4), "zen4", 3);
        store->tasks();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < 4; ++t) EXPECT_EQ(store->all(matmul(t), "zen4").size(), 25u);
}

}  // namespace
}  // namespace temper::store
