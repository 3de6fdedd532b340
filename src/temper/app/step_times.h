// Where a model's time goes: each of its steps, timed within runs of the whole.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "temper/graph/tasks.h"
#include "temper/runtime/plan.h"
#include "temper/support/cancellation.h"

namespace temper::app {

struct StepTime {
  std::string step;           ///< name of its first node
  std::string task;           ///< workload, as `temper explain MODEL` names it
  double flops = 0;           ///< of one execution
  double median_seconds = 0;  ///< over the runs
  double min_seconds = 0;     ///< on a busy machine what a step of milliseconds takes, which others interrupt
};

struct StepTimesOptions {
  int threads = 1;
  int runs = 31;
  std::uint64_t seed = 0;  ///< of the inputs
  CancellationToken cancellation;
};

/// Runs the plan, which was built of `program`, with the machine to itself. In order of execution. Throws
/// Error{Cancelled}, and what `Inference` throws.
std::vector<StepTime> time_steps(const graph::Program& program, const std::shared_ptr<const runtime::Plan>& plan,
                                 const StepTimesOptions& options);

/// Lines for people: the steps in order, each with its part of the sum of medians, then the sums.
std::string text(const std::vector<StepTime>& steps);
nlohmann::json to_json(const std::vector<StepTime>& steps);

}  // namespace temper::app
