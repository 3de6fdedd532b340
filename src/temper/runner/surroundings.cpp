#include "temper/runner/surroundings.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

namespace temper::runner {
namespace {

constexpr int kAdditions = 16'000;  // some microseconds
/// The fastest of so many chains: an interruption of one is no change of the clock.
constexpr int kChains = 3;
constexpr std::chrono::microseconds kPause{200};
/// By so much the best probe grows at each later one: thousands of probes have a luckier minimum than ten, by some
/// percent.
constexpr double kForgetting = 1e-3;

/// `kAdditions` additions, each of which needs the one before.
void chain() {
  constexpr int kUnrolled = 16;
  std::uint64_t sum = 0;
  for (int i = 0; i < kAdditions / kUnrolled; ++i) {
    asm volatile(
        "add $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\tadd $1, "
        "%0\n\t"
        "add $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\tadd $1, %0"
        : "+r"(sum));
  }
}

}  // namespace

double SystemSurroundings::probe() {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kChains; ++i) {
    const double start = clock_.seconds();
    chain();
    best = std::min(best, clock_.seconds() - start);
  }
  return best;
}

Surroundings::Usage SystemSurroundings::usage() {
  Usage usage;
  timespec time{};
  rusage counts{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0)
    usage.cpu_seconds = static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  if (getrusage(RUSAGE_THREAD, &counts) == 0) usage.switches = counts.ru_nivcsw;
  return usage;
}

void SystemSurroundings::pause() { std::this_thread::sleep_for(kPause); }

std::vector<Disturbance> judge(std::span<const Reading> readings) {
  double fastest = std::numeric_limits<double>::infinity();
  for (const Reading& reading : readings) fastest = std::min(fastest, reading.probe_seconds);
  std::vector<Disturbance> result;
  for (const Reading& reading : readings) {
    result.push_back(reading.lost_share > kLostShare                       ? Disturbance::Others
                     : reading.probe_seconds > fastest * (1 + kClockShare) ? Disturbance::Clock
                                                                           : Disturbance::None);
  }
  return result;
}

bool Watch::settle() {
  const double start = clock_->seconds();
  for (;;) {
    const double probe = surroundings_->probe();
    if (best_ == 0 || probe <= best_ * (1 + kClockShare)) {
      best_ = best_ == 0 ? probe : std::min(best_ * (1 + kForgetting), probe);
      slow_since_ = -1;
      return true;
    }
    const double now = clock_->seconds();
    if (slow_since_ < 0) slow_since_ = now;
    if (now - slow_since_ >= kNewNormalSeconds) {
      best_ = probe;
      slow_since_ = -1;
      return true;
    }
    if (now - start >= kSettleSeconds) return false;
    surroundings_->pause();
  }
}

Reading Watch::read(const std::function<double()>& sample) {
  const Surroundings::Usage before = surroundings_->usage();
  const double start = clock_->seconds();
  Reading reading;
  reading.seconds = sample();
  const double wall = clock_->seconds() - start;
  const Surroundings::Usage after = surroundings_->usage();
  // A thread that waits for others of its own process does not run either, and nobody took the CPU from it.
  if (after.switches > before.switches && wall > 0)
    reading.lost_share = std::max(0.0, 1 - (after.cpu_seconds - before.cpu_seconds) / wall);
  reading.probe_seconds = surroundings_->probe();
  return reading;
}

void Watch::know(double best_probe) {
  if (best_ == 0 && best_probe > 0) best_ = best_probe;
}

}  // namespace temper::runner
