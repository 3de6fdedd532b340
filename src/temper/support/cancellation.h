// Asking long work to stop: one side requests, the other side looks now and then.
#pragma once

#include <atomic>
#include <memory>

#include "temper/support/error.h"

namespace temper {

/// A handle on one shared flag: copies refer to the same request. A default-constructed token can be cancelled too.
class CancellationToken {
 public:
  CancellationToken() : flag_(std::make_shared<std::atomic<bool>>(false)) {}
  /// Asks for a stop. Safe from any thread; from a signal handler as well, because the flag is lock-free.
  void request() const noexcept { flag_->store(true, std::memory_order_relaxed); }
  bool requested() const noexcept { return flag_->load(std::memory_order_relaxed); }
  /// Throws Error{Cancelled} when a stop was asked for.
  void throw_if_requested() const {
    if (requested()) throw Error(ErrorCode::Cancelled, "stopped on request");
  }

 private:
  static_assert(std::atomic<bool>::is_always_lock_free);
  std::shared_ptr<std::atomic<bool>> flag_;
};

}  // namespace temper
