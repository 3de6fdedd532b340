// Plans of kernels that the C compiler makes, and what they compute.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "graph/c_artifact.h"
#include "temper/graph/plan_builder.h"
#include "temper/graph/reference.h"
#include "temper/runtime/executor.h"

namespace temper::graph::testing {

inline runtime::Plan plan_of(const Program& program) {
  return build_plan(program, [](const Task& task) { return compile_with_c(task.work.compute); });
}

/// The outputs in order.
inline std::vector<ops::TensorValue> run(const runtime::Plan& plan, const NamedTensors& inputs) {
  runtime::Executor executor(std::make_shared<const runtime::Plan>(plan));
  std::vector<const void*> in;
  for (const std::int32_t t : plan.inputs) {
    in.push_back(inputs.at(plan.tensors[static_cast<std::size_t>(t)].name).bytes->data());
  }
  std::vector<std::vector<std::byte>> results;
  std::vector<void*> out;
  for (const std::int32_t t : plan.outputs) {
    results.emplace_back(static_cast<std::size_t>(plan.tensors[static_cast<std::size_t>(t)].bytes));
  }
  for (auto& result : results) out.push_back(result.data());
  executor.run(in, out);
  std::vector<ops::TensorValue> values;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const runtime::PlanTensor& tensor = plan.tensors[static_cast<std::size_t>(plan.outputs[i])];
    values.push_back({{static_cast<ir::DType>(tensor.dtype), tensor.shape},
                      std::make_shared<const std::vector<std::byte>>(std::move(results[i]))});
  }
  return values;
}

}  // namespace temper::graph::testing
