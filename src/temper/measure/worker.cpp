#include "temper/measure/worker.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <system_error>
#include <utility>

#include "temper/protocol/handshake.h"
#include "temper/support/error.h"

namespace temper::measure {
namespace {

/// A closed channel means that the process is ending; longer than this is a process that closed it and goes on.
constexpr double kDyingSeconds = 5;
constexpr std::int64_t kLastWords = 400;

using record::FailureKind;

std::optional<Death> word_of(const protocol::FaultPage& page) {
  const std::string text(page.text, strnlen(page.text, sizeof page.text));
  switch (page.kind.load(std::memory_order_acquire)) {
    case protocol::FaultPage::None: return std::nullopt;
    case protocol::FaultPage::OutOfBounds: return Death{FailureKind::OutOfBounds, text};
    case protocol::FaultPage::ResourceLimit: return Death{FailureKind::ResourceLimit, text};
    default: return Death{FailureKind::Crash, text};
  }
}

}  // namespace

Worker Worker::start(Spawner& spawner, const WorkerCommand& command) {
  protocol::SocketPair sockets = protocol::make_socket_pair();
  protocol::SharedFaultPage fault = protocol::SharedFaultPage::create();
  UniqueFd errors(memfd_create("temper-errors", MFD_CLOEXEC));
  if (!errors) throw Error(ErrorCode::Io, std::string("cannot make an in-memory file: ") + std::strerror(errno));
  SubprocessOptions options;
  options.executable = command.executable;
  options.arguments = {std::to_string(getpid()), std::to_string(command.memory_limit)};
  for (const int cpu : command.cpus) options.arguments.push_back(std::to_string(cpu));
  options.descriptors = {{sockets.second.get(), protocol::kChannelFd}, {fault.fd(), protocol::kFaultPageFd}};
  options.standard_error = errors.get();
  Subprocess process = spawner.start(options);
  return Worker(std::move(process), protocol::Channel(std::move(sockets.first)), std::move(fault), std::move(errors));
}

Worker::Worker(Subprocess process, protocol::Channel channel, protocol::SharedFaultPage fault, UniqueFd errors)
    : process_(std::move(process)),
      channel_(std::move(channel)),
      fault_(std::move(fault)),
      errors_(std::move(errors)) {}

void Worker::greet(double seconds) {
  if (greeted_) return;
  try {
    protocol::shake_hands(channel_, "tuner", seconds);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Io) throw;
    const Death death = bury();
    throw Error(ErrorCode::Io, "a worker process does not start: " + death.reason, {},
                "reinstall Temper, or free memory");
  }
  greeted_ = true;
}

Death Worker::bury() {
  const std::optional<ExitStatus> status = process_.wait(kDyingSeconds);
  if (!status) process_.kill();
  const std::string words = last_words();
  const std::string tail = words.empty() ? "" : ": " + words;
  if (const auto word = word_of(fault_.page())) return *word;
  if (!status) return {FailureKind::Crash, "closed its channel and went on" + tail};
  if (status->signal == SIGKILL)
    return {FailureKind::ResourceLimit, "killed by the system, as it does without memory" + tail};
  if (status->signal != 0) return {FailureKind::Crash, "died by " + signal_name(status->signal) + tail};
  return {FailureKind::Crash, "ended by itself with exit code " + std::to_string(status->code) + tail};
}

std::string Worker::last_words() const {
  struct stat status{};
  if (fstat(errors_.get(), &status) != 0) return {};
  const std::int64_t begin = std::max<std::int64_t>(0, status.st_size - kLastWords);
  std::string text(static_cast<std::size_t>(status.st_size - begin), '\0');
  const ssize_t count = pread(errors_.get(), text.data(), text.size(), begin);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

std::filesystem::path find_program(const std::string& name) {
  namespace fs = std::filesystem;
  fs::path beside = executable_folder() / name;
  if (access(beside.c_str(), X_OK) == 0) return beside;
  const char* folders = std::getenv("PATH");
  std::istringstream list(folders != nullptr ? folders : "");
  for (std::string folder; std::getline(list, folder, ':');) {
    fs::path path = fs::path(folder) / name;
    std::error_code ignored;
    if (!folder.empty() && access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path, ignored)) return path;
  }
  throw Error(ErrorCode::NotFound, "the program " + name + " is missing", beside.string(),
              "put the folder of Temper's programs into PATH, or name it in tune::Options::programs");
}

}  // namespace temper::measure
