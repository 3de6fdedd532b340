// What a worker process (builder or runner) and the process that starts it agree on besides messages.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "temper/support/unique_fd.h"

namespace temper::protocol {

/// Descriptors that a worker is born with.
inline constexpr int kChannelFd = 3;    ///< the socket of its channel
inline constexpr int kFaultPageFd = 4;  ///< a FaultPage to share; runners only

/// Where a runner leaves word of how it died, readable when nothing else of it works any more. Written by its signal
/// handler.
struct FaultPage {
  enum Kind : std::int32_t { None = 0, Crash = 1, OutOfBounds = 2, ResourceLimit = 3 };
  static constexpr int kTextBytes = 240;
  std::atomic<std::int32_t> kind{None};  ///< written last
  std::int32_t signal = 0;
  std::uint64_t address = 0;
  char text[kTextBytes] = {};  ///< what happened, for people; ends with 0
};
static_assert(std::atomic<std::int32_t>::is_always_lock_free, "it is written by a signal handler");

/// One FaultPage in memory shared between processes.
class SharedFaultPage {
 public:
  /// Makes a new one. Throws Error{Io}.
  static SharedFaultPage create();
  /// Maps the one behind `fd`. Throws Error{Io}.
  static SharedFaultPage open(UniqueFd fd);
  SharedFaultPage(SharedFaultPage&& other) noexcept;
  SharedFaultPage& operator=(SharedFaultPage&& other) noexcept;
  ~SharedFaultPage();

  int fd() const { return fd_.get(); }
  FaultPage& page() { return *page_; }
  const FaultPage& page() const { return *page_; }

 private:
  SharedFaultPage(UniqueFd fd, FaultPage* page);
  UniqueFd fd_;
  FaultPage* page_ = nullptr;
};

/// For a worker, first thing in `main`: dies with the process `parent`. Ends this process at once when that is gone
/// already. The kernel ties the worker to the thread that started it, so that thread must live as long as its workers.
void die_with_parent(pid_t parent);

}  // namespace temper::protocol
