#include "temper/app/exclusive.h"

#include "temper/measure/timing_lock.h"

namespace temper::app {

std::vector<peers::SideTimes> interleave_alone(const std::vector<peers::Side>& sides,
                                               const peers::InterleaveOptions& options) {
  using measure::TimingLock;
  TimingLock lock;
  const auto guard = lock.acquire(TimingLock::Mode::Time, options.cancellation);
  options.cancellation.throw_if_requested();
  return peers::interleave(sides, options);
}

}  // namespace temper::app
