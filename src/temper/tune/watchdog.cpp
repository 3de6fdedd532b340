#include "temper/tune/watchdog.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace temper::tune {

Watchdog::Watchdog(double limit_seconds, Alarm alarm) : alarm_(std::move(alarm)) {
  if (limit_seconds > 0) thread_ = std::thread([this, limit_seconds] { watch(limit_seconds); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ending_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::note(std::string what) {
  const std::lock_guard lock(mutex_);
  what_ = std::move(what);
  silence_ = 0;
  alarms_ = 0;
}

void Watchdog::watch(double limit_seconds) {
  using std::chrono::duration;
  using std::chrono::steady_clock;
  const double look = std::clamp(limit_seconds / 20, 0.005, 1.0);
  std::unique_lock lock(mutex_);
  steady_clock::time_point last = steady_clock::now();
  while (!ending_.wait_for(lock, duration<double>(look), [&] { return over_; })) {
    const steady_clock::time_point now = steady_clock::now();
    // A look that comes much too late says that this process was stopped, not that its work was silent.
    silence_ += std::min(duration<double>(now - std::exchange(last, now)).count(), 2 * look);
    if (silence_ < limit_seconds * (alarms_ + 1)) continue;
    const Stall stall{what_, silence_, ++alarms_};
    lock.unlock();
    alarm_(stall);
    lock.lock();
    last = steady_clock::now();
  }
}

}  // namespace temper::tune
