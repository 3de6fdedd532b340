#include "e2e/command.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "temper/target/cpu.h"

namespace temper::e2e {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, const Outcome& outcome) {
  return stream << "exit code " << outcome.code << ", signal " << outcome.signal << "\n-- standard output\n"
                << outcome.out << "-- standard error\n"
                << outcome.err;
}

Running::Running(const fs::path& program, const std::vector<std::string>& arguments, const fs::path& folder,
                 const std::vector<std::string>& environment) {
  static std::atomic<int> count{0};
  const std::string number = std::to_string(count++);
  // Beside the folder: what a program leaves in its working folder is a test's own business.
  out_ = folder.string() + ".out" + number;
  err_ = folder.string() + ".err" + number;
  std::vector<std::string> argv{program.string()};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  std::vector<std::string> env = environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!text.starts_with("TEMPER_TUNE=")) env.emplace_back(text);
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  const int failed =
      posix_spawn(&pid_, argv.front().c_str(), &actions, nullptr, pointers(argv).data(), pointers(env).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    pid_ = -1;
    ADD_FAILURE() << program << " cannot be started: error " << failed;
  }
}

Running::~Running() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  fs::remove(out_, ignored);
  fs::remove(err_, ignored);
}

void Running::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

Outcome Running::wait(double seconds) {
  Outcome outcome;
  if (pid_ <= 0) return outcome;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  int status = 0;
  while (::waitpid(pid_, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      ADD_FAILURE() << "still running after " << seconds << " s";
      ::kill(pid_, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  pid_ = -1;
  if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  outcome.out = store::testing::read_file(out_);
  outcome.err = store::testing::read_file(err_);
  return outcome;
}

Programs::Programs() {
  if (const char* folder = std::getenv("TMPDIR")) before_ = folder;
  setenv("TMPDIR", temporary_.path().c_str(), 1);
}

Programs::~Programs() {
  if (before_) {
    setenv("TMPDIR", before_->c_str(), 1);
  } else {
    unsetenv("TMPDIR");
  }
}

Outcome Programs::temper(const std::vector<std::string>& arguments, const std::vector<std::string>& environment) const {
  return Running(kBin / "temper", arguments, folder(), environment).wait();
}

Outcome Programs::program(const fs::path& path, const std::vector<std::string>& arguments) const {
  return Running(path, arguments, folder()).wait();
}

nlohmann::json Programs::json(std::vector<std::string> arguments, int code) const {
  arguments.emplace_back("--json");
  const Outcome outcome = temper(arguments);
  EXPECT_EQ(outcome.code, code) << outcome;
  nlohmann::json parsed = nlohmann::json::parse(outcome.out, nullptr, false);
  EXPECT_TRUE(parsed.is_object()) << outcome;
  return parsed;
}

nlohmann::json Programs::tune_calmly(std::vector<std::string> arguments, const std::string& db) const {
  arguments.insert(arguments.end(), {"--db", db});
  nlohmann::json report;
  for (int attempt = 0; attempt < 4; ++attempt) {
    for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(file(db + suffix));
    report = json(arguments);
    const bool calm = std::ranges::none_of(
        report["tasks"], [](const nlohmann::json& task) { return task["failures"].contains("unstable"); });
    if (calm) break;
  }
  return report;
}

void Programs::expect_error(const std::vector<std::string>& arguments, int code, const std::string& text) const {
  const Outcome outcome = temper(arguments);
  EXPECT_EQ(outcome.code, code) << outcome;
  EXPECT_EQ(outcome.err, text);
  EXPECT_EQ(outcome.out, "");
}

void Programs::expect_error_with(const std::vector<std::string>& arguments, int code,
                                 const std::vector<std::string>& parts) const {
  const Outcome outcome = temper(arguments);
  EXPECT_EQ(outcome.code, code) << outcome;
  EXPECT_EQ(outcome.signal, 0) << outcome;
  std::size_t at = 0;
  for (const std::string& part : parts) {
    const std::size_t found = outcome.err.find(part, at);
    EXPECT_NE(found, std::string::npos) << "no '" << part << "' (in this order) in: " << outcome;
    if (found != std::string::npos) at = found + part.size();
  }
}

bool can_run_generated_code() {
  const target::Target target = target::detect();
  return target.has("avx2") && target.has("fma");
}

}  // namespace temper::e2e
