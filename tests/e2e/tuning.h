// What tests of tuning share: what a database holds meanwhile, and whether every process has gone.
#pragma once

#include <gmock/gmock.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "e2e/command.h"
#include "temper/store/sqlite_store.h"
#include "temper/support/error.h"

namespace temper::e2e {

inline const std::string kSpec = "matmul(m=64,n=64,k=64)";

class Tuning : public Programs {
 protected:
  void SetUp() override {
    if (!can_run_generated_code()) GTEST_SKIP() << "code is generated for AVX2 and FMA";
  }

  /// What is stored of every candidate that was built and run: text → when.
  std::map<std::string, std::int64_t> measured(const std::string& db) const {
    std::map<std::string, std::int64_t> result;
    std::error_code ignored;
    if (!fs::exists(file(db), ignored) || fs::file_size(file(db), ignored) == 0) return result;
    try {
      store::open_sqlite(file(db), store::OpenMode::ReadOnly)->for_each([&](const record::Record& r) {
        if (r.measurement.failure == record::FailureKind::InvalidSchedule) return;
        // A default without a trustworthy time is no result yet: it is measured again.
        if (r.strategy == "default" && r.measurement.failure == record::FailureKind::Unstable) return;
        EXPECT_TRUE(result.emplace(r.candidate.text(), r.created_unix_ms).second)
            << "stored twice: " << r.candidate.text();
      });
    } catch (const Error& error) {
      if (error.code() != ErrorCode::NotFound) throw;  // not made yet
    }
    return result;
  }

  /// Waits until at least `count` candidates are stored.
  void wait_for_records(const std::string& db, std::size_t count) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (measured(db).size() < count) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "nothing was stored";
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  static void expect_all_gone(const std::vector<pid_t>& processes) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    for (const pid_t pid : processes) {
      while (is_alive(pid) && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      EXPECT_FALSE(is_alive(pid)) << "process " << pid << " outlives the tuner";
    }
  }
};

/// Whatever loses its parent while this lives becomes a child of this process, so that none can hide.
class Orphanage {
 public:
  Orphanage() { prctl(PR_SET_CHILD_SUBREAPER, 1); }
  Orphanage(const Orphanage&) = delete;
  Orphanage& operator=(const Orphanage&) = delete;
  ~Orphanage() { prctl(PR_SET_CHILD_SUBREAPER, 0); }
  static void expect_empty() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    std::vector<pid_t> left = children_of(getpid());
    while (!left.empty() && std::chrono::steady_clock::now() < end) {
      for (const pid_t pid : left) waitpid(pid, nullptr, WNOHANG);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      left = children_of(getpid());
    }
    EXPECT_THAT(left, ::testing::IsEmpty()) << "processes outlive the tuner";
  }
};

}  // namespace temper::e2e
