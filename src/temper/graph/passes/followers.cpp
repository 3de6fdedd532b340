#include "temper/graph/passes/followers.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

#include "temper/ops/registry.h"

namespace temper::graph {
namespace {

constexpr std::array<std::string_view, 6> kWindowed{"AveragePool",       "Conv",          "ConvTranspose",
                                                    "GlobalAveragePool", "GlobalMaxPool", "MaxPool"};
constexpr std::array<std::string_view, 10> kReductions{"ReduceL1",  "ReduceL2",       "ReduceLogSum", "ReduceLogSumExp",
                                                       "ReduceMax", "ReduceMean",     "ReduceMin",    "ReduceProd",
                                                       "ReduceSum", "ReduceSumSquare"};

bool has_axes_input(const Node& node) { return node.inputs.size() > 1 && node.inputs[1] != kAbsent; }

}  // namespace

bool is_windowed(const Node& node) { return std::ranges::find(kWindowed, node.op) != kWindowed.end(); }

bool is_elementwise(const Node& node) {
  const ops::Operator* op = ops::find_operator(node.op);
  return op != nullptr && op->kind == ops::OperatorClass::Elementwise;
}

bool is_reduction(const Node& node) { return std::ranges::find(kReductions, node.op) != kReductions.end(); }

std::optional<std::vector<std::int64_t>> constant_integers(const Graph& graph, const Node& node, std::size_t input) {
  if (input >= node.inputs.size() || node.inputs[input] == kAbsent) return std::nullopt;
  const Value& value = graph.value(node.inputs[input]);
  if (!value.is_constant()) return std::nullopt;
  return value.data->integers();
}

std::optional<std::vector<std::int64_t>> constant_axes(const Graph& graph, const Node& node) {
  std::vector<std::int64_t> axes = has_axes_input(node)
                                       ? constant_integers(graph, node, 1).value_or(std::vector<std::int64_t>{})
                                       : node.attributes.integers("axes", {});
  if (axes.empty()) return std::nullopt;
  return axes;
}

void set_axes(Graph& graph, Node& node, const std::vector<std::int64_t>& axes) {
  if (has_axes_input(node)) {
    node.inputs[1] = graph.add_integers(node.name + ".axes", axes);
  } else {
    node.attributes.set("axes", axes);
  }
}

std::optional<std::vector<std::int64_t>> slice_axes(const Graph& graph, const Node& node) {
  if (node.op != "Slice" || node.opset < 10) return std::nullopt;
  const auto starts = constant_integers(graph, node, 1);
  if (!starts) return std::nullopt;
  std::vector<std::int64_t> axes(starts->size());
  std::iota(axes.begin(), axes.end(), 0);
  if (node.inputs.size() > 3 && node.inputs[3] != kAbsent) {
    const auto given = constant_integers(graph, node, 3);
    if (!given) return std::nullopt;
    axes = *given;
  }
  for (std::int64_t& axis : axes) axis += axis < 0 ? 4 : 0;
  return axes;
}

}  // namespace temper::graph
