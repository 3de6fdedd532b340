#include "temper/graph/passes/block_rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "temper/graph/definition.h"
#include "temper/graph/passes/followers.h"
#include "temper/ops/registry.h"
#include "temper/ops/window.h"
#include "temper/support/error.h"

namespace temper::graph {
namespace {

/// How far from the number that is known for padded lanes an operator must still be finite: kernels round.
constexpr double kSlack = 1e-3;

/// Reductions of zeros that are zero, and those of equal numbers that are that number.
constexpr std::array<std::string_view, 5> kKeepZero{"ReduceL1", "ReduceL2", "ReduceMean", "ReduceSum",
                                                    "ReduceSumSquare"};
constexpr std::array<std::string_view, 2> kKeepNumber{"ReduceMax", "ReduceMin"};

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::int64_t rounded_up(std::int64_t channels, std::int64_t block) { return (channels + block - 1) / block * block; }

/// Whether each window of a pooling has an element of the input: the others are no numbers.
bool have_elements(const ops::WindowAxis& axis) {
  for (std::int64_t out = 0; out < axis.output; ++out) {
    bool any = false;
    for (std::int64_t tap = 0; tap < axis.kernel && !any; ++tap) {
      const std::int64_t place = out * axis.stride + tap * axis.dilation - axis.pad_begin;
      any = place >= 0 && place < axis.input;
    }
    if (!any) return false;
  }
  return true;
}

/// What an elementwise node makes of one number for each input; nothing for an absent one.
double result_of(const Graph& graph, const Node& node, const std::vector<std::optional<double>>& numbers) {
  std::vector<ops::TensorValue> values(numbers.size());
  ops::Node bound;
  bound.op = node.op;
  bound.opset = node.opset;
  bound.attributes = &node.attributes;
  bound.name = "out";
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    bound.inputs.emplace_back();
    if (!numbers[i]) continue;
    const ir::DType dtype = graph.value(node.inputs[i]).dtype;
    values[i] = ops::TensorValue::from_numbers({dtype, {1}}, {*numbers[i]});
    bound.inputs.back() = {ir::constant("in" + std::to_string(i), {1}, dtype), &values[i]};
  }
  return ops::fold(bound).at(0).numbers().at(0);
}

}  // namespace

bool BlockRules::any_blocks(const Node& node) {
  return std::ranges::any_of(node.inputs, [&](ValueId id) { return has_blocks(id); });
}

bool BlockRules::is_zero_padded(ValueId id) {
  return !has_padding(stored_.plain_sizes(id)) || stored_.padding(id) == 0;
}

std::string BlockRules::refusal(const Node& node) const {
  if (node.op == "ConvTranspose") return "a transposed convolution is not computed in blocks";
  if (node.op != "Conv") return {};
  const Value& weights = graph_.value(node.inputs[1]);
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2] != kAbsent;
  if (!weights.is_constant() || (has_bias && !graph_.value(node.inputs[2]).is_constant()))
    return "weights that the model computes cannot be laid out in blocks";
  const std::int64_t groups = node.attributes.integer("group", 1);
  const std::int64_t group_ic = weights.data->type.shape[1], group_oc = weights.data->type.shape[0] / groups;
  const bool channelwise = group_ic == 1 && group_oc == 1;
  if (groups == 1 || channelwise || (group_ic % block_ == 0 && group_oc % block_ == 0)) return {};
  return "groups of " + std::to_string(group_ic) + " input and " + std::to_string(group_oc) +
         " output channels are no whole blocks of " + std::to_string(block_);
}

std::optional<double> BlockRules::follow(Node& node) {
  if (is_windowed(node)) {
    if (!is_image(node.inputs[0])) return std::nullopt;
    return node.op == "Conv" ? follow_convolution(node) : follow_pool(node);
  }
  if (!any_blocks(node) || node.outputs.size() != 1 || node.outputs[0] == kAbsent) return std::nullopt;
  if (graph_.sizes(node.outputs[0]).size() != 4) return std::nullopt;
  if (node.op == "BatchNormalization") return follow_batch_norm(node);
  if (is_elementwise(node)) return follow_elementwise(node);
  if (node.op == "Concat") return follow_concat(node);
  if (node.op == "Slice") return follow_slice(node);
  if (node.op == "Resize" || node.op == "Upsample") return follow_resize(node);
  if (is_reduction(node)) return follow_reduction(node);
  return std::nullopt;
}

BlockRules::Padding BlockRules::follow_convolution(Node& node) {
  TEMPER_CHECK(refusal(node).empty(), "a convolution that cannot be computed in blocks");
  const ValueId in = node.inputs[0];
  const std::int64_t channels = stored_.plain_sizes(in)[1], groups = node.attributes.integer("group", 1);
  const bool plain_input = groups == 1 && channels <= kFewChannels && stored_.is_stored(in, ops::Layout::Nchw) &&
                           !stored_.is_wanted(in, layout_) && !graph_.value(in).is_constant();
  if (!plain_input) node.inputs[0] = in_blocks(in);
  if (groups > 1 && groups == channels) node.attributes.set("group", rounded_up(channels, block_));
  if (!lay_out_weights_) return 0;
  node.inputs[1] = laid_out_weights(node, plain_input);
  if (node.inputs.size() > 2 && node.inputs[2] != kAbsent) node.inputs[2] = per_channel(node.inputs[2], 0);
  return 0;
}

