// Time, passed in: whoever needs to know how long something took or what time it is gets a Clock.
#pragma once

#include <chrono>
#include <cstdint>

namespace temper {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Monotonic time since an arbitrary start.
  virtual std::chrono::nanoseconds now() const = 0;
  /// Wall-clock time in milliseconds since 1970-01-01 UTC.
  virtual std::int64_t unix_milliseconds() const = 0;

  /// `now()` in seconds.
  double seconds() const { return std::chrono::duration<double>(now()).count(); }
};

/// The clock of the operating system.
class SystemClock final : public Clock {
 public:
  std::chrono::nanoseconds now() const override;
  std::int64_t unix_milliseconds() const override;
};

/// A clock for tests: it stands still until it is told to advance.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(std::int64_t unix_milliseconds = 0) : unix_ms_(unix_milliseconds) {}
  std::chrono::nanoseconds now() const override { return elapsed_; }
  std::int64_t unix_milliseconds() const override {
    return unix_ms_ + std::chrono::duration_cast<std::chrono::milliseconds>(elapsed_).count();
  }
  void advance(std::chrono::nanoseconds by) { elapsed_ += by; }

 private:
  std::chrono::nanoseconds elapsed_{0};
  std::int64_t unix_ms_;
};

}  // namespace temper
