// What a call that measures tasks is made of: the session, and the clock, watchdog and hardware test that it points to.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "temper/support/clock.h"
#include "temper/tune/phase_clock.h"
#include "temper/tune/session.h"
#include "temper/tune/task.h"
#include "temper/tune/tune.h"
#include "temper/tune/watchdog.h"

namespace temper::tune {

/// What is done about silence: the first alarm requests a stop, and the caller hears of each.
class Stalls {
 public:
  explicit Stalls(const Options& options) : options_(&options) {}
  void handle(const Stall& stall);
  /// What the first one waited for; empty: there was none.
  std::string first() const;

 private:
  const Options* options_;
  mutable std::mutex mutex_;
  std::string first_;
};

class OpenSession {
 public:
  /// Starts processes unless the options bring a hardware test. Borrows the options; `tasks` must not be empty. Throws
  /// Error{InvalidArgument} when the tasks want different numbers of threads, and as `start_processes`.
  OpenSession(const Options& options, std::span<const Task> tasks);
  OpenSession(const OpenSession&) = delete;
  OpenSession& operator=(const OpenSession&) = delete;

  Session& session() { return session_; }
  PhaseClock& phases() { return phases_; }
  std::string stalled() const { return stalls_.first(); }

 private:
  Stalls stalls_;
  SystemClock system_clock_;
  PhaseClock phases_;
  Session session_;
  Watchdog watchdog_;
  std::unique_ptr<HardwareTest> processes_;
};

}  // namespace temper::tune
