// Runs the shipped programs as a user does: arguments, a working folder, two output streams, an exit code.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "paths.h"
#include "store/fixtures.h"
#include "support/process_list.h"

namespace temper::e2e {

namespace fs = std::filesystem;

struct Outcome {
  int code = -1;    ///< exit code; meaningless when `signal` is not 0
  int signal = 0;   ///< above 0: it died by this signal
  std::string out;  ///< standard output
  std::string err;  ///< standard error
};
/// For messages of failed expectations.
std::ostream& operator<<(std::ostream& stream, const Outcome& outcome);

/// A program that runs. The destructor kills it and waits.
class Running {
 public:
  /// Starts `program` in `folder`. `environment` holds NAME=VALUE and is added to this process's own.
  Running(const fs::path& program, const std::vector<std::string>& arguments, const fs::path& folder,
          const std::vector<std::string>& environment = {});
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running();

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  /// Waits for its end; a failure and a kill after `seconds`.
  Outcome wait(double seconds = 60);

 private:
  pid_t pid_ = -1;
  fs::path out_, err_;
};

using temper::testing::children_of;
using temper::testing::is_alive;

/// A folder of its own for each test, and the programs of the build tree in it. Temporary files, the lock for timing
/// among them, lie in another one: no test waits for what else times on this machine.
class Programs : public ::testing::Test {
 protected:
  Programs();
  ~Programs() override;
  fs::path file(const std::string& name) const { return folder_.file(name); }
  const fs::path& folder() const { return folder_.path(); }
  /// `temper` with arguments, in the test's folder.
  Outcome temper(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {}) const;
  Outcome program(const fs::path& path, const std::vector<std::string>& arguments) const;
  /// `temper --json` with arguments: must end with `code` and print one JSON object and nothing else on standard
  /// output.
  nlohmann::json json(std::vector<std::string> arguments, int code = 0) const;
  /// `json` of a tuning command with this database, which must not be there yet; starts over where the machine was too
  /// busy for stable times.
  nlohmann::json tune_calmly(std::vector<std::string> arguments, const std::string& db) const;
  /// Must fail with `code`, exactly `text` on standard error and nothing on standard output.
  void expect_error(const std::vector<std::string>& arguments, int code, const std::string& text) const;
  /// Must fail with `code` and an error that holds all of `parts` in this order, on standard error.
  void expect_error_with(const std::vector<std::string>& arguments, int code,
                         const std::vector<std::string>& parts) const;

 private:
  store::testing::TemporaryFolder folder_, temporary_;
  std::optional<std::string> before_;  ///< TMPDIR
};

/// Whether this machine has what generated code needs; tests that run such code skip without.
bool can_run_generated_code();

inline const fs::path kBin = paths::programs();

}  // namespace temper::e2e
