#include "temper/graph/passes/transposed_conv.h"

#include <algorithm>
#include <utility>

#include "temper/graph/definition.h"
#include "temper/graph/passes/dead_code.h"
#include "temper/ops/conv_transpose.h"
#include "temper/ops/registry.h"

namespace temper::graph {
namespace {

/// One axis: with t = position + pad, q = t / stride and r = t mod stride, out[t] = Σ_j in[q - j] · w[r + stride·j].
struct AxisPlan {
  std::int64_t stride, taps;        ///< taps of each class
  std::int64_t pad_begin, pad_end;  ///< of the dense convolution
  std::int64_t blocks;              ///< its outputs
  std::int64_t start, length;       ///< what of blocks·stride positions is the result
};

AxisPlan plan(const ops::WindowAxis& axis) {
  AxisPlan p{};
  p.stride = axis.stride;
  p.taps = (axis.span() + axis.stride - 1) / axis.stride;
  const std::int64_t first = std::min(axis.pad_begin / axis.stride, p.taps - 1);  // pads must not be negative
  p.pad_begin = p.taps - 1 - first;
  p.blocks = (axis.pad_begin + axis.output - 1) / axis.stride - first + 1;
  p.pad_end = std::max<std::int64_t>(0, p.blocks - axis.input - p.pad_begin + p.taps - 1);
  p.blocks = axis.input + p.pad_begin + p.pad_end - p.taps + 1;
  p.start = axis.pad_begin - first * axis.stride;
  p.length = axis.output;
  return p;
}

bool can_lower(const Graph& graph, const Node& node) {
  if (node.op != "ConvTranspose" || node.attributes.integer("group", 1) != 1) return false;
  const auto constant = [&](std::size_t i) { return graph.value(node.inputs[i]).is_constant(); };
  if (!constant(1) || graph.sizes(node.inputs[1]).size() != 4) return false;
  if (node.inputs.size() > 2 && node.inputs[2] != kAbsent && !constant(2)) return false;
  const std::vector<std::int64_t> strides = node.attributes.integers("strides", {1, 1});
  return strides.size() == 2 && strides[0] == strides[1];
}

/// [ic, oc, kh, kw] → [(row class, column class, oc), ic, taps, taps]: flipped, every stride-th tap, zero where a class
/// has none.
ops::TensorValue class_weights(const ops::TensorValue& weights, const std::vector<ops::WindowAxis>& axes,
                               const AxisPlan& y, const AxisPlan& x) {
  const Sizes from = weights.type.shape;
  const std::vector<double> values = weights.numbers();
  const std::int64_t ic = from[0], oc = from[1], s = y.stride;
  std::vector<double> out;
  out.reserve(static_cast<std::size_t>(s * s * oc * ic * y.taps * x.taps));
  // The kernel's index of a tap, or -1: taps lie `dilation` apart.
  const auto tap = [](const ops::WindowAxis& axis, std::int64_t place) {
    return place < axis.span() && place % axis.dilation == 0 ? place / axis.dilation : -1;
  };
  for (std::int64_t row = 0; row < s; ++row) {
    for (std::int64_t column = 0; column < s; ++column) {
      for (std::int64_t o = 0; o < oc; ++o) {
        for (std::int64_t i = 0; i < ic; ++i) {
          for (std::int64_t a = 0; a < y.taps; ++a) {
            for (std::int64_t b = 0; b < x.taps; ++b) {
              const std::int64_t kh = tap(axes[0], row + s * (y.taps - 1 - a));
              const std::int64_t kw = tap(axes[1], column + s * (x.taps - 1 - b));
              const std::int64_t at = ((i * oc + o) * from[2] + kh) * from[3] + kw;
              out.push_back(kh < 0 || kw < 0 ? 0.0 : values[static_cast<std::size_t>(at)]);
            }
          }
        }
      }
    }
  }
  return ops::TensorValue::from_numbers({weights.type.dtype, {s * s * oc, ic, y.taps, x.taps}}, out);
}

void lower(Graph& graph, const Node& node, std::vector<Node>& nodes) {
  const Sizes in = graph.sizes(node.inputs[0]);
  const ops::TensorValue weights = *graph.value(node.inputs[1]).data;
  const ir::DType dtype = weights.type.dtype;
  const auto axes = ops::transposed_window_axes(bind_placeholders(graph, node), in, weights.type.shape);
  const AxisPlan y = plan(axes[0]), x = plan(axes[1]);
  const std::int64_t s = y.stride, filters = weights.type.shape[1];
  const auto intermediate = [&](const std::string& name, const Sizes& sizes) {
    const ValueId id = graph.add_value(Value{name, dtype, {}, {}});
    graph.set_type(id, dtype, sizes);
    return id;
  };
  const bool whole = y.start == 0 && x.start == 0 && y.length == y.blocks * s && x.length == x.blocks * s;
  const ValueId out = node.outputs[0];

  std::vector<ValueId> inputs{node.inputs[0], graph.add_constant(graph.value(node.inputs[1]).name + ".classes",
                                                                 class_weights(weights, axes, y, x))};
  if (node.inputs.size() > 2 && node.inputs[2] != kAbsent) {
    const std::vector<double> bias = graph.value(node.inputs[2]).data->numbers();
    std::vector<double> repeated;
    for (std::int64_t i = 0; i < s * s; ++i) repeated.insert(repeated.end(), bias.begin(), bias.end());
    inputs.push_back(graph.add_constant(graph.value(node.inputs[2]).name + ".classes",
                                        ops::TensorValue::from_numbers({dtype, {s * s * filters}}, repeated)));
  }
  const ValueId shuffled =
      whole ? out : intermediate(node.name + ".whole", {in[0], filters, y.blocks * s, x.blocks * s});
  const ValueId conv =
      s == 1 ? shuffled : intermediate(node.name + ".conv", {in[0], s * s * filters, y.blocks, x.blocks});
  Node dense{"Conv", 11, node.name, std::move(inputs), {conv}, {}, node.layout, false, node.origins};
  dense.attributes.set("pads", std::vector<std::int64_t>{y.pad_begin, x.pad_begin, y.pad_end, x.pad_end});
  nodes.push_back(std::move(dense));
  if (s > 1) {
    Node shuffle{"DepthToSpace", 13, node.name + ".shuffle", {conv}, {shuffled}, {}, node.layout, false, node.origins};
    shuffle.attributes.set("blocksize", s);
    nodes.push_back(std::move(shuffle));
  }
  if (whole) return;
  const ValueId starts = graph.add_integers(node.name + ".starts", {y.start, x.start}),
                ends = graph.add_integers(node.name + ".ends", {y.start + y.length, x.start + x.length}),
                cut = graph.add_integers(node.name + ".axes", {2, 3});
  nodes.push_back(Node{
      "Slice", 13, node.name + ".cut", {shuffled, starts, ends, cut}, {out}, {}, node.layout, false, node.origins});
}

/// DepthToSpace → f becomes f → DepthToSpace for a function of single elements, which then runs with the convolution.
void swap_with_elementwise(Graph& graph) {
  for (bool changed = true; changed;) {
    changed = false;
    const Uses uses = find_uses(graph);
    for (Node& shuffle : graph.nodes) {
      if (shuffle.op != "DepthToSpace") continue;
      const ValueId between = shuffle.outputs[0];
      const auto& consumers = uses.consumers[static_cast<std::size_t>(between)];
      if (consumers.size() != 1 || uses.is_output[static_cast<std::size_t>(between)]) continue;
      Node& next = graph.nodes[static_cast<std::size_t>(consumers[0])];
      const ops::Operator* op = ops::find_operator(next.op);
      if (op == nullptr || op->kind != ops::OperatorClass::Elementwise || next.inputs.size() != 1) continue;
      const ValueId source = shuffle.inputs[0], result = next.outputs[0];
      const ir::DType dtype = graph.value(result).dtype;
      const ValueId applied = graph.add_value(Value{next.name + ".before", dtype, {}, {}});
      graph.set_type(applied, dtype, graph.sizes(source));
      next.inputs[0] = source;
      next.outputs[0] = applied;
      shuffle.inputs[0] = applied;
      shuffle.outputs[0] = result;
      changed = true;
      break;
    }
    if (changed) sort_topologically(graph);
  }
}

}  // namespace

void lower_transposed_convolutions(Graph& graph) {
  std::vector<Node> nodes;
  for (Node& node : std::exchange(graph.nodes, {})) {
    if (can_lower(graph, node)) {
      lower(graph, node, nodes);
    } else {
      nodes.push_back(std::move(node));
    }
  }
  graph.nodes = std::move(nodes);
  swap_with_elementwise(graph);
  remove_dead_code(graph);
}

}  // namespace temper::graph
