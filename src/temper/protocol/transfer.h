// Bytes over a socket within a time limit; interrupted and partial transfers are resumed.
#pragma once

#include <chrono>
#include <optional>
#include <span>

namespace temper::protocol {

/// Seconds to wait; nothing: without end.
using Timeout = std::optional<double>;

/// A point in time to wait for, or none.
class Deadline {
 public:
  explicit Deadline(Timeout timeout);
  /// For `poll`: -1 without end, else at least 0, rounded up.
  int milliseconds_left() const;

 private:
  std::optional<std::chrono::steady_clock::time_point> end_;
};

/// Waits for `events` of poll; false when the deadline passed first. Throws Error{Io}.
bool wait_for(int fd, short events, const Deadline& deadline);

/// Throws Error{Io} when the other side is gone, Error{Busy} when it does not take everything in time.
void send_all(int fd, std::span<const char> bytes, const Deadline& deadline);

/// Fills `bytes`; false when the stream ends before. Throws Error{Io}, Error{Busy} when it stops arriving.
bool receive_all(int fd, std::span<char> bytes, const Deadline& deadline);

}  // namespace temper::protocol
