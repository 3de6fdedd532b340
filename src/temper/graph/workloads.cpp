#include "temper/graph/workloads.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "temper/graph/definition.h"
#include "temper/graph/generic_workload.h"
#include "temper/graph/permute.h"
#include "temper/graph/split_axes.h"
#include "temper/ops/window.h"
#include "temper/support/error.h"

namespace temper::graph {
namespace {

std::int64_t product(const Sizes& sizes, std::size_t from, std::size_t to) {
  std::int64_t result = 1;
  for (std::size_t i = from; i < to; ++i) result *= sizes[i];
  return result;
}

/// Names of the placeholders that the items read, as `ops::epilogue_operands` gives them.
std::vector<std::string> operand_names(const ops::Epilogue& epilogue) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < epilogue.size(); ++i) {
    if (ops::epilogue_kind(epilogue[i].name).operand == ops::EpilogueOperand::None) continue;
    const auto before = std::count_if(epilogue.begin(), epilogue.begin() + static_cast<std::ptrdiff_t>(i),
                                      [&](const ops::EpilogueItem& item) { return item.name == epilogue[i].name; });
    names.push_back(epilogue[i].name + (before == 0 ? "" : std::to_string(before)));
  }
  return names;
}

BoundWorkload bind_anchor(const Graph& graph, const Group& group, ops::Workload work, const std::string& left,
                          ValueId a, const std::string& right, ValueId b) {
  BoundWorkload bound;
  bound.work = std::move(work);
  bound.operands = {left, right};
  bound.values = {a, b};
  for (const std::string& name : operand_names(group.epilogue)) bound.operands.push_back(name);
  bound.values.insert(bound.values.end(), group.epilogue_operands.begin(), group.epilogue_operands.end());
  TEMPER_CHECK(bound.operands.size() == bound.values.size(), "an epilogue item lacks its operand");
  bound.outputs = {graph.nodes[static_cast<std::size_t>(group.nodes.back())].outputs[0]};
  return bound;
}

BoundWorkload matmul(const Graph& graph, const Group& group, const Node& node, ops::Constness constness) {
  const Sizes a = graph.sizes(node.inputs[0]), b = graph.sizes(node.inputs[1]);
  ops::MatmulShape shape;
  shape.dtype = graph.value(node.inputs[0]).dtype;
  shape.k = a.back();
  shape.n = b.back();
  if (b.size() == 2) {
    shape.m = product(a, 0, a.size() - 1);
  } else {
    shape.m = a[a.size() - 2];
    shape.batch = product(a, 0, a.size() - 2);
  }
  return bind_anchor(graph, group, ops::matmul_workload(shape, group.epilogue, constness), "A", node.inputs[0], "B",
                     node.inputs[1]);
}

ops::Conv2dShape conv_shape(const Graph& graph, const Node& node) {
  if (ops::channel_block(node.layout) > 0) return ops::blocked_conv2d_shape(bind_placeholders(graph, node));
  Sizes in = graph.sizes(node.inputs[0]);
  if (node.reads_nchw) in = permuted(in, kToNhwc);
  const Sizes weights = graph.sizes(node.inputs[1]);
  ops::Conv2dShape shape;
  const auto window =
      ops::window_axes(bind_placeholders(graph, node), in, std::vector<std::int64_t>{weights[2], weights[3]});
  shape.y = window[0];
  shape.x = window[1];
  shape.layout = node.layout;
  shape.dtype = graph.value(node.inputs[0]).dtype;
  shape.n = in[0];
  shape.ic = in[ops::PixelLayout(node.layout).channel];
  shape.oc = weights[0];
  shape.groups = node.attributes.integer("group", 1);
  return shape;
}

/// A convolution that is a product of [pixels, ic] and [ic, oc], which knows neither images nor rows of pixels.
bool is_product(const ops::Conv2dShape& s, const ops::Epilogue& epilogue) {
  const bool flat = std::all_of(epilogue.begin(), epilogue.end(), [&](const ops::EpilogueItem& item) {
    const ops::EpilogueOperand operand = ops::epilogue_kind(item.name).operand;
    return operand != ops::EpilogueOperand::Blocks && (operand != ops::EpilogueOperand::Image || s.n == 1);
  });
  return s.layout == ops::Layout::Nhwc && s.groups == 1 && s.y.is_pointwise() && s.x.is_pointwise() && flat;
}

/// Column (a, b, c) of the product's row (y, x) is channel c of pixel (y * block + a, x * block + b): the output is
/// [y, a, x, (b, c)].
void shuffle_output(ops::Workload& work, std::int64_t block, std::int64_t width, std::int64_t columns) {
  work.compute = split_axes(work.compute, {width, columns / block}, {0, 2, 1, 3});
  work.alternatives.clear();
  work.fields.emplace_back("blocks", std::to_string(block) + "x" + std::to_string(width));
}

