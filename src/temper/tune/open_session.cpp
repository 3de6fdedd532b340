#include "temper/tune/open_session.h"

#include <cstdint>

#include "temper/support/error.h"
#include "temper/support/logging.h"
#include "temper/tune/processes.h"

namespace temper::tune {

void Stalls::handle(const Stall& stall) {
  {
    const std::lock_guard lock(mutex_);
    if (first_.empty()) first_ = stall.what;
  }
  options_->cancellation.request();
  if (options_->on_stall) {
    options_->on_stall(stall);
  } else {
    log_error("nothing was heard for " + std::to_string(static_cast<std::int64_t>(stall.seconds)) + " s from " +
              stall.what + "; a stop was requested");
  }
}

std::string Stalls::first() const {
  const std::lock_guard lock(mutex_);
  return first_;
}

OpenSession::OpenSession(const Options& options, std::span<const Task> tasks)
    : stalls_(options),
      phases_(options.clock != nullptr ? *options.clock : system_clock_, Phase::Search, tasks.size()),
      watchdog_(options.stall_seconds, [this](const Stall& stall) { stalls_.handle(stall); }) {
  for (const Task& task : tasks) {
    if (task.threads == tasks.front().threads) continue;
    throw Error(ErrorCode::InvalidArgument, "tasks of one call must use the same number of threads", task.name,
                "take them in separate calls");
  }
  session_.options = &options;
  session_.clock = options.clock != nullptr ? options.clock : &system_clock_;
  session_.phases = &phases_;
  session_.watchdog = &watchdog_;
  session_.target = options.target ? *options.target : target::detect();
  session_.fingerprint = target::fingerprint(session_.target);
  session_.tasks = tasks.size();
  watchdog_.note("starting builders and runners");
  if (options.hardware == nullptr) {
    const PhaseClock::Scope scope(phases_, Phase::Idle);
    processes_ = start_processes(session_.target, tasks.front().threads, options.cancellation, *session_.clock,
                                 options.programs, options.timing);
  }
  session_.hardware = options.hardware != nullptr ? options.hardware : processes_.get();
}

}  // namespace temper::tune
