// Timing one operator: Temper's kernel in this process, peers in theirs, interleaved.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "temper/peers/interleave.h"
#include "temper/peers/peer.h"
#include "temper/tune/lookup.h"
#include "temper/tune/task.h"

namespace temper::app {

struct PeerTime {
  std::string name, version;
  peers::SideTimes times;
  double ratio = 0;  ///< peer median / Temper median
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
  int threads = 1;
  std::uint64_t seed = 0;
  bool native = true;  ///< peers use the layout that they like best
  int rounds = 25;
};

/// Times the kernel `built` of `task` beside the peers. `peer_list`: started peers; those that cannot take the work are
/// skipped with a note.
OpTimes bench_op(const tune::Task& task, const tune::Built& built, std::vector<peers::Peer>& peer_list,
                 const BenchOptions& options);

}  // namespace temper::app
