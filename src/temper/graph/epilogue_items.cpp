#include "temper/graph/epilogue_items.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

namespace temper::graph {
namespace {

/// The number behind a constant of one element.
std::optional<double> number(const Graph& graph, const Node& node, std::size_t input) {
  if (input >= node.inputs.size() || node.inputs[input] == kAbsent) return std::nullopt;
  const Value& value = graph.value(node.inputs[input]);
  if (!value.is_constant() || value.data->type.elements() != 1) return std::nullopt;
  return value.data->numbers()[0];
}

// Each unary rule gives the item's arguments, or nothing when the node is not of that kind.
using Arguments = std::optional<std::vector<double>>;

Arguments none(const Graph&, const Node&) { return std::vector<double>{}; }

template <int DefaultInHundredths>
Arguments alpha(const Graph&, const Node& node) {
  return std::vector{node.attributes.number("alpha", DefaultInHundredths / 100.0)};
}
Arguments alpha_beta(const Graph&, const Node& node) {
  return std::vector{node.attributes.number("alpha", 0.2), node.attributes.number("beta", 0.5)};
}
Arguments clip_bounds(const Graph& graph, const Node& node) {
  const auto bound = [&](std::size_t input, const char* name) -> std::optional<double> {
    if (node.opset >= 11) return number(graph, node, input);
    return node.attributes.has(name) ? std::optional(node.attributes.number(name, 0)) : std::nullopt;
  };
  const auto low = bound(1, "min"), high = bound(2, "max");
  if (!low || !high) return std::nullopt;
  return std::vector{*low, *high};
}
Arguments gelu(const Graph&, const Node& node) {
  if (node.attributes.text("approximate", "none") != "none") return std::nullopt;
  return std::vector<double>{};
}
Arguments gelu_tanh(const Graph&, const Node& node) {
  if (node.attributes.text("approximate", "none") != "tanh") return std::nullopt;
  return std::vector<double>{};
}
Arguments power_of_two(const Graph& graph, const Node& node) {
  if (number(graph, node, 1) != 2.0) return std::nullopt;
  return std::vector<double>{};
}

struct UnaryRule {
  std::string_view op, item;
  Arguments (*arguments)(const Graph&, const Node&);
};
constexpr std::array kUnary{
    UnaryRule{"Abs", "abs", none},
    UnaryRule{"Clip", "clip", clip_bounds},
    UnaryRule{"Elu", "elu", alpha<100>},
    UnaryRule{"Erf", "erf", none},
    UnaryRule{"Exp", "exp", none},
    UnaryRule{"Gelu", "gelu", gelu},
    UnaryRule{"Gelu", "gelutanh", gelu_tanh},
    UnaryRule{"HardSigmoid", "hardsigmoid", alpha_beta},
    UnaryRule{"HardSwish", "hardswish", none},
    UnaryRule{"LeakyRelu", "leakyrelu", alpha<1>},
    UnaryRule{"Mish", "mish", none},
    UnaryRule{"Neg", "neg", none},
    UnaryRule{"Pow", "square", power_of_two},
    UnaryRule{"Relu", "relu", none},
    UnaryRule{"Sigmoid", "sigmoid", none},
    UnaryRule{"Softplus", "softplus", none},
    UnaryRule{"Sqrt", "sqrt", none},
    UnaryRule{"Tanh", "tanh", none},
};

struct BinaryRule {
  std::string_view op;
  bool running_first;                             ///< the running value is the first operand
  std::string_view scalar, channel, full, image;  ///< items by the other operand's shape; empty: none
};
constexpr std::array kBinary{
    BinaryRule{"Add", true, "addc", "bias", "add", "imageadd"},
    BinaryRule{"Add", false, "addc", "bias", "add", "imageadd"},
    BinaryRule{"Mul", true, "mulc", "scale", "mul", "imagemul"},
    BinaryRule{"Mul", false, "mulc", "scale", "mul", "imagemul"},
    BinaryRule{"Sub", true, "", "", "sub", ""},
    BinaryRule{"Sub", false, "", "", "rsub", ""},
    BinaryRule{"Div", true, "divc", "", "", ""},
};

/// Whether `sizes` broadcasts with size 1 everywhere but on `axes`, where it equals `full`.
bool varies_along(Sizes sizes, const Sizes& full, const std::vector<std::size_t>& axes) {
  if (sizes.size() > full.size()) return false;
  sizes.insert(sizes.begin(), full.size() - sizes.size(), 1);
  for (std::size_t i = 0; i < full.size(); ++i) {
    const bool varies = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (sizes[i] != (varies ? full[i] : 1)) return false;
  }
  return true;
}

std::optional<MatchedItem> match_binary(const Graph& graph, const Node& node, const BinaryRule& rule, ValueId other,
                                        const Anchor& anchor) {
  const Value& operand = graph.value(other);
  const Sizes full = graph.sizes(node.outputs[0]);
  const Sizes sizes = graph.sizes(other);
  const auto item = [&](std::string_view name, std::vector<double> arguments,
                        ValueId reads) -> std::optional<MatchedItem> {
    if (name.empty()) return std::nullopt;
    return MatchedItem{{std::string(name), std::move(arguments)}, reads};
  };
  if (operand.is_constant() && element_count(sizes) == 1)
    return item(rule.scalar, {operand.data->numbers()[0]}, kAbsent);
  // Channel operands are as constant as the weights are.
  const bool channel_allowed = operand.is_constant() || !anchor.weights_constant;
  if (channel_allowed && varies_along(sizes, full, anchor.channels)) {
    if (auto found = item(rule.channel, {}, other)) return found;
  }
  if (sizes == full) return item(rule.full, {}, other);
  const bool has_images = anchor.kind == Anchor::Kind::Conv2d;
  std::vector<std::size_t> image_and_channel = anchor.channels;
  image_and_channel.push_back(0);
  if (has_images && varies_along(sizes, full, image_and_channel)) return item(rule.image, {}, other);
  return std::nullopt;
}

}  // namespace

std::optional<MatchedItem> match_item(const Graph& graph, const Node& node, ValueId running, const Anchor& anchor) {
  if (node.outputs.empty() || node.outputs[0] == kAbsent) return std::nullopt;
  if (graph.sizes(node.outputs[0]) != graph.sizes(running)) return std::nullopt;
  if (graph.value(node.outputs[0]).dtype != graph.value(running).dtype) return std::nullopt;
  if (node.op == "Mul" && node.inputs[0] == running && node.inputs[1] == running)
    return MatchedItem{{"square", {}}, kAbsent};
  if (std::count(node.inputs.begin(), node.inputs.end(), running) != 1) return std::nullopt;
  if (node.inputs[0] == running) {
    for (const UnaryRule& rule : kUnary) {
      if (rule.op != node.op) continue;
      if (auto arguments = rule.arguments(graph, node))
        return MatchedItem{{std::string(rule.item), *arguments}, kAbsent};
    }
  }
  for (const BinaryRule& rule : kBinary) {
    const std::size_t position = rule.running_first ? 0 : 1;
    if (rule.op != node.op || node.inputs.size() != 2 || node.inputs[position] != running) continue;
    return match_binary(graph, node, rule, node.inputs[1 - position], anchor);
  }
  return std::nullopt;
}

}  // namespace temper::graph