BoundWorkload conv(Graph& graph, const Group& group, const Node& node, ops::Constness constness) {
  const ops::Conv2dShape s = conv_shape(graph, node);
  const ValueId weights = node.inputs[1];
  if (node.reads_nchw || !graph.value(weights).is_constant() || !is_product(s, group.epilogue)) {
    TEMPER_CHECK(group.block == 1, "only a product is stored as the pixels of blocks");
    ops::Workload work = ops::conv2d_workload(s, group.epilogue, constness);
    if (node.reads_nchw) {
      work.compute = permute_placeholder(work.compute, "in", kToNhwc);
      for (ops::Alternative& alternative : work.alternatives)
        alternative.compute = permute_placeholder(alternative.compute, "in", kToNhwc);
      // The key has the field of the output's layout; the input's stands behind it where it differs.
      const auto layout =
          std::find_if(work.fields.begin(), work.fields.end(), [](const auto& f) { return f.first == "layout"; });
      work.fields.insert(layout + 1, {"in", "nchw"});
    }
    return bind_anchor(graph, group, std::move(work), "in", node.inputs[0], "weight", weights);
  }
  ops::MatmulShape shape;
  shape.m = s.n * s.y.input * s.x.input;
  shape.n = s.oc;
  shape.k = s.ic;
  shape.dtype = s.dtype;
  const ops::TensorValue matrix = transposed(reshaped(*graph.value(weights).data, {s.oc, s.ic}), {1, 0});
  const ValueId b = graph.add_constant(graph.value(weights).name + ".matrix", matrix);
  ops::Workload work = ops::matmul_workload(shape, group.epilogue, constness);
  if (group.block > 1) shuffle_output(work, group.block, s.x.input, s.oc);
  return bind_anchor(graph, group, std::move(work), "A", node.inputs[0], "B", b);
}

/// First of the normalised axes when they are the last ones, counted from the front.
std::optional<std::size_t> trailing_axis(const Graph& graph, const Node& node) {
  const auto rank = static_cast<std::int64_t>(graph.sizes(node.inputs[0]).size());
  const bool many = node.op == "LayerNormalization" || node.opset < 13;
  std::int64_t axis = node.attributes.integer("axis", node.op == "Softmax" && node.opset < 13 ? 1 : -1);
  if (axis < 0) axis += rank;
  if (rank == 0 || axis < 0 || axis >= rank || (!many && axis != rank - 1)) return std::nullopt;
  return static_cast<std::size_t>(axis);
}

/// Whether an Attention node does nothing but softmax(scale · Q·Kᵀ + mask)·V.
bool is_plain_attention(const Graph& graph, const Node& node) {
  if (node.op != "Attention") return false;
  for (std::size_t i = 4; i < node.inputs.size(); ++i) {
    if (node.inputs[i] != kAbsent) return false;
  }
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != kAbsent) return false;
  }
  const ir::DType dtype = graph.value(node.inputs[0]).dtype;
  const bool has_mask = node.inputs.size() > 3 && node.inputs[3] != kAbsent;
  return node.attributes.integer("is_causal", 0) == 0 && node.attributes.number("softcap", 0) == 0 &&
         ir::is_float(dtype) && (!has_mask || graph.value(node.inputs[3]).dtype == dtype);
}

std::optional<BoundWorkload> attention(const Graph& graph, const Node& node) {
  if (!is_plain_attention(graph, node)) return std::nullopt;
  const Sizes q = graph.sizes(node.inputs[0]), k = graph.sizes(node.inputs[1]), v = graph.sizes(node.inputs[2]);
  if (q.size() != k.size() || q.size() != v.size()) return std::nullopt;
  ops::AttentionShape shape;
  shape.dtype = graph.value(node.inputs[0]).dtype;
  shape.batch = q[0];
  shape.heads_inside = q.size() == 3;
  shape.heads = shape.heads_inside ? node.attributes.integer("q_num_heads") : q[1];
  shape.key_heads = shape.heads_inside ? node.attributes.integer("kv_num_heads") : k[1];
  const auto length = [&](const Sizes& sizes) { return shape.heads_inside ? sizes[1] : sizes[2]; };
  shape.queries = length(q);
  shape.keys = length(k);
  shape.depth = shape.heads_inside ? q[2] / shape.heads : q[3];
  shape.value_depth = shape.heads_inside ? v[2] / shape.key_heads : v[3];
  shape.scale = node.attributes.number("scale", 1 / std::sqrt(static_cast<double>(shape.depth)));
  BoundWorkload bound;
  bound.operands = {"Q", "K", "V"};
  bound.values = {node.inputs[0], node.inputs[1], node.inputs[2]};
  bound.outputs = {node.outputs[0]};
  if (node.inputs.size() > 3 && node.inputs[3] != kAbsent) {
    shape.mask = graph.sizes(node.inputs[3]);
    // A mask that ends early hides the keys behind its end.
    if (shape.mask.empty() || (shape.mask.back() != 1 && shape.mask.back() != shape.keys)) return std::nullopt;
    shape.mask.insert(shape.mask.begin(), 4 - shape.mask.size(), 1);
    bound.operands.emplace_back("mask");
    bound.values.push_back(node.inputs[3]);
  }
  bound.work = ops::attention_workload(shape);
  return bound;
}

