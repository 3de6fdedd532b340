#include "temper/peers/interleave.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "temper/peers/peer.h"
#include "temper/support/error.h"
#include "temper/support/random.h"

namespace temper::peers {
namespace {

constexpr std::int64_t kMaxCalls = std::int64_t{1} << 24;
constexpr int kMinRounds = 5;
constexpr int kMostMoreRounds = 40;  // times as many as asked for

/// Seconds of a call, found by doubling the calls until they fill half of `seconds`.
double calibrate(const Side& side, double seconds, const CancellationToken& cancellation) {
  cancellation.throw_if_requested();
  side.run(0, 1);
  for (std::int64_t calls = 1;; calls *= 2) {
    cancellation.throw_if_requested();
    const double took = side.run(calls, 0);
    if (took >= seconds / 2 || calls >= kMaxCalls) return took / static_cast<double>(calls);
  }
}

/// As fill `seconds`, one at least.
std::int64_t calls_for(double seconds, double seconds_per_call) {
  const double wanted = seconds_per_call > 0 ? std::ceil(seconds / seconds_per_call) : 1.0;
  return std::clamp<std::int64_t>(std::llround(std::min(wanted, static_cast<double>(kMaxCalls))), 1, kMaxCalls);
}

}  // namespace

Side side_of(std::string name, std::function<void()> function, const Clock& clock) {
  return {std::move(name), [function = std::move(function), &clock](std::int64_t calls, std::int64_t warmup) {
            for (std::int64_t i = 0; i < warmup; ++i) function();
            const double start = clock.seconds();
            for (std::int64_t i = 0; i < calls; ++i) function();
            return clock.seconds() - start;
          }};
}

Side side_of(Peer& peer) {
  return {std::string(peer.name()),
          [&peer](std::int64_t calls, std::int64_t warmup) { return peer.run(calls, warmup); }};
}

std::vector<SideTimes> interleave(const std::vector<Side>& sides, const InterleaveOptions& options) {
  if (sides.empty() || options.rounds < 1) {
    throw Error(ErrorCode::InvalidArgument, "A comparison needs at least one side and one round", "interleave");
  }
  std::vector<SideTimes> times;
  times.reserve(sides.size());
  std::vector<std::int64_t> warmup;
  for (const Side& side : sides) {
    const double call = calibrate(side, options.sample_seconds, options.cancellation);
    times.push_back({side.name, std::max(calls_for(options.sample_seconds, call), options.least_calls), 0, 0, 0, {}});
    warmup.push_back(options.warmup_seconds > 0
                         ? std::max(options.warmup_calls, calls_for(options.warmup_seconds, call))
                         : options.warmup_calls);
  }

  RandomStream random(options.seed);
  std::vector<std::size_t> order(sides.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  double spent = 0;
  const auto wants_more = [&](int rounds) {
    return rounds < options.rounds || (spent < options.least_seconds && rounds < kMostMoreRounds * options.rounds);
  };
  for (int round = 0; wants_more(round); ++round) {
    if (options.budget_seconds > 0 && spent >= options.budget_seconds && round >= kMinRounds) break;
    random.shuffle(order);
    for (const std::size_t i : order) {
      options.cancellation.throw_if_requested();
      const double seconds = sides[i].run(times[i].calls, warmup[i]);
      spent += seconds;
      times[i].samples.push_back(seconds / static_cast<double>(times[i].calls));
    }
  }
  for (SideTimes& side : times) summarize(side);
  return times;
}

void summarize(SideTimes& side) {
  side.median_seconds = median(side.samples);
  std::vector<double> sorted = side.samples;
  std::ranges::sort(sorted);
  side.min_seconds = sorted.front();
  side.quartile_seconds = sorted[(sorted.size() - 1) / 4];
}

double ratio(const SideTimes& peer, const SideTimes& temper) {
  TEMPER_CHECK(temper.quartile_seconds > 0, "a side has no time");
  return peer.quartile_seconds / temper.quartile_seconds;
}

double median(std::vector<double> values) {
  if (values.empty()) throw Error(ErrorCode::InvalidArgument, "There is no median of nothing", "median");
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace temper::peers
