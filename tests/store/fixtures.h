// Records, folders and file systems for the tests of the store.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "temper/store/store.h"
#include "temper/support/error.h"

namespace temper::store::testing {

namespace fs = std::filesystem;

inline TaskKey matmul(int m) { return {"matmul", {{"m", std::to_string(m)}, {"n", "512"}, {"threads", "1"}}}; }

/// A valid record of `task` whose candidate is number `tile`.
inline Record measured(const TaskKey& task, int tile, double seconds, const std::string& target = "zen4") {
  Record r;
  r.task = task;
  r.definition_hash = 0xf00d;
  r.target = target;
  r.temper_version = "0.1.0";
  r.candidate = {"packed", {{"tile", tile}}};
  r.measurement.min_seconds = seconds;
  r.measurement.median_seconds = seconds * 1.5;
  r.measurement.repeats = 5;
  r.measurement.number = 10;
  r.strategy = "random";
  r.seed = ~std::uint64_t{0};
  r.created_unix_ms = 1'700'000'000'000 + tile;
  return r;
}

inline Record failed(const TaskKey& task, int tile, record::FailureKind kind, std::string reason) {
  Record r = measured(task, tile, 0);
  r.measurement = {};
  r.measurement.failure = kind;
  r.measurement.reason = std::move(reason);
  return r;
}

/// A new folder that is removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = ::testing::TempDir() + "temper-store-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "no temporary folder";
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const fs::path& path() const { return path_; }
  fs::path file(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

/// A small file system in memory on a folder, seen by this process alone. `mounted()` is false where the system does
/// not let this user mount; tests then skip.
class SmallDisk {
 public:
  SmallDisk(fs::path folder, const std::string& size) : folder_(std::move(folder)) {
    // In a mount namespace of its own, nothing of this is seen by others or outlives the process.
    if (::unshare(CLONE_NEWNS) != 0) {
      const auto user = ::getuid();
      const auto group = ::getgid();
      if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return;
      std::ofstream("/proc/self/setgroups") << "deny";
      std::ofstream("/proc/self/uid_map") << user << ' ' << user << " 1";
      std::ofstream("/proc/self/gid_map") << group << ' ' << group << " 1";
    }
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return;
    mounted_ = ::mount("temper-test", folder_.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }
  bool make_read_only() { return ::mount("none", folder_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0; }

  /// Writes `path` until nothing more fits.
  static void fill(const fs::path& path) {
    std::ofstream out(path, std::ios::binary | std::ios::app);
    const std::string block(4096, 'x');
    while (out.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }

 private:
  fs::path folder_;
  bool mounted_ = false;
};

inline std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// Runs `call`, which must throw an Error, and returns it.
template <typename Call>
Error error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error was thrown";
  return Error(ErrorCode::Internal, "");
}

/// The error says what, where and how to mend it.
inline void expect_helpful(const Error& error, ErrorCode code, const std::string& where) {
  EXPECT_EQ(error.code(), code) << error.what();
  EXPECT_FALSE(error.message().empty());
  EXPECT_NE(error.where().find(where), std::string::npos) << error.what();
  EXPECT_FALSE(error.hint().empty()) << error.what();
}

}  // namespace temper::store::testing
