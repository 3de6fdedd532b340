#include "temper/graph/passes/squeeze_excite.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "temper/graph/passes/dead_code.h"

namespace temper::graph {
namespace {

bool has_bias(const Node& conv) { return conv.inputs.size() > 2 && conv.inputs[2] != kAbsent; }

/// A convolution of known weights that computes each pixel from the same pixel of its input.
bool is_pointwise(const Graph& graph, const Node& node) {
  if (node.op != "Conv" || !graph.value(node.inputs[1]).is_constant()) return false;
  if (has_bias(node) && !graph.value(node.inputs[2]).is_constant()) return false;
  const auto all = [](const std::vector<std::int64_t>& given, std::size_t from, std::int64_t value) {
    return std::all_of(given.begin() + static_cast<std::ptrdiff_t>(from), given.end(),
                       [&](std::int64_t each) { return each == value; });
  };
  return all(graph.sizes(node.inputs[1]), 2, 1) && all(node.attributes.integers("strides", {}), 0, 1) &&
         all(node.attributes.integers("pads", {}), 0, 0);
}

/// Whether the node's output is the mean of its input over all axes but the first two, which it keeps with size 1.
bool is_mean_of_pixels(const Graph& graph, const Node& node) {
  if (node.op == "GlobalAveragePool") return true;
  if (node.op != "ReduceMean" || node.attributes.integer("keepdims", 1) != 1) return false;
  std::vector<std::int64_t> axes = node.attributes.integers("axes", {});
  if (node.inputs.size() > 1 && node.inputs[1] != kAbsent) {
    if (!graph.value(node.inputs[1]).is_constant()) return false;
    axes = graph.value(node.inputs[1]).data->integers();
  }
  const auto rank = static_cast<std::int64_t>(graph.sizes(node.inputs[0]).size());
  if (rank < 3) return false;
  for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::sort(axes.begin(), axes.end());
  std::vector<std::int64_t> pixels(static_cast<std::size_t>(rank - 2));
  std::iota(pixels.begin(), pixels.end(), 2);
  return axes == pixels;
}

/// y + y·s: node of the product, y and s.
struct ScaledSum {
  std::size_t product;
  ValueId value, scale;
};
std::optional<ScaledSum> match_scaled_sum(const Graph& graph, const Uses& uses, const Node& add) {
  if (add.op != "Add" || !ir::is_float(graph.value(add.outputs[0]).dtype)) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto at = static_cast<std::size_t>(add.inputs[i]);
    if (uses.producer[at] < 0 || uses.consumers[at].size() != 1 || uses.is_output[at]) continue;
    const auto product = static_cast<std::size_t>(uses.producer[at]);
    const Node& mul = graph.nodes[product];
    const ValueId y = add.inputs[1 - i];
    const Sizes full = graph.sizes(add.outputs[0]);
    if (mul.op != "Mul" || graph.sizes(y) != full || graph.sizes(mul.outputs[0]) != full) continue;
    for (std::size_t j = 0; j < 2; ++j) {
      const ValueId s = mul.inputs[1 - j];
      const bool smaller = element_count(graph.sizes(s)) < element_count(full);
      if (mul.inputs[j] == y && smaller && !graph.value(s).is_constant()) return ScaledSum{product, y, s};
    }
  }
  return std::nullopt;
}

void factor_sums(Graph& graph) {
  // Nodes keep their places, and the uses of values that later nodes read stay right.
  const Uses uses = find_uses(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const auto sum = match_scaled_sum(graph, uses, graph.nodes[n]);
    if (!sum) continue;
    Node &add = graph.nodes[n], &mul = graph.nodes[sum->product];
    const ir::DType dtype = graph.value(sum->scale).dtype;
    const ValueId one = graph.add_constant(mul.name + ".one", ops::TensorValue::from_numbers({dtype, {}}, {1.0}));
    const ValueId scale = graph.add_value(Value{mul.name + ".scale", dtype, {}, {}});
    graph.set_type(scale, dtype, graph.sizes(sum->scale));
    add.op = "Mul";
    add.inputs = {sum->value, scale};
    add.origins.insert(add.origins.begin(), mul.origins.begin(), mul.origins.end());
    mul.op = "Add";
    mul.inputs = {sum->scale, one};
    mul.outputs = {scale};
  }
}

void take_means_first(Graph& graph) {
  const Uses uses = find_uses(graph);
  const std::vector<Node> before = std::exchange(graph.nodes, {});
  for (const Node& node : before) {
    const int n = is_mean_of_pixels(graph, node) ? uses.producer[static_cast<std::size_t>(node.inputs[0])] : -1;
    if (n < 0 || !is_pointwise(graph, before[static_cast<std::size_t>(n)])) {
      graph.nodes.push_back(node);
      continue;
    }
    const Node& conv = before[static_cast<std::size_t>(n)];
    const ValueId x = conv.inputs[0], y = conv.outputs[0];
    const auto at = static_cast<std::size_t>(y);
    const bool only_mean = uses.consumers[at].size() == 1 && !uses.is_output[at];
    const std::int64_t read_before = element_count(graph.sizes(y)),
                       read_after = element_count(graph.sizes(x)) + element_count(graph.sizes(conv.inputs[1]));
    if (!only_mean && read_after > read_before) {
      graph.nodes.push_back(node);
      continue;
    }
    Sizes sizes = graph.sizes(node.outputs[0]);
    sizes[1] = graph.sizes(x)[1];
    const ValueId mean = graph.add_value(Value{node.name + ".first", graph.value(x).dtype, {}, {}});
    graph.set_type(mean, graph.value(x).dtype, sizes);
    Node pool = node, product = conv;
    pool.inputs[0] = x;
    pool.outputs[0] = mean;
    product.name = node.name + ".product";
    product.inputs[0] = mean;
    product.outputs = node.outputs;
    product.origins = node.origins;
    graph.nodes.push_back(std::move(pool));
    graph.nodes.push_back(std::move(product));
  }
}

/// W·V and W·a + b of two convolutions in a row; as weights [oc, ic, 1, …] and bias.
void merge(Graph& graph, const Node& first, Node& second) {
  const ops::TensorValue v = *graph.value(first.inputs[1]).data, w = *graph.value(second.inputs[1]).data;
  const auto in = static_cast<std::size_t>(v.type.shape[1]), between = static_cast<std::size_t>(v.type.shape[0]),
             out = static_cast<std::size_t>(w.type.shape[0]);
  const std::vector<double> vs = v.numbers(), ws = w.numbers();
  std::vector<double> product(out * in, 0.0), bias(out, 0.0);
  if (has_bias(second)) bias = graph.value(second.inputs[2]).data->numbers();
  const std::vector<double> shift =
      has_bias(first) ? graph.value(first.inputs[2]).data->numbers() : std::vector<double>(between, 0.0);
  for (std::size_t o = 0; o < out; ++o) {
    for (std::size_t m = 0; m < between; ++m) {
      const double factor = ws[o * between + m];
      bias[o] += factor * shift[m];
      for (std::size_t i = 0; i < in; ++i) product[o * in + i] += factor * vs[m * in + i];
    }
  }
  Sizes sizes = w.type.shape;
  sizes[1] = v.type.shape[1];
  const bool biased = has_bias(first) || has_bias(second);
  second.inputs = {first.inputs[0], graph.add_constant(graph.value(second.inputs[1]).name + ".merged",
                                                       ops::TensorValue::from_numbers({w.type.dtype, sizes}, product))};
  if (biased) {
    second.inputs.push_back(graph.add_constant(
        second.name + ".bias", ops::TensorValue::from_numbers({w.type.dtype, {w.type.shape[0]}}, bias)));
  }
  second.origins.insert(second.origins.begin(), first.origins.begin(), first.origins.end());
}

void merge_products(Graph& graph) {
  const auto is_dense = [&](const Node& node) {
    return is_pointwise(graph, node) && node.attributes.integer("group", 1) == 1;
  };
  // Nodes keep their places and outputs.
  const Uses uses = find_uses(graph);
  for (Node& second : graph.nodes) {
    if (!is_dense(second)) continue;
    const auto at = static_cast<std::size_t>(second.inputs[0]);
    const int n = uses.producer[at];
    if (n < 0 || uses.consumers[at].size() != 1 || uses.is_output[at]) continue;
    const Node& first = graph.nodes[static_cast<std::size_t>(n)];
    if (!is_dense(first)) continue;
    const std::int64_t in = graph.sizes(first.inputs[1])[1], between = graph.sizes(first.inputs[1])[0],
                       out = graph.sizes(second.inputs[1])[0];
    if (in * out <= between * (in + out)) merge(graph, first, second);
  }
}

}  // namespace

void simplify_squeeze_excite(Graph& graph) {
  factor_sums(graph);
  take_means_first(graph);
  merge_products(graph);
  remove_dead_code(graph);
}

}  // namespace temper::graph
