// Child processes: start, wait with a time limit, kill, always reap.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "temper/support/unique_fd.h"

namespace temper {

struct SubprocessOptions {
  std::filesystem::path executable;
  std::vector<std::string> arguments;  ///< without the program's own name
  /// Descriptors for the child: {ours, its number there}, numbers from 3 on. All others that we opened close-on-exec
  /// stay here.
  std::vector<std::pair<int, int>> descriptors;
  int standard_error = -1;  ///< our descriptor for the child's standard error; -1: /dev/null
};

/// How a child ended.
struct ExitStatus {
  int code = 0;    ///< when `signal` is 0
  int signal = 0;  ///< above 0: it died by this signal
};

/// A running or ended child. Standard input and output are /dev/null; it has a process group of its own, so Ctrl-C in
/// the terminal does not reach it. The destructor kills and reaps. Movable.
class Subprocess {
 public:
  /// Throws Error{NotFound} when there is no such program, Error{Io} when it cannot be started.
  static Subprocess start(const SubprocessOptions& options);
  Subprocess(Subprocess&& other) noexcept;
  Subprocess& operator=(Subprocess&& other) noexcept;
  ~Subprocess();

  pid_t pid() const { return pid_; }
  /// Waits at most `seconds` (0: only looks); nothing while it still runs. Once ended, always gives the same answer.
  std::optional<ExitStatus> wait(double seconds);
  /// Sends SIGKILL to the child's process group and reaps the child.
  ExitStatus kill();

 private:
  Subprocess(pid_t pid, UniqueFd handle) : pid_(pid), handle_(std::move(handle)) {}
  pid_t pid_ = -1;
  UniqueFd handle_;  // becomes readable when the child ends
  std::optional<ExitStatus> status_;
};

/// Starts children from one thread of its own. A child that asked to die with its parent (PR_SET_PDEATHSIG) dies with
/// the *thread* that started it; started through here, it lives as long as the Spawner.
class Spawner {
 public:
  Spawner();
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;
  ~Spawner();
  /// As Subprocess::start. Safe from any thread.
  Subprocess start(const SubprocessOptions& options);

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<std::function<void()>> work_;
  std::jthread thread_;
};

/// "SIGSEGV", or "signal 77" for one without a name.
std::string signal_name(int signal);

/// The folder of the running program. Throws Error{Io}.
std::filesystem::path executable_folder();

}  // namespace temper
