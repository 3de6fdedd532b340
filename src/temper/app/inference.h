// Running whole models: inputs, outputs, comparison, and timing side by side with ONNX Runtime.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "temper/peers/interleave.h"
#include "temper/peers/work.h"
#include "temper/runtime/executor.h"

namespace temper::app {

/// A model with memory for its inputs and outputs.
class Inference {
 public:
  /// Throws as `runtime::Executor`, and Error{Io} that names the tensor when there is no memory for one.
  /// `cpus`: as `runtime::ExecutorOptions::cpus`.
  Inference(const std::shared_ptr<const runtime::Plan>& plan, int threads, bool time_steps = false,
            std::vector<int> cpus = {});

  const runtime::Plan& plan() const { return executor_.plan(); }
  /// Fills f32 and f64 inputs with numbers from [0, 1), integers with zeros; the same for the same seed.
  void fill_random(std::uint64_t seed);
  /// Throws Error{InvalidArgument} for an unknown name or a wrong size.
  void set_input(const std::string& name, std::span<const std::byte> bytes);
  void run();
  /// Seconds of each step of the last run, if asked for.
  std::span<const double> step_seconds() const { return executor_.step_seconds(); }
  std::span<const std::byte> output(std::size_t index) const { return outputs_[index]; }
  std::span<const std::byte> input(std::size_t index) const { return inputs_[index]; }
  /// Inputs in the form that peers take.
  std::vector<peers::Tensor> peer_inputs() const;

 private:
  runtime::Executor executor_;
  std::vector<std::vector<std::byte>> inputs_, outputs_;
};

/// The largest `Difference::error` over all outputs. Throws Error{Internal} when names, types or sizes differ.
double largest_difference(const Inference& temper, const std::vector<peers::Tensor>& reference);

}  // namespace temper::app
