#include "temper/peers/child_process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "temper/support/error.h"

extern char** environ;

namespace temper::peers {
namespace {

constexpr int kChannelFd = 3;

[[noreturn]] void refused(const char* call) {
  throw Error(ErrorCode::Io, std::string(call) + ": " + std::strerror(errno), "starting a peer's process");
}

std::vector<std::string> environment_of(const ChildCommand& command) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const bool dropped = std::ranges::any_of(command.dropped_prefixes,
                                             [&](const std::string& prefix) { return text.starts_with(prefix); });
    if (!dropped && !command.environment.contains(text.substr(0, text.find('=')))) result.push_back(text);
  }
  for (const auto& [name, value] : command.environment) result.push_back(std::string(name).append("=").append(value));
  return result;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// Between fork and exec: only calls that are safe after a fork of a process with threads.
[[noreturn]] void become(const char* path, char* const* argv, char* const* environment, const cpu_set_t* cores,
                         int channel, int output) {
  // Both descriptors are moved above those that they are copied to, so that neither copy overwrites the other's source.
  const int channel_copy = ::fcntl(channel, F_DUPFD_CLOEXEC, 10);
  const int output_copy = ::fcntl(output, F_DUPFD_CLOEXEC, 10);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // Ctrl-C reaches the whole process group; the tuner decides what happens to its peers.
  ::signal(SIGINT, SIG_IGN);
  if (::dup2(null, 0) >= 0 && ::dup2(output_copy, 1) >= 0 && ::dup2(output_copy, 2) >= 0 &&
      ::dup2(channel_copy, kChannelFd) >= 0 &&
      (cores == nullptr || ::sched_setaffinity(0, sizeof *cores, cores) == 0)) {
    ::execve(path, argv, environment);
  }
  const char* text = std::strerror(errno);
  [[maybe_unused]] const ssize_t written = ::write(output_copy, text, std::strlen(text));
  ::_exit(127);
}

}  // namespace

ChildProcess::ChildProcess(const ChildCommand& command) {
  const std::string path = command.executable.string();
  if (::access(path.c_str(), X_OK) != 0) {
    throw Error(ErrorCode::NotFound, "The program of a peer's process is not there", path);
  }
  std::vector<std::string> arguments{path};
  arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
  std::vector<std::string> environment = environment_of(command);
  const std::vector<char*> argument_pointers = pointers_to(arguments);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (const int core : command.cores) CPU_SET(static_cast<std::size_t>(core), &cores);

  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) refused("socketpair");
  channel_ = Channel(pair[0]);
  const Channel child_end(pair[1]);
  output_fd_ = ::memfd_create("temper-peer-output", MFD_CLOEXEC);
  if (output_fd_ < 0) refused("memfd_create");
  pid_ = ::fork();
  if (pid_ == 0) {
    become(path.c_str(), argument_pointers.data(), environment_pointers.data(),
           command.cores.empty() ? nullptr : &cores, child_end.fd(), output_fd_);
  }
  if (pid_ < 0) {
    const int reason = errno;
    ::close(output_fd_);
    errno = reason;
    refused("fork");
  }
}

ChildProcess::~ChildProcess() {
  if (!reaped_) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  ::close(output_fd_);
}

std::string ChildProcess::end_and_describe() {
  if (!reaped_) {
    // A child whose end of the channel has closed may be a moment from its exit status; one that hangs is killed.
    constexpr int kTries = 50;
    for (int i = 0; i < kTries && !reaped_; ++i) {
      if (::waitpid(pid_, &status_, WNOHANG) == pid_) reaped_ = true;
      if (!reaped_) ::usleep(2000);
    }
    if (!reaped_) {
      ::kill(pid_, SIGKILL);
      while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
      }
      reaped_ = true;
    }
  }
  std::string text;
  if (WIFSIGNALED(status_)) {
    const char* name = ::sigabbrev_np(WTERMSIG(status_));
    text = std::string("ended by SIG") + (name != nullptr ? name : std::to_string(WTERMSIG(status_)).c_str());
  } else {
    text = "ended with exit code " + std::to_string(WEXITSTATUS(status_));
  }
  constexpr off_t kTail = 2000;
  const off_t size = ::lseek(output_fd_, 0, SEEK_END);
  std::string tail(static_cast<std::size_t>(std::clamp<off_t>(size, 0, kTail)), '\0');
  const ssize_t got = ::pread(output_fd_, tail.data(), tail.size(), std::max<off_t>(0, size - kTail));
  tail.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  while (!tail.empty() && tail.back() == '\n') tail.pop_back();
  if (!tail.empty()) text += "; its last words: " + tail;
  return text;
}

std::vector<int> first_cores(int count) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) refused("sched_getaffinity");
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE && std::cmp_less(cores.size(), count); ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &allowed)) cores.push_back(core);
  }
  if (count < 1 || std::cmp_less(cores.size(), count)) {
    throw Error(ErrorCode::InvalidArgument, "This process may use " + std::to_string(cores.size()) + " cores",
                "threads", "ask for at most that many threads, and at least one");
  }
  return cores;
}

}  // namespace temper::peers
