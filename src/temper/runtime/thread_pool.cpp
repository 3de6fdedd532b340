#include "temper/runtime/thread_pool.h"

#include <immintrin.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "temper/support/error.h"

namespace temper::runtime {
namespace {

/// About 20 to 50 microseconds of waiting: longer than the gap between two phases, shorter than a scheduler's tick.
constexpr int kSpins = 1000;

/// Waits until `value` differs from `old`: first spinning, then asleep.
template <class T>
T wait_for_change(const std::atomic<T>& value, T old) {
  for (int spin = 0; spin < kSpins; ++spin) {
    const T now = value.load(std::memory_order_acquire);
    if (now != old) return now;
    _mm_pause();
  }
  for (;;) {
    value.wait(old, std::memory_order_acquire);
    const T now = value.load(std::memory_order_acquire);
    if (now != old) return now;
  }
}

/// Pins the calling thread; an error number of the system, or 0.
/// The calling thread's. `cpus`: at least one.
int set_affinity(std::span<const int> cpus) {
  std::vector<cpu_set_t> set(static_cast<std::size_t>(*std::ranges::max_element(cpus)) / CPU_SETSIZE + 1);
  const std::size_t size = set.size() * sizeof(cpu_set_t);
  CPU_ZERO_S(size, set.data());
  for (const int cpu : cpus) CPU_SET_S(static_cast<unsigned>(cpu), size, set.data());
  return pthread_setaffinity_np(pthread_self(), size, set.data());
}

int set_affinity(int cpu) { return set_affinity({&cpu, 1}); }

}  // namespace

ThreadPool::ThreadPool(int threads, std::span<const int> cpus) {
  TEMPER_CHECK(threads >= 1, "a pool has at least the calling thread");
  workers_.reserve(static_cast<std::size_t>(threads - 1));
  for (int thread = 1; thread < threads; ++thread) {
    const int cpu = static_cast<std::size_t>(thread) < cpus.size() ? cpus[static_cast<std::size_t>(thread)] : kUnpinned;
    workers_.emplace_back([this, thread, cpu] {
      if (cpu != kUnpinned) set_affinity(cpu);  // a refusal costs speed only: the work is right on any CPU
      work(thread);
    });
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
}

void ThreadPool::run_share(int thread) const {
  const std::int64_t count = threads();
  const std::int64_t base = job_.extent / count, larger = job_.extent % count;
  const std::int64_t begin = thread * base + std::min<std::int64_t>(thread, larger);
  const std::int64_t end = begin + base + (thread < larger ? 1 : 0);
  if (begin < end) job_.fn(job_.context, thread, begin, end);
}

void ThreadPool::work(int thread) {
  std::uint32_t seen = 0;
  for (;;) {
    seen = wait_for_change(generation_, seen);
    if (stop_.load(std::memory_order_relaxed)) return;
    run_share(thread);
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) pending_.notify_one();
  }
}

void ThreadPool::parallel_for(std::int64_t extent, Range fn, void* context) {
  if (extent <= 0) return;
  if (workers_.empty() || extent == 1) {
    fn(context, 0, 0, extent);
    return;
  }
  job_ = {fn, context, extent};
  pending_.store(static_cast<std::int32_t>(workers_.size()), std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  run_share(0);
  for (std::int32_t left = pending_.load(std::memory_order_acquire); left != 0;) left = wait_for_change(pending_, left);
}

void Scratch::reserve(int threads, std::int64_t bytes) {
  const std::int64_t stride = std::max(stride_, align_up(bytes, 2 * kAlignment));  // no cache line pair is shared
  const auto count = std::max(pointers_.size(), static_cast<std::size_t>(threads));
  if (stride == stride_ && count == pointers_.size()) return;
  memory_ = AlignedBuffer(stride * static_cast<std::int64_t>(count));
  stride_ = stride;
  pointers_.resize(count);
  for (std::size_t i = 0; i < count; ++i) pointers_[i] = memory_.data() + static_cast<std::int64_t>(i) * stride_;
}

void run_phases(std::span<const temper_phase> phases, void* const* buffers, ThreadPool& pool,
                std::span<void* const> scratch) {
  struct Context {
    const temper_phase* phase;
    void* const* buffers;
    std::span<void* const> scratch;
  };
  for (const temper_phase& phase : phases) {
    Context context{&phase, buffers, scratch};
    pool.parallel_for(
        phase.extent,
        [](void* opaque, int thread, std::int64_t begin, std::int64_t end) {
          const auto& c = *static_cast<Context*>(opaque);
          c.phase->fn(c.buffers, c.scratch[static_cast<std::size_t>(thread)], begin, end);
        },
        &context);
  }
}

std::vector<int> allowed_cpus() {
  // The kernel may know more CPUs than `cpu_set_t` holds: grow the mask until it fits.
  for (int capacity = CPU_SETSIZE;; capacity *= 2) {
    std::vector<cpu_set_t> set(static_cast<std::size_t>(capacity / CPU_SETSIZE));
    const std::size_t size = set.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, size, set.data()) == 0) {
      std::vector<int> cpus;
      for (int cpu = 0; cpu < capacity; ++cpu) {
        if (CPU_ISSET_S(static_cast<unsigned>(cpu), size, set.data())) cpus.push_back(cpu);
      }
      return cpus;
    }
    if (errno != EINVAL || capacity > (1 << 20)) {
      throw Error(ErrorCode::Io, std::string("cannot read the allowed CPUs: ") + std::strerror(errno));
    }
  }
}

void pin_current_thread(int cpu) {
  if (const int error = set_affinity(cpu); error != 0) {
    throw Error(ErrorCode::Io, "cannot pin a thread to CPU " + std::to_string(cpu) + ": " + std::strerror(error));
  }
}

PinnedThread::PinnedThread(int cpu) : before_(allowed_cpus()) { pin_current_thread(cpu); }

PinnedThread::~PinnedThread() { set_affinity(before_); }

}  // namespace temper::runtime
