// Programs → plans that the runtime executes.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "temper/graph/tasks.h"
#include "temper/runtime/plan.h"

namespace temper::graph {

/// The compiled kernel of a task: the bytes of a shared object (target/artifact_abi.h) whose buffers carry the names of
/// the definition's placeholders and outputs. Called once for each distinct task.
using ArtifactOf = std::function<runtime::Bytes(const Task& task)>;

struct PlanOptions {
  std::vector<std::string> cpu_features;        ///< see `runtime::Plan::cpu_features`
  std::map<std::string, std::string> metadata;  ///< travels with the plan
};

/// Tensors, steps, constants and a memory plan with reuse. Views cost nothing: what they read is bound directly, and
/// parts are bound inside of their wholes. A graph output that steps write is written where the caller wants it; one
/// that is an input, a constant, a part or a second name of another output is copied at the end. Throws what
/// `artifact_of` throws, and Error{Internal} when an artifact does not fit its task.
runtime::Plan build_plan(const Program& program, const ArtifactOf& artifact_of, const PlanOptions& options = {});

}  // namespace temper::graph