std::optional<BoundWorkload> rows(Graph& graph, const Node& node) {
  if ((node.op != "Softmax" && node.op != "LayerNormalization") || node.outputs.size() != 1) return std::nullopt;
  const Sizes sizes = graph.sizes(node.inputs[0]);
  const ir::DType dtype = graph.value(node.inputs[0]).dtype;
  const auto axis = trailing_axis(graph, node);
  if (!axis || !ir::is_float(dtype)) return std::nullopt;
  const std::int64_t row_count = product(sizes, 0, *axis), columns = product(sizes, *axis, sizes.size());
  BoundWorkload bound;
  bound.outputs = {node.outputs[0]};
  bound.operands = {"in"};
  bound.values = {node.inputs[0]};
  if (node.op == "Softmax") {
    bound.work = ops::softmax_workload(row_count, columns, dtype);
    return bound;
  }
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2] != kAbsent;
  const auto fits = [&](ValueId id) { return element_count(graph.sizes(id)) == columns; };
  if (!fits(node.inputs[1]) || (has_bias && !fits(node.inputs[2]))) return std::nullopt;
  const bool constant =
      graph.value(node.inputs[1]).is_constant() && (!has_bias || graph.value(node.inputs[2]).is_constant());
  const ValueId bias =
      has_bias
          ? node.inputs[2]
          : graph.add_constant(node.name + ".bias",
                               ops::TensorValue::from_numbers(
                                   {dtype, {columns}}, std::vector<double>(static_cast<std::size_t>(columns), 0.0)));
  bound.operands.insert(bound.operands.end(), {"scale", "bias"});
  bound.values.insert(bound.values.end(), {node.inputs[1], bias});
  bound.work = ops::layernorm_workload(row_count, columns, node.attributes.number("epsilon", 1e-5), dtype,
                                       constant ? ops::Constness::Weights : ops::Constness::None);
  return bound;
}

}  // namespace

BoundWorkload anchored_workload(Graph& graph, const Group& group, const Anchor& anchor) {
  const Node node = graph.nodes[static_cast<std::size_t>(group.nodes[0])];
  const ops::Constness constness = anchor.weights_constant ? ops::Constness::Weights : ops::Constness::None;
  return anchor.kind == Anchor::Kind::Matmul ? matmul(graph, group, node, constness)
                                             : conv(graph, group, node, constness);
}

bool has_any_shape(const BoundWorkload& bound) { return bound.work.op == kElementwise; }

void lay_out(const Graph& graph, BoundWorkload& bound) {
  std::map<std::string, Sizes> strides;
  const auto add = [&](const ir::Stage& stage, ValueId id) {
    const Sizes& given = graph.value(id).strides;
    if (given.empty()) return;
    const auto of_stage = reshaped_strides(graph.sizes(id), given, stage.shape());
    TEMPER_CHECK(of_stage.has_value(), "'" + stage.name + "' cannot lie as its value does");
    std::string text;
    for (const std::int64_t stride : *of_stage) text += (text.empty() ? "" : ";") + std::to_string(stride);
    if (strides.emplace(stage.name, *of_stage).second) bound.work.fields.emplace_back(stage.name + "_strides", text);
  };
  for (std::size_t i = 0; i < bound.values.size(); ++i)
    add(*bound.work.compute.stage(bound.operands[i]), bound.values[i]);
  for (std::size_t i = 0; i < bound.outputs.size(); ++i) add(*bound.work.compute.outputs[i], bound.outputs[i]);
  if (strides.empty()) return;
  bound.work.compute = ir::with_strides(bound.work.compute, strides);
  for (ops::Alternative& alternative : bound.work.alternatives)
    alternative.compute = ir::with_strides(alternative.compute, strides);
}

BoundWorkload plain_workload(Graph& graph, const Group& group) {
  if (group.nodes.size() == 1) {
    const Node& node = graph.nodes[static_cast<std::size_t>(group.nodes[0])];
    if (auto bound = attention(graph, node)) return std::move(*bound);
    if (auto bound = rows(graph, node)) return std::move(*bound);
  }
  return generic_workload(graph, group);
}

}  // namespace temper::graph
