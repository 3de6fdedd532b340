// Threads for parallel phases, tuned for phases of a few microseconds.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "temper/runtime/memory.h"
#include "temper/target/artifact_abi.h"

namespace temper::runtime {

/// `threads` threads, the calling one among them. Workers wait for work by spinning for some microseconds and then
/// sleep on a futex, so that phases in quick succession cost no system call and an idle pool costs nothing. One caller
/// at a time; not reentrant.
class ThreadPool {
 public:
  /// `cpus`: worker i (from 1 on) is pinned to `cpus[i]` where there is one; `cpus[0]` stands for the caller, which is
  /// never pinned here. Requires threads >= 1.
  explicit ThreadPool(int threads, std::span<const int> cpus = {});
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// `fn(context, thread, begin, end)` for contiguous, non-empty ranges that cover [0, extent) once, at most one per
  /// thread, sizes differing by at most one. Returns when all are done. `fn` must not throw.
  using Range = void (*)(void* context, int thread, std::int64_t begin, std::int64_t end);
  void parallel_for(std::int64_t extent, Range fn, void* context);

 private:
  void work(int thread);
  void run_share(int thread) const;

  struct Job {
    Range fn = nullptr;
    void* context = nullptr;
    std::int64_t extent = 0;
  };
  Job job_;
  alignas(kAlignment) std::atomic<std::uint32_t> generation_{0};
  alignas(kAlignment) std::atomic<std::int32_t> pending_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::jthread> workers_;
};

/// Scratch memory for the threads of a pool: 64-byte aligned, one part per thread, grown on demand.
class Scratch {
 public:
  /// Makes sure that each of `threads` threads has `bytes` bytes. Pointers given before may change.
  void reserve(int threads, std::int64_t bytes);
  /// One pointer for each thread that memory was reserved for.
  std::span<void* const> pointers() const { return pointers_; }

 private:
  AlignedBuffer memory_;
  std::int64_t stride_ = 0;
  std::vector<void*> pointers_;
};

/// A CPU number that means "not pinned".
inline constexpr int kUnpinned = -1;

/// Runs phases one after another on the pool. `scratch`: a pointer for each thread of the pool, to the phases' largest
/// scratch.
void run_phases(std::span<const temper_phase> phases, void* const* buffers, ThreadPool& pool,
                std::span<void* const> scratch);

/// The CPUs that this process may use, in increasing order.
std::vector<int> allowed_cpus();
/// Pins the calling thread. Throws Error{Io} when the system refuses.
void pin_current_thread(int cpu);

/// Pins the calling thread while it lives; then that thread may use the CPUs from before.
class PinnedThread {
 public:
  /// Throws as `pin_current_thread`.
  explicit PinnedThread(int cpu);
  ~PinnedThread();
  PinnedThread(const PinnedThread&) = delete;
  PinnedThread& operator=(const PinnedThread&) = delete;

 private:
  std::vector<int> before_;
};

}  // namespace temper::runtime
