#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "temper/graph/passes/rewrite.h"
#include "temper/support/error.h"

namespace temper::graph {
namespace {

constexpr std::array<std::string_view, 10> kBroadcasting{"Add",  "And", "Div", "Equal", "Greater",
                                                         "Less", "Mul", "Or",  "Pow",   "Sub"};
constexpr std::array<std::string_view, 2> kUnchanged{"AveragePool", "Gemm"};

/// The second operand with axes of size 1 behind its own, so that it meets axis `axis` of the first.
void align(Graph& graph, Node& node, std::int64_t axis, std::vector<Node>& before) {
  const std::size_t rank = graph.sizes(node.inputs[0]).size();
  Sizes sizes = graph.sizes(node.inputs[1]);
  if (axis < 0) axis += static_cast<std::int64_t>(rank);
  const std::int64_t behind = static_cast<std::int64_t>(rank) - axis - static_cast<std::int64_t>(sizes.size());
  if (axis < 0 || behind < 0) throw Error(ErrorCode::InvalidModel, "the operands do not fit at this axis", node.op);
  if (behind == 0) return;
  sizes.insert(sizes.end(), static_cast<std::size_t>(behind), 1);
  const ValueId shape = graph.add_integers(node.name + ".shape", sizes);
  const ValueId aligned = graph.add_value(Value{node.name + ".aligned", graph.value(node.inputs[1]).dtype, {}, {}});
  before.push_back({"Reshape", 7, node.name + ".aligned", {node.inputs[1], shape}, {aligned}, {}});
  node.inputs[1] = aligned;
}

}  // namespace

void upgrade_opset6(Graph& graph, Node& node, std::vector<Node>& before) {
  if (node.opset != 6) return;
  const auto is_one_of = [&](const auto& names) {
    return std::find(names.begin(), names.end(), node.op) != names.end();
  };
  const bool has_operands = node.inputs.size() >= 2 && node.inputs[0] != kAbsent && node.inputs[1] != kAbsent;
  if (is_one_of(kBroadcasting) && has_operands) {
    const bool broadcasts = node.attributes.integer("broadcast", 0) != 0;
    if (!broadcasts && graph.sizes(node.inputs[0]) != graph.sizes(node.inputs[1]))
      throw Error(ErrorCode::InvalidModel, "the shapes differ, and 'broadcast' is not set", node.op);
    if (broadcasts && node.attributes.has("axis")) align(graph, node, node.attributes.integer("axis"), before);
    node.attributes = {};
    node.opset = 7;
  } else if (node.op == "PRelu" && has_operands) {
    // A slope for each channel.
    if (graph.sizes(node.inputs[1]).size() == 1 && element_count(graph.sizes(node.inputs[1])) > 1 &&
        graph.sizes(node.inputs[0]).size() > 1)
      align(graph, node, 1, before);
    node.opset = 7;
  } else if (node.op == "BatchNormalization") {
    if (node.attributes.integer("is_test", 0) == 0)
      throw Error(ErrorCode::Unsupported, "batch normalisation in training mode", node.op,
                  "export the model for inference");
    node.opset = 7;
  } else if (is_one_of(kUnchanged)) {
    node.opset = 7;
  }
}

}  // namespace temper::graph
