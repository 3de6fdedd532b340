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

tune::Built build_between_timings(const CancellationToken& cancelled, const std::function<tune::Built()>& build) {
  using measure::TimingLock;
  TimingLock lock;
  const auto guard = lock.acquire(TimingLock::Mode::Build, cancelled);
  cancelled.throw_if_requested();
  return build();
}

}  // namespace temper::app