ValueId BlockRules::laid_out_weights(const Node& node, bool plain_input) {
  const Value& weights = graph_.value(node.inputs[1]);
  const Sizes s = weights.data->type.shape;  // [oc, ic/groups, kh, kw]
  const std::int64_t b = block_, oc = rounded_up(s[0], b), ic = rounded_up(s[1], b);
  const bool channelwise = s[1] == 1 && node.attributes.integer("group", 1) > 1;
  ops::TensorValue laid_out;
  if (channelwise) {
    laid_out = transposed(reshaped(padded(*weights.data, {oc, 1, s[2], s[3]}), {oc / b, b, s[2], s[3]}), {0, 2, 3, 1});
  } else if (plain_input) {
    laid_out = transposed(reshaped(padded(*weights.data, {oc, s[1], s[2], s[3]}), {oc / b, b, s[1], s[2], s[3]}),
                          {0, 2, 3, 4, 1});
  } else {
    laid_out = transposed(reshaped(padded(*weights.data, {oc, ic, s[2], s[3]}), {oc / b, b, ic / b, b, s[2], s[3]}),
                          {0, 2, 4, 5, 3, 1});
  }
  return graph_.add_constant(weights.name + "." + std::string(ops::to_string(layout_)), std::move(laid_out));
}

ValueId BlockRules::per_channel(ValueId id, double padding) {
  const Value& value = graph_.value(id);
  const std::int64_t channels = value.data->type.elements(), whole = rounded_up(channels, block_);
  const ops::TensorValue laid_out =
      reshaped(padded(reshaped(*value.data, {channels}), {whole}, padding), {whole / block_, block_});
  return graph_.add_constant(value.name + "." + std::string(ops::to_string(layout_)), laid_out);
}

BlockRules::Padding BlockRules::follow_pool(Node& node) {
  if (node.outputs.size() > 1) return std::nullopt;
  const ValueId in = node.inputs[0];
  const Sizes sizes = stored_.plain_sizes(in);
  const bool is_mean = node.op.ends_with("AveragePool");
  if (has_padding(sizes)) {
    if (is_mean && !is_zero_padded(in)) return std::nullopt;
    if (!node.op.starts_with("Global") &&
        !std::ranges::all_of(ops::window_axes(bind_placeholders(graph_, node), sizes), have_elements))
      return std::nullopt;
  }
  const double padding = stored_.padding(in);
  node.inputs[0] = in_blocks(in);
  return padding;
}

BlockRules::Padding BlockRules::follow_batch_norm(Node& node) {
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (!graph_.value(node.inputs[i]).is_constant()) return std::nullopt;
  }
  node.inputs[0] = in_blocks(node.inputs[0]);
  // (x - mean) * scale / sqrt(variance + epsilon) + bias
  for (std::size_t i = 1; i < node.inputs.size(); ++i) node.inputs[i] = per_channel(node.inputs[i], i == 4 ? 1 : 0);
  return 0;
}

BlockRules::Padding BlockRules::follow_elementwise(Node& node) {
  const Sizes out = graph_.sizes(node.outputs[0]);
  const bool has_padded_lanes = has_padding(out);
  std::vector<Padding> numbers(node.inputs.size());
  std::vector<bool> in_lanes(node.inputs.size(), false);  // has a value for each channel
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    if (id == kAbsent) continue;
    const Value& value = graph_.value(id);
    Sizes sizes = stored_.plain_sizes(id);
    if (has_padded_lanes && !ir::is_float(value.dtype) && value.dtype != ir::DType::Bool) return std::nullopt;
    if (value.is_constant() && element_count(sizes) == 1) {
      numbers[i] = value.data->numbers()[0];
      continue;
    }
    sizes.insert(sizes.begin(), 4 - sizes.size(), 1);
    in_lanes[i] = sizes[1] == out[1];
    if (has_padded_lanes && !in_lanes[i]) return std::nullopt;
    numbers[i] = stored_.padding(id);
  }
  double padding = 0;
  if (has_padded_lanes) {
    padding = result_of(graph_, node, numbers);
    for (const double slack : {0.0, -kSlack, kSlack}) {
      std::vector<Padding> near = numbers;
      for (std::size_t i = 0; i < near.size(); ++i) {
        if (in_lanes[i]) *near[i] += slack;
      }
      if (!std::isfinite(result_of(graph_, node, near))) return std::nullopt;
    }
  }
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    ValueId& id = node.inputs[i];
    if (in_lanes[i]) {
      id = in_blocks(stored_.with_rank_4(id));
    } else if (id != kAbsent && element_count(stored_.plain_sizes(id)) != 1) {
      id = stored_.with_rank_4(stored_.as(id, ops::Layout::Nchw));
      Sizes sizes = graph_.sizes(id);
      sizes.push_back(1);
      id = stored_.reshaped_as(id, sizes, ".5d");
    } else if (id != kAbsent) {
      id = stored_.as(id, ops::Layout::Nchw);
    }
  }
  return padding;
}

