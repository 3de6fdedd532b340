// What happens when a kernel under test faults: the signal handler says on the shared fault page what it was, and the
// process ends.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "temper/protocol/worker.h"
#include "temper/runner/guarded_memory.h"

namespace temper::runner {

/// An address range in which a fault has a known meaning.
struct FaultZone {
  GuardedMemory::Zone range;
  protocol::FaultPage::Kind kind = protocol::FaultPage::OutOfBounds;
  std::string text;  ///< "accessed memory behind buffer 'y'"
};

/// While it lives, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT and SIGSYS end the process after the page was
/// written. Only one may live in a process: signal handlers have no other way to find it than a global.
class FaultHandler {
 public:
  /// `memory_limit`: bytes of address space that the process may use (0: no limit). A crash close to the limit counts
  /// as ResourceLimit: it is what a kernel does when it gets no memory.
  FaultHandler(protocol::FaultPage& page, std::int64_t memory_limit);
  FaultHandler(const FaultHandler&) = delete;
  FaultHandler& operator=(const FaultHandler&) = delete;
  ~FaultHandler();

  /// Replaces the zones. Not while a kernel runs.
  void watch(std::vector<FaultZone> zones);

  /// Gives the calling thread a stack for signals unless it has one, so that an overflow of its own stack can be told,
  /// and returns the zone in which such an overflow faults. Call once per thread that runs kernels; the memory lives as
  /// long as this handler.
  FaultZone guard_stack();

 private:
  static void handle(int signal, void* info, void* context);
  void report(int signal, std::uintptr_t address) noexcept;
  bool is_near_memory_limit() const noexcept;

  protocol::FaultPage* page_;
  std::int64_t memory_limit_;
  std::vector<FaultZone> zones_;
  std::atomic<bool> reported_{false};
  std::vector<std::unique_ptr<std::byte[]>> signal_stacks_;
};

}  // namespace temper::runner
