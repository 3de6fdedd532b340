// Small plans made of the hand-written kernels.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "artifacts/artifacts.h"
#include "temper/runtime/plan.h"

namespace temper::testing {

using runtime::Bytes;
using runtime::Plan;
using runtime::PlanTensor;
using runtime::TensorKind;

inline PlanTensor tensor(std::string name, TensorKind kind, std::vector<std::int64_t> shape = {8, 8}) {
  PlanTensor result;
  result.name = std::move(name);
  result.shape = std::move(shape);
  result.bytes = 4 * runtime::element_count(result.shape);
  result.kind = kind;
  return result;
}

inline Bytes floats(std::vector<float> values) { return Bytes::copy_of(std::as_bytes(std::span(values))); }

/// out = 2 * reverse(x + y), all of 64 floats: two steps, one intermediate.
inline Plan two_step_plan() {
  Plan plan;
  plan.tensors = {tensor("x", TensorKind::Input), tensor("y", TensorKind::Input),
                  tensor("sum", TensorKind::Intermediate), tensor("out", TensorKind::Output)};
  plan.inputs = {0, 1};
  plan.outputs = {3};
  const auto add = plan.add_artifact(Bytes::copy_of(artifact_bytes("add")));
  const auto reverse = plan.add_artifact(Bytes::copy_of(artifact_bytes("two_phases")));
  plan.steps = {{"add", add, {{0, 0}, {1, 0}, {2, 0}}}, {"reverse", reverse, {{2, 0}, {3, 0}, {}}}};
  plan.metadata = {{"model", "two steps"}};
  runtime::plan_memory(plan);
  return plan;
}

/// `length` times t <- t * w^2 + w, each step with the same constant where `same_constant`, else one of its own.
inline Plan chain_plan(int length, bool same_constant) {
  Plan plan;
  plan.tensors = {tensor("x", TensorKind::Input)};
  plan.inputs = {0};
  const auto scale = plan.add_artifact(Bytes::copy_of(artifact_bytes("scale_prepared")));
  std::int32_t before = 0;
  for (int i = 0; i < length; ++i) {
    PlanTensor constant = tensor("w" + std::to_string(i), TensorKind::Constant);
    constant.constant =
        plan.add_constant(floats(std::vector<float>(64, same_constant ? 1.0f : 1.0f + static_cast<float>(i))));
    plan.tensors.push_back(constant);
    const auto w = static_cast<std::int32_t>(plan.tensors.size() - 1);
    const bool last = i + 1 == length;
    plan.tensors.push_back(
        tensor(last ? "out" : "t" + std::to_string(i), last ? TensorKind::Output : TensorKind::Intermediate));
    plan.steps.push_back({"scale" + std::to_string(i), scale, {{before, 0}, {w, 0}, {}, {w + 1, 0}}});
    before = w + 1;
  }
  plan.outputs = {before};
  runtime::plan_memory(plan);
  return plan;
}

}  // namespace temper::testing
