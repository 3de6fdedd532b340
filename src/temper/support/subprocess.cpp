#include "temper/support/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <future>
#include <system_error>

#include "temper/support/error.h"

namespace temper {
namespace {

/// Lowest number of descriptors that are on their way to the child: above all numbers it may ask for.
constexpr int kTransit = 64;

[[noreturn]] void failed(const std::string& what, const std::string& where, int error) {
  throw Error(error == ENOENT ? ErrorCode::NotFound : ErrorCode::Io, what + ": " + std::strerror(error), where);
}

/// The two halves of what posix_spawn wants to know, freed together.
struct SpawnPlan {
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

ExitStatus reap(pid_t pid) {
  int status = 0;
  pid_t result = 0;
  do {
    result = waitpid(pid, &status, 0);
  } while (result < 0 && errno == EINTR);
  TEMPER_CHECK(result == pid, "nobody else reaps our children");
  return WIFSIGNALED(status) ? ExitStatus{0, WTERMSIG(status)} : ExitStatus{WEXITSTATUS(status), 0};
}

}  // namespace

Subprocess Subprocess::start(const SubprocessOptions& options) {
  const std::string path = options.executable.string();
  SpawnPlan plan;
  posix_spawn_file_actions_addopen(&plan.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&plan.actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<UniqueFd> transit;  // so that no target number is still needed as a source
  const auto pass = [&](int from, int to) {
    transit.emplace_back(fcntl(from, F_DUPFD_CLOEXEC, kTransit));
    if (!transit.back()) failed("cannot pass a descriptor to", path, errno);
    posix_spawn_file_actions_adddup2(&plan.actions, transit.back().get(), to);
  };
  if (options.standard_error >= 0) {
    pass(options.standard_error, STDERR_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&plan.actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  for (const auto& [from, to] : options.descriptors) {
    TEMPER_CHECK(to > STDERR_FILENO && to < kTransit, "a child's descriptor has a number from 3 to 63");
    pass(from, to);
  }

  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGHUP, SIGQUIT}) sigaddset(&defaults, signal);
  posix_spawnattr_setsigmask(&plan.attributes, &none);
  posix_spawnattr_setsigdefault(&plan.attributes, &defaults);
  posix_spawnattr_setpgroup(&plan.attributes, 0);
  posix_spawnattr_setflags(&plan.attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);

  std::vector<std::string> words{path};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  pid_t pid = -1;
  if (const int error = posix_spawn(&pid, path.c_str(), &plan.actions, &plan.attributes, argv.data(), environ);
      error != 0) {
    failed("cannot start", path, error);
  }
  UniqueFd handle(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!handle) {
    const int error = errno;
    ::kill(pid, SIGKILL);
    reap(pid);
    failed("cannot watch", path, error);
  }
  return Subprocess(pid, std::move(handle));
}

Subprocess::Subprocess(Subprocess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), handle_(std::move(other.handle_)), status_(other.status_) {}

Subprocess& Subprocess::operator=(Subprocess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(handle_, other.handle_);
  std::swap(status_, other.status_);
  return *this;
}

Subprocess::~Subprocess() {
  if (pid_ > 0) kill();
}

std::optional<ExitStatus> Subprocess::wait(double seconds) {
  if (status_) return status_;
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  for (;;) {
    pollfd entry{handle_.get(), POLLIN, 0};
    const double left = std::chrono::duration<double, std::milli>(end - Clock::now()).count();
    const int count = poll(&entry, 1, left <= 0 ? 0 : static_cast<int>(std::ceil(left)));
    if (count == 0) return std::nullopt;
    if (count > 0) break;
    if (errno != EINTR) failed("cannot wait for a child", std::to_string(pid_), errno);
  }
  status_ = reap(pid_);
  return status_;
}

ExitStatus Subprocess::kill() {
  if (!status_) {
    ::kill(-pid_, SIGKILL);
    status_ = reap(pid_);
  }
  return *status_;
}

Spawner::Spawner()
    : thread_([this](const std::stop_token& stop) {
        for (;;) {
          std::unique_lock lock(mutex_);
          if (!wake_.wait(lock, stop, [&] { return !work_.empty(); })) return;
          const std::function<void()> task = std::move(work_.front());
          work_.pop_front();
          lock.unlock();
          task();
        }
      }) {}

Spawner::~Spawner() = default;

Subprocess Spawner::start(const SubprocessOptions& options) {
  std::packaged_task<Subprocess()> task([&options] { return Subprocess::start(options); });
  std::future<Subprocess> result = task.get_future();
  {
    const std::scoped_lock lock(mutex_);
    work_.emplace_back([&task] { task(); });
  }
  wake_.notify_one();
  return result.get();
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : std::string("SIG") + name;
}

std::filesystem::path executable_folder() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw Error(ErrorCode::Io, "cannot find the running program: " + error.message(), "/proc/self/exe");
  return self.parent_path();
}

}  // namespace temper
