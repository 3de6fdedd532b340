#include "temper/graph/passes/infer.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "temper/graph/definition.h"
#include "temper/graph/passes/dead_code.h"
#include "temper/graph/passes/rewrite.h"
#include "temper/ops/registry.h"
#include "temper/support/error.h"

namespace temper::graph {
namespace {

bool all_inputs_known(const Graph& graph, const Node& node) {
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId id) { return id == kAbsent || graph.value(id).is_constant(); });
}

/// A transpose of weights is common and large: it need not go through the oracle.
std::optional<std::vector<ops::TensorValue>> fold_transpose(const Graph& graph, const Node& node) {
  if (node.op != "Transpose" || node.inputs.size() != 1) return std::nullopt;
  const ops::TensorValue& value = *graph.value(node.inputs[0]).data;
  std::vector<std::int64_t> reversed(value.type.shape.size());
  for (std::size_t i = 0; i < reversed.size(); ++i) reversed[i] = static_cast<std::int64_t>(reversed.size() - 1 - i);
  const std::vector<std::int64_t> order = node.attributes.integers("perm", reversed);
  return std::vector{transposed(value, std::vector<int>(order.begin(), order.end()))};
}

/// Refuses what would make a constant of more than `kMaxFoldedElements` elements, before memory is asked for.
void check_generated_size(const Graph& graph, const Node& node) {
  if (!all_inputs_known(graph, node) || std::count(node.inputs.begin(), node.inputs.end(), kAbsent) > 0) return;
  double count = 0;
  if (node.op == "ConstantOfShape" && node.inputs.size() == 1) {
    const ops::TensorValue& sizes = *graph.value(node.inputs[0]).data;
    count = static_cast<double>(element_count(sizes.integers(), place(node)));
  } else if (node.op == "Range" && node.inputs.size() == 3) {
    std::vector<double> bounds;
    for (const ValueId id : node.inputs) {
      const std::vector<double> numbers = graph.value(id).data->numbers();
      if (numbers.size() != 1) return;
      bounds.push_back(numbers[0]);
    }
    count = (bounds[1] - bounds[0]) / bounds[2];
  }
  if (count > static_cast<double>(kMaxFoldedElements)) {
    throw Error(ErrorCode::Unsupported, "a constant with more than 2^22 elements would be computed", place(node));
  }
}

/// The contents of a tensor without elements are known.
ops::TensorValue empty_value(const ops::TensorType& type) {
  return {type, std::make_shared<const std::vector<std::byte>>()};
}

/// Gives the outputs of `node` their types; true when all became constants, so that the node is not needed.
bool infer_node(Graph& graph, Node& node) {
  check_generated_size(graph, node);
  const ops::Node bound = bind_placeholders(graph, node);
  const std::vector<ops::TensorType> types =
      ops::always_folds(node.op) ? std::vector<ops::TensorType>{} : ops::infer(bound);
  std::optional<std::vector<ops::TensorValue>> values;
  if (ops::always_folds(node.op)) {
    values = ops::fold(bound);
  } else if (all_inputs_known(graph, node)) {
    values = fold_transpose(graph, node);
    if (!values && std::all_of(types.begin(), types.end(), [](const ops::TensorType& type) {
          return element_count(type.shape) <= kMaxFoldedElements;
        })) {
      values = ops::fold(bound);
    }
  }
  const std::size_t count = values ? values->size() : types.size();
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId id = node.outputs[i];
    if (id == kAbsent) continue;
    if (i >= count) {
      throw Error(ErrorCode::Unsupported, "output " + std::to_string(i) + " is not supported", place(node));
    }
    const ops::TensorType& type = values ? (*values)[i].type : types[i];
    graph.set_type(id, type.dtype, type.shape);
    if (values) {
      graph.value(id).data = std::move((*values)[i]);
    } else if (element_count(type.shape, place(node)) == 0) {
      graph.value(id).data = empty_value(type);
      node.outputs[i] = kAbsent;
    }
  }
  return values.has_value() || std::count(node.outputs.begin(), node.outputs.end(), kAbsent) ==
                                   static_cast<std::ptrdiff_t>(node.outputs.size());
}

void refuse_empty_outputs(const Graph& graph) {
  for (const ValueId id : graph.outputs) {
    if (element_count(graph.sizes(id)) > 0) continue;
    throw Error(ErrorCode::Unsupported, "the output is empty: " + to_string(graph.sizes(id)),
                "output '" + graph.value(id).name + "'", "tensors without elements are not supported as outputs");
  }
}

}  // namespace

void infer(Graph& graph) {
  std::vector<Node> kept;
  for (Node& node : graph.nodes) {
    if (!at_node(node, [&] { return is_taken(graph, node); })) continue;
    std::vector<Node> before;
    at_node(node, [&] { rewrite(graph, node, before); });
    before.push_back(std::move(node));
    for (Node& part : before) {
      const bool folded = at_node(part, [&] { return infer_node(graph, part); });
      if (!folded) kept.push_back(std::move(part));
    }
  }
  graph.nodes = std::move(kept);
  refuse_empty_outputs(graph);
  remove_dead_code(graph);
}

}  // namespace temper::graph