BlockRules::Padding BlockRules::follow_concat(Node& node) {
  std::int64_t axis = node.attributes.integer("axis", 1);
  axis += axis < 0 ? 4 : 0;
  const bool padded_lanes = has_padding(graph_.sizes(node.outputs[0]));
  const double padding = stored_.padding(node.inputs.back());
  for (std::size_t i = 0; i + 1 < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    if (axis == 1 && has_padding(stored_.plain_sizes(id))) return std::nullopt;
    if (axis != 1 && padded_lanes && stored_.padding(id) != padding) return std::nullopt;
  }
  for (ValueId& id : node.inputs) id = in_blocks(id);
  node.attributes.set("axis", axis);
  return padding;
}

BlockRules::Padding BlockRules::follow_slice(Node& node) {
  const auto axes = slice_axes(graph_, node);
  auto starts = constant_integers(graph_, node, 1), ends = constant_integers(graph_, node, 2);
  const bool has_steps = node.inputs.size() > 4 && node.inputs[4] != kAbsent;
  const auto steps = constant_integers(graph_, node, 4);
  if (!axes || !starts || !ends || (has_steps && !steps)) return std::nullopt;
  const std::int64_t channels = stored_.plain_sizes(node.inputs[0])[1];
  for (std::size_t i = 0; i < axes->size(); ++i) {
    if ((*axes)[i] != 1) continue;
    const auto place = [&](std::int64_t given) {
      return std::clamp<std::int64_t>(given < 0 ? given + channels : given, 0, channels);
    };
    const std::int64_t begin = place((*starts)[i]), end = place((*ends)[i]);
    const bool ends_a_block = end % block_ == 0 || end == channels;
    if ((steps && (*steps)[i] != 1) || begin % block_ != 0 || !ends_a_block || end <= begin) return std::nullopt;
    (*starts)[i] = begin / block_;
    (*ends)[i] = rounded_up(end, block_) / block_;
  }
  const double padding = stored_.padding(node.inputs[0]);
  node.inputs.resize(std::max<std::size_t>(node.inputs.size(), 4), kAbsent);
  node.inputs[1] = graph_.add_integers(node.name + ".starts", *starts);
  node.inputs[2] = graph_.add_integers(node.name + ".ends", *ends);
  node.inputs[3] = graph_.add_integers(node.name + ".axes", *axes);
  return padding;
}

BlockRules::Padding BlockRules::follow_reduction(Node& node) {
  auto axes = constant_axes(graph_, node);
  if (!axes || node.attributes.integer("keepdims", 1) != 1) return std::nullopt;
  for (std::int64_t& axis : *axes) {
    axis += axis < 0 ? 4 : 0;
    if (axis == 1) return std::nullopt;
  }
  const ValueId in = node.inputs[0];
  const bool keeps = is_one_of(kKeepNumber, node.op) || (is_one_of(kKeepZero, node.op) && stored_.padding(in) == 0);
  if (has_padding(stored_.plain_sizes(in)) && !keeps) return std::nullopt;
  set_axes(graph_, node, *axes);
  return stored_.padding(in);
}

BlockRules::Padding BlockRules::follow_resize(Node& node) {
  if (node.attributes.has("axes") || node.attributes.has("scales")) return std::nullopt;
  const ValueId in = node.inputs[0];
  const Sizes from = stored_.plain_sizes(in);
  if (graph_.sizes(node.outputs[0])[1] != from[1]) return std::nullopt;
  if (!is_zero_padded(in) && node.attributes.text("mode", "nearest") != "nearest") return std::nullopt;
  std::vector<std::pair<std::size_t, ValueId>> changed;
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kAbsent) continue;
    const Value& value = graph_.value(node.inputs[i]);
    if (!value.is_constant()) return std::nullopt;
    const std::int64_t elements = value.data->type.elements();
    if (elements == 0) continue;
    if (elements != 4) return std::nullopt;  // a region of interest
    const std::string name = value.name + "." + std::string(ops::to_string(layout_));
    std::vector<double> numbers = value.data->numbers();
    const bool is_scale = ir::is_float(value.dtype);
    numbers[1] = is_scale ? 1 : static_cast<double>(sizes_in_blocks(from, block_)[1]);
    numbers.push_back(is_scale ? 1 : static_cast<double>(block_));
    const ops::TensorType type{value.dtype, {5}};
    changed.emplace_back(i, graph_.add_constant(name, ops::TensorValue::from_numbers(type, numbers)));
  }
  for (const auto& [input, id] : changed) node.inputs[input] = id;
  return stored_.padding(in);
}

}  // namespace temper::graph
