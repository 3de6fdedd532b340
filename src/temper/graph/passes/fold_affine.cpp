#include "temper/graph/passes/fold_affine.h"

#include <cmath>
#include <optional>
#include <utility>

#include "temper/graph/passes/dead_code.h"
#include "temper/support/error.h"

namespace temper::graph {
namespace {

/// y[c] = x[c]·scale[c] + shift[c]
struct Affine {
  std::vector<double> scale, shift;
};

/// A constant of `channels` elements, or one, that varies along axis 1 of a tensor of `rank` dimensions at most.
std::optional<std::vector<double>> per_channel(const Graph& graph, ValueId id, std::size_t rank,
                                               std::int64_t channels) {
  const Value& value = graph.value(id);
  if (!value.is_constant() || !ir::is_float(value.dtype)) return std::nullopt;
  const Sizes& sizes = value.data->type.shape;
  if (sizes.size() > rank) return std::nullopt;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t axis = rank - sizes.size() + i;
    if (sizes[i] != 1 && (axis != 1 || sizes[i] != channels)) return std::nullopt;
  }
  std::vector<double> numbers = value.data->numbers();
  if (numbers.size() == 1) numbers.assign(static_cast<std::size_t>(channels), numbers[0]);
  return numbers;
}

/// Nothing when an input is computed by the model: then the node keeps its own definition.
std::optional<Affine> batch_norm(const Graph& graph, const Node& node) {
  const std::string where = "node '" + node.name + "' (BatchNormalization)";
  if (node.attributes.integer("training_mode", 0) != 0) {
    throw Error(ErrorCode::Unsupported, "batch normalisation in training mode", where,
                "export the model for inference");
  }
  if (node.inputs.size() != 5) throw Error(ErrorCode::InvalidModel, "BatchNormalization needs 5 inputs", where);
  std::vector<std::vector<double>> statistics;
  const std::int64_t channels = graph.sizes(node.inputs[0]).at(1);
  for (std::size_t i = 1; i < 5; ++i) {
    const Value& value = graph.value(node.inputs[i]);
    if (!value.is_constant()) return std::nullopt;
    if (value.data->type.elements() != channels) {
      throw Error(ErrorCode::InvalidModel,
                  "'" + value.name + "' has " + std::to_string(value.data->type.elements()) + " elements for " +
                      std::to_string(channels) + " channels",
                  where);
    }
    statistics.push_back(value.data->numbers());
  }
  const double epsilon = node.attributes.number("epsilon", 1e-5);
  Affine affine;
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    affine.scale.push_back(statistics[0][c] / std::sqrt(statistics[3][c] + epsilon));
    affine.shift.push_back(statistics[1][c] - statistics[2][c] * affine.scale[c]);
  }
  return affine;
}

/// The affine map that `node` applies to `input`, if it is one.
std::optional<Affine> affine_of(const Graph& graph, const Node& node, ValueId input) {
  const Sizes sizes = graph.sizes(input);
  if (sizes.size() < 2) return std::nullopt;
  if (node.op == "BatchNormalization") return batch_norm(graph, node);
  if (node.inputs.size() != 2 || node.inputs[0] == node.inputs[1]) return std::nullopt;
  const bool left = node.inputs[0] == input;
  const auto other = per_channel(graph, node.inputs[left ? 1 : 0], sizes.size(), sizes[1]);
  if (!other || graph.sizes(node.outputs[0]) != sizes) return std::nullopt;
  Affine affine{std::vector<double>(other->size(), 1.0), std::vector<double>(other->size(), 0.0)};
  for (std::size_t c = 0; c < other->size(); ++c) {
    const double k = (*other)[c];
    if (node.op == "Mul") {
      affine.scale[c] = k;
    } else if (node.op == "Div" && left) {
      affine.scale[c] = 1 / k;
    } else if (node.op == "Add") {
      affine.shift[c] = k;
    } else if (node.op == "Sub") {
      affine.scale[c] = left ? 1 : -1;
      affine.shift[c] = left ? -k : k;
    } else {
      return std::nullopt;
    }
  }
  return affine;
}

bool is_foldable_producer(const Graph& graph, const Node& node) {
  return (node.op == "Conv" || node.op == "ConvTranspose") && node.inputs.size() >= 2 &&
         graph.value(node.inputs[1]).is_constant() &&
         (node.inputs.size() < 3 || node.inputs[2] == kAbsent || graph.value(node.inputs[2]).is_constant());
}

