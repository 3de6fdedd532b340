#include "temper/support/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace temper {

void share_among_threads(int count, int threads, const std::function<void(int)>& work) {
  std::atomic<int> next = 0;
  std::mutex mutex;
  std::exception_ptr failed;
  const auto take_turns = [&] {
    for (int i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (!failed) failed = std::current_exception();
        next = count;
      }
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (int i = 1; i < std::min(threads, count); ++i) others.emplace_back(take_turns);
    } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): those that are there do it
    }
    take_turns();
  }
  if (failed) std::rethrow_exception(failed);
}

}  // namespace temper
