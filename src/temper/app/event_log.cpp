#include "temper/app/event_log.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string_view>

#include "temper/support/error.h"

namespace temper::app {
namespace {

constexpr int kPatienceMilliseconds = 1000;

/// While it lives, a write to a pipe without a reader is an error and not the end of the process.
class WithoutPipeSignal {
 public:
  WithoutPipeSignal() {
    sigset_t pipe{};
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before_);
  }
  WithoutPipeSignal(const WithoutPipeSignal&) = delete;
  WithoutPipeSignal& operator=(const WithoutPipeSignal&) = delete;
  ~WithoutPipeSignal() {
    if (sigismember(&before_, SIGPIPE) == 0) {
      sigset_t pipe{};
      sigemptyset(&pipe);
      sigaddset(&pipe, SIGPIPE);
      const timespec none{};
      while (sigtimedwait(&pipe, nullptr, &none) > 0) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t before_{};
};

/// 0, or the error.
int write_all(int out, std::string_view text) {
  const WithoutPipeSignal guard;
  while (!text.empty()) {
    const ssize_t count = ::write(out, text.data(), text.size());
    if (count > 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      pollfd ready{out, POLLOUT, 0};
      if (poll(&ready, 1, kPatienceMilliseconds) == 0) return ETIMEDOUT;
    } else if (count == 0 || errno != EINTR) {
      return count == 0 ? EIO : errno;
    }
  }
  return 0;
}

}  // namespace

nlohmann::json event_json(const tune::Event& event) {
  using Kind = tune::Event::Kind;
  nlohmann::json out{{"event", tune::to_string(event.kind)},
                     {"elapsed_seconds", event.elapsed_seconds},
                     {"tasks", event.tasks},
                     {"trials", event.trials}};
  if (event.trials_left) out["trials_left"] = *event.trials_left;
  if (event.seconds_left) out["seconds_left"] = *event.seconds_left;
  if (event.resident_bytes > 0) out["resident_bytes"] = event.resident_bytes;
  if (event.kind == Kind::Started || event.kind == Kind::Finished) return out;
  out.update({{"task", event.task},
              {"name", event.name},
              {"key", event.key},
              {"count", event.count},
              {"task_trials", event.task_trials},
              {"default_seconds", event.default_seconds},
              {"best_seconds", event.best_seconds},
              {"roofline_seconds", event.roofline_seconds},
              {"failures", event.failures}});
  if (event.kind == Kind::TaskFailed) out["reason"] = event.reason;
  if (!event.trial) return out;
  const tune::TrialEvent& trial = *event.trial;
  nlohmann::json& told = out["trial"] = {{"candidate", trial.candidate},
                                         {"origin", trial.origin},
                                         {"failure", record::to_string(trial.failure)},
                                         {"build_seconds", trial.build_seconds},
                                         {"run_seconds", trial.run_seconds}};
  if (trial.failure == record::FailureKind::None) {
    told["seconds"] = trial.seconds;
  } else {
    told["reason"] = trial.reason;
  }
  return out;
}

nlohmann::json event_json(const tune::Stall& stall) {
  return {{"event", "stalled"}, {"what", stall.what}, {"silent_seconds", stall.seconds}, {"alarms", stall.alarms}};
}

EventLog::EventLog(const std::filesystem::path& file) : file_(file) {
  // A pipe that nobody reads must not hold up the run: with this flag it is refused.
  out_ = UniqueFd(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666));
  if (out_) return;
  const int error = errno;
  const ErrorCode code = error == ENOENT || error == ENOTDIR ? ErrorCode::NotFound : ErrorCode::Io;
  throw Error(
      code, std::string("the events cannot be written: ") + std::strerror(error), file.string(),
      error == ENXIO ? "start the reader of the pipe first" : "check that the folder exists and may be written");
}

std::optional<std::string> EventLog::write(nlohmann::json event) {
  const std::lock_guard lock(mutex_);
  if (!out_) return std::nullopt;
  event["schema"] = kEventSchema;
  const std::string line = event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  const int error = write_all(out_.get(), line);
  if (error == 0) return std::nullopt;
  out_ = UniqueFd();
  const std::string reason = error == ETIMEDOUT ? "its reader does not read" : std::strerror(error);
  return "no more events are written to " + file_.string() + ": " + reason;
}

}  // namespace temper::app