/// Output channel of each weight element.
std::vector<std::size_t> output_channels(const Node& conv, const Sizes& weights) {
  std::vector<std::size_t> channels;
  std::int64_t inner = 1;
  for (std::size_t i = 2; i < weights.size(); ++i) inner *= weights[i];
  const std::int64_t groups = conv.attributes.integer("group", 1);
  for (std::int64_t i = 0; i < weights[0]; ++i) {
    for (std::int64_t j = 0; j < weights[1]; ++j) {
      const std::int64_t channel =
          conv.op == "Conv" ? i : i / std::max<std::int64_t>(1, weights[0] / groups) * weights[1] + j;
      channels.insert(channels.end(), static_cast<std::size_t>(inner), static_cast<std::size_t>(channel));
    }
  }
  return channels;
}

void apply(Graph& graph, Node& conv, const Affine& affine) {
  const std::string weights_name = graph.value(conv.inputs[1]).name;
  const ops::TensorValue weights = *graph.value(conv.inputs[1]).data;
  const std::vector<std::size_t> channel = output_channels(conv, weights.type.shape);
  std::vector<double> numbers = weights.numbers();
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] *= affine.scale.at(channel[i]);
  const bool has_bias = conv.inputs.size() > 2 && conv.inputs[2] != kAbsent;
  std::vector<double> bias(affine.scale.size(), 0.0);
  if (has_bias) bias = graph.value(conv.inputs[2]).data->numbers();
  for (std::size_t c = 0; c < bias.size(); ++c) bias[c] = bias[c] * affine.scale[c] + affine.shift[c];
  conv.inputs.resize(3, kAbsent);
  conv.inputs[1] = graph.add_constant(weights_name, ops::TensorValue::from_numbers(weights.type, numbers));
  conv.inputs[2] = graph.add_constant(
      conv.name + ".bias",
      ops::TensorValue::from_numbers({weights.type.dtype, {static_cast<std::int64_t>(bias.size())}}, bias));
}

/// y = BatchNormalization(x) → t = Mul(x, a); y = Add(t, c)
void expand(Graph& graph, std::size_t position) {
  const Node node = graph.nodes[position];
  const std::optional<Affine> known = batch_norm(graph, node);
  if (!known) return;
  const Affine& affine = *known;
  const ValueId x = node.inputs[0];
  const Sizes sizes = graph.sizes(x);
  const ir::DType dtype = graph.value(x).dtype;
  Sizes broadcast(sizes.size() - 1, 1);
  broadcast[0] = sizes[1];
  const ValueId scale =
      graph.add_constant(node.name + ".scale", ops::TensorValue::from_numbers({dtype, broadcast}, affine.scale));
  const ValueId shift =
      graph.add_constant(node.name + ".shift", ops::TensorValue::from_numbers({dtype, broadcast}, affine.shift));
  const ValueId scaled = graph.add_value(Value{node.name + ".scaled", dtype, {}, {}});
  graph.set_type(scaled, dtype, sizes);
  Node mul{"Mul", node.opset, node.name + ".scale", {x, scale}, {scaled}, {}, node.layout, false, node.origins};
  Node add{"Add", node.opset, node.name, {scaled, shift}, {node.outputs[0]}, {}, node.layout, false, node.origins};
  graph.nodes[position] = std::move(mul);
  graph.nodes.insert(graph.nodes.begin() + static_cast<std::ptrdiff_t>(position) + 1, std::move(add));
}

}  // namespace

void fold_affine(Graph& graph) {
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    // Values are added only for constants, so that uses of older values stay right while nodes keep their places.
    const Uses uses = find_uses(graph);
    if (!is_foldable_producer(graph, graph.nodes[n])) continue;
    while (true) {
      const ValueId output = graph.nodes[n].outputs[0];
      const auto& consumers = uses.consumers[static_cast<std::size_t>(output)];
      if (consumers.size() != 1 || uses.is_output[static_cast<std::size_t>(output)]) break;
      Node& next = graph.nodes[static_cast<std::size_t>(consumers[0])];
      const auto affine = affine_of(graph, next, output);
      if (!affine) break;
      apply(graph, graph.nodes[n], *affine);
      graph.nodes[n].outputs[0] = next.outputs[0];
      graph.nodes[n].origins.insert(graph.nodes[n].origins.end(), next.origins.begin(), next.origins.end());
      next.outputs.assign(next.outputs.size(), kAbsent);
      next.inputs.clear();
    }
  }
  std::erase_if(graph.nodes, [](const Node& node) {
    return std::all_of(node.outputs.begin(), node.outputs.end(), [](ValueId id) { return id == kAbsent; });
  });
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].op == "BatchNormalization") expand(graph, n);
  }
  remove_dead_code(graph);
}

}  // namespace temper::graph
