#include "temper/graph/reference.h"

#include <optional>
#include <span>
#include <utility>

#include "temper/graph/definition.h"
#include "temper/ir/oracle.h"
#include "temper/ops/registry.h"
#include "temper/support/error.h"

namespace temper::graph {
namespace {

using Contents = std::vector<std::optional<ops::TensorValue>>;

/// Constants and inputs; everything else is still open.
Contents start(const Graph& graph, const NamedTensors& inputs) {
  Contents contents;
  for (const Value& value : graph.values) contents.push_back(value.data);
  for (const ValueId id : graph.inputs) {
    const Value& value = graph.value(id);
    const auto given = inputs.find(value.name);
    const ops::TensorType expected{value.dtype, graph.sizes(id)};
    if (given == inputs.end() || given->second.type != expected) {
      throw Error(ErrorCode::InvalidArgument, "input '" + value.name + "' must be given as " + expected.text());
    }
    contents[static_cast<std::size_t>(id)] = given->second;
  }
  return contents;
}

std::vector<ops::TensorValue> finish(const Graph& graph, Contents& contents) {
  std::vector<ops::TensorValue> outputs;
  for (const ValueId id : graph.outputs) outputs.push_back(*contents[static_cast<std::size_t>(id)]);
  return outputs;
}

}  // namespace

std::vector<ops::TensorValue> evaluate(const Graph& graph, const NamedTensors& inputs) {
  Contents contents = start(graph, inputs);
  for (const Node& node : graph.nodes) {
    std::map<ValueId, ops::Operand> operands;
    ops::TensorValue reordered;
    const ops::Node bound = bind(node, [&](ValueId id) {
      const auto [entry, is_new] = operands.try_emplace(id);
      if (is_new) {
        entry->second = placeholder_operand(graph, id, "in" + std::to_string(operands.size() - 1));
        entry->second.value = &*contents[static_cast<std::size_t>(id)];
        if (node.reads_nchw && id == node.inputs[0]) {
          reordered = transposed(*entry->second.value, kToNhwc);
          entry->second = {ir::placeholder("nhwc", ops::extents(reordered.type.shape), reordered.type.dtype),
                           &reordered};
        }
      }
      return entry->second;
    });
    std::vector<ops::TensorValue> results = at_node(node, [&] { return ops::fold(bound); });
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != kAbsent) contents[static_cast<std::size_t>(node.outputs[i])] = std::move(results.at(i));
    }
  }
  return finish(graph, contents);
}

std::vector<ops::TensorValue> evaluate(const Program& program, const NamedTensors& inputs) {
  Contents contents = start(program.graph, inputs);
  const auto at = [&](ValueId id) -> std::optional<ops::TensorValue>& {
    return contents[static_cast<std::size_t>(id)];
  };
  const auto resolve_views = [&] {
    for (const View& view : program.views) {
      if (!at(view.value) && at(view.of)) at(view.value) = reshaped(*at(view.of), program.graph.sizes(view.value));
    }
  };
  resolve_views();
  for (const Step& step : program.steps) {
    const Task& task = program.tasks[static_cast<std::size_t>(step.task)];
    ir::Inputs bytes;
    for (std::size_t i = 0; i < step.operands.size(); ++i) {
      TEMPER_CHECK(at(step.operands[i]).has_value(), "step '" + step.name + "' runs before its operands are there");
      bytes[task.operands[i]] = std::span(*at(step.operands[i])->bytes);
    }
    ir::Oracle oracle(task.work.compute, bytes);
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
      const ValueId id = step.outputs[i];
      at(id) = ops::TensorValue::from_numbers({program.graph.value(id).dtype, program.graph.sizes(id)},
                                              oracle.all(*task.work.compute.outputs[i]));
    }
    resolve_views();
  }
  return finish(program.graph, contents);
}

}  // namespace temper::graph
