// Notices when work stands still. Every wait for a builder or a runner has a limit of its own; what has none is code
// that does not return: a strategy, a template, a cost model. No thread can be stopped from outside, so all that can be
// done is to see it and say what it is.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace temper::tune {

/// Work from which nothing has been heard.
struct Stall {
  std::string what;    ///< "searching for candidates of NAME"
  double seconds = 0;  ///< of silence
  int alarms = 1;      ///< which alarm of this silence it is
};

class Watchdog {
 public:
  using Alarm = std::function<void(const Stall&)>;

  /// Calls `alarm`, on a thread of its own, after `limit_seconds` without a `note`, and again after each further
  /// `limit_seconds`. A limit of 0 watches nothing. Time in which the whole process was stopped does not count.
  Watchdog(double limit_seconds, Alarm alarm);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog();

  /// A sign of life; `what` begins now.
  void note(std::string what);

 private:
  void watch(double limit_seconds);

  Alarm alarm_;
  std::mutex mutex_;
  std::condition_variable ending_;
  std::string what_;
  double silence_ = 0;  ///< seconds
  int alarms_ = 0;
  bool over_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace temper::tune
