#include "temper/graph/passes/split_gemm.h"

#include <utility>

#include "temper/graph/passes/dead_code.h"

namespace temper::graph {
namespace {

/// The constant times a number, under a new name; the value itself for 1.
ValueId scaled(Graph& graph, ValueId id, double factor) {
  if (factor == 1) return id;
  const ops::TensorValue value = *graph.value(id).data;
  std::vector<double> numbers = value.numbers();
  for (double& number : numbers) number *= factor;
  return graph.add_constant(graph.value(id).name + ".scaled", ops::TensorValue::from_numbers(value.type, numbers));
}

bool can_split(const Graph& graph, const Node& node) {
  const ops::Attributes& a = node.attributes;
  const bool constant_b = graph.value(node.inputs[1]).is_constant();
  const bool has_c = node.inputs.size() > 2 && node.inputs[2] != kAbsent;
  return a.integer("transA", 0) == 0 && (a.integer("transB", 0) == 0 || constant_b) &&
         (a.number("alpha", 1) == 1 || constant_b) &&
         (!has_c || a.number("beta", 1) == 1 || graph.value(node.inputs[2]).is_constant());
}

}  // namespace

void split_gemm(Graph& graph) {
  std::vector<Node> nodes;
  for (Node& node : std::exchange(graph.nodes, {})) {
    if (node.op != "Gemm" || !can_split(graph, node)) {
      nodes.push_back(std::move(node));
      continue;
    }
    ValueId b = node.inputs[1];
    if (node.attributes.integer("transB", 0) != 0) {
      b = graph.add_constant(graph.value(b).name + ".transposed", transposed(*graph.value(b).data, {1, 0}));
    }
    b = scaled(graph, b, node.attributes.number("alpha", 1));
    const double beta = node.attributes.number("beta", 1);
    const bool has_c = node.inputs.size() > 2 && node.inputs[2] != kAbsent && beta != 0;
    const ValueId out = node.outputs[0];
    ValueId product = out;
    if (has_c) {
      product = graph.add_value(Value{node.name + ".product", graph.value(out).dtype, {}, {}});
      graph.set_type(product, graph.value(out).dtype, graph.sizes(out));
    }
    nodes.push_back(
        Node{"MatMul", 13, node.name, {node.inputs[0], b}, {product}, {}, node.layout, false, node.origins});
    if (has_c) {
      const ValueId c = scaled(graph, node.inputs[2], beta);
      nodes.push_back(Node{"Add", 14, node.name + ".add", {product, c}, {out}, {}, node.layout, false, node.origins});
    }
  }
  graph.nodes = std::move(nodes);
  remove_dead_code(graph);
}

}  // namespace temper::graph
