// A model's outputs, and what each of its steps computes, against ONNX Runtime.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "temper/app/difference.h"
#include "temper/app/inference.h"
#include "temper/app/model.h"
#include "temper/graph/step_outputs.h"
#include "temper/peers/peer.h"

namespace temper::app {

/// One output of the model; places are those of the last sample.
struct OutputCheck {
  std::string name;
  Difference difference;
};

/// One tensor that a step computes.
struct StepCheck {
  std::string step;                 ///< of the group's first node
  std::string task;                 ///< key
  std::string value;                ///< the model's name for it; empty: passes added it, and it cannot be compared
  std::vector<std::int64_t> shape;  ///< as stored
  double error = 0;                 ///< largest of all samples
};

struct ModelCheck {
  std::string version;  ///< of ONNX Runtime
  int samples = 0;
  std::vector<OutputCheck> outputs;
  std::vector<StepCheck> steps;  ///< in order of execution; empty unless asked for
  double largest_output_error() const;
  /// The compared step that is furthest off; null without one.
  const StepCheck* worst_step() const;
  std::size_t compared_steps() const;
  bool equal() const;
};

/// Compares inference with ONNX Runtime on the model file, with equal threads.
class ModelChecker {
 public:
  /// `model` is one as `peer_work` gives it. Throws what `peers::Peer` throws.
  ModelChecker(peers::PeerWork model, int threads);
  /// Also compares what every step computes. `built` is `program`, with its steps exposed, built with the kernels that
  /// are to be checked; `steps` says what they are.
  void add_steps(const graph::Program& program, std::vector<graph::StepOutput> steps, runtime::Plan built);
  /// One sample: compares the outputs of `inference`, which has run, with what ONNX Runtime makes of its inputs.
  void check(const Inference& inference);
  const ModelCheck& result() const { return result_; }

 private:
  void check_steps(const Inference& inference);

  peers::PeerWork model_;
  int threads_;
  peers::Peer peer_;
  std::optional<Inference> stepped_;
  std::vector<graph::StepOutput> steps_;
  std::string instrumented_;  ///< the model's bytes, with what steps compute as outputs
  ModelCheck result_;
};

/// Lines for people: each step, then one for each output.
std::string text(const ModelCheck& check);
nlohmann::json to_json(const ModelCheck& check);

}  // namespace temper::app
