// Timing a whole model: default code, tuned code and other libraries in turn, in one run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "temper/app/inference.h"
#include "temper/support/cancellation.h"

namespace temper::app {

/// Another library on the same model file.
struct RacedPeer {
  std::string name, version;
  std::string error;  ///< why it could not run; then there are no times
  peers::SideTimes times;
};

struct ModelTimes {
  std::vector<peers::SideTimes> sides;  ///< of the plans, in their order
  std::vector<RacedPeer> peers;         ///< as `RaceOptions::peers`
  std::vector<double> max_error;  ///< per plan: largest difference to any peer over `checked_inputs` random inputs;
                                  ///< empty when no peer could run
  int checked_inputs = 0;
};

struct NamedPlan {
  std::string name;
  std::shared_ptr<const runtime::Plan> plan;
};

struct RaceOptions {
  int threads = 1;
  std::vector<std::string> peers = {};  ///< names of `peers::known_peers` that run models
  std::uint64_t seed = 0;
  int checks = 3;              ///< random inputs on which the outputs are compared with ONNX Runtime's
  int rounds = 31;             ///< samples of each side, fewer when they take long
  double budget_seconds = 20;  ///< of all samples together
  CancellationToken cancellation;
};

/// Runs the plans, and the peers on the model (see `peer_work`), with equal threads on the same cores, the first that
/// this process may use, and the machine to themselves. Where there are fewer cores than threads, plans are not pinned.
/// Throws Error{Cancelled}, and what `Inference` throws.
ModelTimes race_models(const std::vector<NamedPlan>& plans, const peers::PeerWork& work, const RaceOptions& options);

/// Kernels that win alone can lose together: they meet other caches, and other neighbours. Whether `tuned` takes longer
/// than `untuned`, sides of one race, by more than chance and a busy machine explain: in the best sample of each, and
/// in the median of the rounds.
bool loses(const peers::SideTimes& tuned, const peers::SideTimes& untuned);

/// Whether both plans run the same kernels: then there is nothing to race.
bool same_kernels(const runtime::Plan& a, const runtime::Plan& b);

}  // namespace temper::app
