// Timing one operator: Temper's kernel in this process, peers in theirs, interleaved.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "temper/peers/interleave.h"
#include "temper/peers/peer.h"
#include "temper/support/cancellation.h"
#include "temper/tune/lookup.h"
#include "temper/tune/task.h"

namespace temper::app {

struct PeerTime {
  std::string name, version;
  peers::SideTimes times;
  double ratio = 0;  ///< see `peers::ratio`
};

struct OpTimes {
  peers::SideTimes temper;
  std::vector<PeerTime> peers;
  std::vector<std::string> notes;  ///< peers that could not take part, and why
  double best_ratio = 0;           ///< against the fastest peer; 0 without peers
  double max_error = 0;  ///< relative to the largest absolute output, against the oracle at sampled points and every
                         ///< peer at every element
  std::optional<record::Record> record;
};

struct BenchOptions {
  std::vector<int> cpus;  ///< where kernels run, the first one first; the calling thread is pinned to it
  std::uint64_t seed = 0;
  bool native = true;  ///< peers use the layout that they like best
  int rounds = 25;
  double least_seconds = 2;  ///< more rounds until all timed calls add up to this; not in `bench_kernels`
  CancellationToken cancellation;
};

/// One of Temper's kernels and the peers that do the same work with as many threads.
struct Contest {
  const tune::Task& task;
  const tune::Built& built;
  std::span<peers::Peer> peers;  ///< started
};

/// Times the kernels and peers of all contests in turn, in one run, our code loaded anew every other round: every
/// contest is the same operator, with another number of threads or another kernel. The machine is theirs alone
/// meanwhile. A peer that cannot take the work is left out with a note. One result a contest, in their order. Throws
/// Error{Cancelled} when a stop was asked for.
std::vector<OpTimes> bench_op(std::span<const Contest> contests, const BenchOptions& options);

}  // namespace temper::app
