#include "temper/graph/passes/patterns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "temper/graph/passes/dead_code.h"
#include "temper/graph/passes/matcher.h"

namespace temper::graph {
namespace {

bool close(double a, double b) { return std::abs(a - b) <= 1e-5 * std::abs(b); }

struct Replacement {
  std::string op;
  int opset;
  std::vector<ValueId> inputs;
  ops::Attributes attributes;
};

Replacement hard_sigmoid(ValueId x, double alpha, double beta) {
  Replacement r{"HardSigmoid", 6, {x}, {}};
  r.attributes.set("alpha", alpha);
  r.attributes.set("beta", beta);
  return r;
}

/// x, and m·HardSigmoid's alpha and beta, of Clip(x + k, 0, m).
struct Ramp {
  ValueId x;
  double offset, top;
};
std::optional<Ramp> ramp(const Matcher& match, ValueId id) {
  const Node* clip = match.producer(id, "Clip");
  if (!clip) return std::nullopt;
  // The bounds were attributes before opset 11, inputs since.
  const auto bound = [&](std::size_t input, const char* attribute) -> std::optional<double> {
    if (clip->attributes.has(attribute)) return clip->attributes.number(attribute, 0);
    return input < clip->inputs.size() ? match.scalar(clip->inputs[input]) : std::nullopt;
  };
  const auto low = bound(1, "min"), high = bound(2, "max");
  const auto sum = match.plus_constant(clip->inputs[0]);
  if (low != 0.0 || !high || !(*high > 0) || !std::isfinite(*high) || !sum) return std::nullopt;
  return Ramp{sum->value, sum->constant, *high};
}

std::optional<Replacement> match_hard_sigmoid(const Matcher& match, const Node& root) {
  if (root.op != "Mul" && root.op != "Div") return std::nullopt;
  const auto product = match.product(root.outputs[0]);
  if (product.factors.size() != 1) return std::nullopt;
  const auto r = ramp(match, product.factors[0]);
  if (!r || !close(product.constant, 1 / r->top)) return std::nullopt;
  return hard_sigmoid(r->x, 1 / r->top, r->offset / r->top);
}

std::optional<Replacement> match_hard_swish(const Matcher& match, const Node& root) {
  if (root.op != "Mul" && root.op != "Div") return std::nullopt;
  const auto product = match.product(root.outputs[0]);
  if (product.factors.size() != 2) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    const ValueId x = product.factors[i], other = product.factors[1 - i];
    const auto r = ramp(match, other);
    const bool written_out =
        r && r->x == x && close(r->offset, 3) && close(r->top, 6) && close(product.constant, 1.0 / 6);
    const Node* sigmoid = match.producer(other, "HardSigmoid");
    const bool by_sigmoid = sigmoid && sigmoid->inputs[0] == x && close(product.constant, 1) &&
                            close(sigmoid->attributes.number("alpha", 0.2), 1.0 / 6) &&
                            close(sigmoid->attributes.number("beta", 0.5), 0.5);
    if (written_out || by_sigmoid) return Replacement{"HardSwish", 14, {x}, {}};
  }
  return std::nullopt;
}

std::optional<Replacement> match_gelu(const Matcher& match, const Node& root) {
  if (root.op != "Mul" && root.op != "Div") return std::nullopt;
  const auto product = match.product(root.outputs[0]);
  if (product.factors.size() != 2 || !close(product.constant, 0.5)) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    const ValueId x = product.factors[i];
    const auto sum = match.plus_constant(product.factors[1 - i]);
    const Node* erf = sum && close(sum->constant, 1) ? match.producer(sum->value, "Erf") : nullptr;
    if (!erf) continue;
    const auto scaled = match.product(erf->inputs[0]);
    if (scaled.factors.size() == 1 && scaled.factors[0] == x && close(scaled.constant, 1 / std::numbers::sqrt2)) {
      return Replacement{"Gelu", 20, {x}, {}};
    }
  }
  return std::nullopt;
}

/// First axis of a mean over the last axes that keeps its dimensions, counted from the front; or nothing.
std::optional<std::int64_t> trailing_mean_axis(const Matcher& match, const Node& mean) {
  const auto rank = static_cast<std::int64_t>(match.graph().sizes(mean.inputs[0]).size());
  if (mean.attributes.integer("keepdims", 1) != 1) return std::nullopt;
  // The axes were an attribute before opset 18, an input since.
  std::vector<std::int64_t> axes = mean.attributes.integers("axes", {});
  if (mean.inputs.size() > 1 && match.graph().value(mean.inputs[1]).is_constant()) {
    axes = match.graph().value(mean.inputs[1]).data->integers();
  }
  if (axes.empty()) return std::nullopt;
  for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::sort(axes.begin(), axes.end());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != rank - static_cast<std::int64_t>(axes.size() - i)) return std::nullopt;
  }
  return axes.front();
}

/// Whether `id` is the square of `base`.
bool is_square(const Matcher& match, ValueId id, ValueId base) {
  if (const Node* pow = match.producer(id, "Pow")) return pow->inputs[0] == base && match.scalar(pow->inputs[1]) == 2.0;
  const Node* mul = match.producer(id, "Mul");
  return mul && mul->inputs[0] == base && mul->inputs[1] == base;
}

struct Normalised {
  ValueId x;
  std::int64_t axis;
  double epsilon;
};
/// (x − mean(x)) / √(mean((x − mean(x))²) + ε)
std::optional<Normalised> match_normalised(const Matcher& match, ValueId id) {
  const Node* div = match.producer(id, "Div");
  const Node* sub = div ? match.producer(div->inputs[0], "Sub") : nullptr;
  const Node* mean = sub ? match.producer(sub->inputs[1], "ReduceMean") : nullptr;
  const Node* root = div ? match.producer(div->inputs[1], "Sqrt") : nullptr;
  if (!mean || !root || mean->inputs[0] != sub->inputs[0]) return std::nullopt;
  const auto variance = match.plus_constant(root->inputs[0]);
  const Node* mean_square = variance ? match.producer(variance->value, "ReduceMean") : nullptr;
  if (!mean_square || !is_square(match, mean_square->inputs[0], sub->outputs[0])) return std::nullopt;
  const auto axis = trailing_mean_axis(match, *mean);
  if (!axis || trailing_mean_axis(match, *mean_square) != axis) return std::nullopt;
  return Normalised{sub->inputs[0], *axis, variance->constant};
}

/// The constant of `node`'s two inputs when it has the shape of the normalised axes, and the other input.
std::optional<std::pair<ValueId, ValueId>> affine_operand(const Graph& graph, const Node& node, const Sizes& inner) {
  for (std::size_t i = 0; i < 2; ++i) {
    const Value& value = graph.value(node.inputs[i]);
    if (value.is_constant() && value.data->type.shape == inner) return std::pair{node.inputs[i], node.inputs[1 - i]};
  }
  return std::nullopt;
}

/// Shape of the axes from `axis` on; a negative one counts from the end.
Sizes inner_sizes(const Graph& graph, ValueId id, std::int64_t axis) {
  const Sizes sizes = graph.sizes(id);
  if (axis < 0) axis += static_cast<std::int64_t>(sizes.size());
  return Sizes(sizes.begin() + static_cast<std::ptrdiff_t>(axis), sizes.end());
}

/// normalised · γ
std::optional<Replacement> match_layer_norm_scale(const Matcher& match, const Node& root) {
  if (root.op != "Mul") return std::nullopt;
  for (const ValueId input : root.inputs) {
    const auto normalised = match_normalised(match, input);
    if (!normalised) continue;
    const auto scale = affine_operand(match.graph(), root, inner_sizes(match.graph(), normalised->x, normalised->axis));
    if (!scale) continue;
    Replacement r{"LayerNormalization", 17, {normalised->x, scale->first}, {}};
    r.attributes.set("axis", normalised->axis);
    r.attributes.set("epsilon", normalised->epsilon);
    return r;
  }
  return std::nullopt;
}

/// LayerNormalization(x, γ) + β
std::optional<Replacement> match_layer_norm_shift(const Matcher& match, const Node& root) {
  if (root.op != "Add") return std::nullopt;
  for (const ValueId input : root.inputs) {
    const Node* norm = match.producer(input, "LayerNormalization");
    if (!norm || norm->inputs.size() != 2) continue;
    const auto shift = affine_operand(
        match.graph(), root, inner_sizes(match.graph(), norm->inputs[0], norm->attributes.integer("axis", -1)));
    if (!shift) continue;
    return Replacement{"LayerNormalization", 17, {norm->inputs[0], norm->inputs[1], shift->first}, norm->attributes};
  }
  return std::nullopt;
}

constexpr std::array kPatterns{match_hard_sigmoid, match_hard_swish, match_gelu, match_layer_norm_scale,
                               match_layer_norm_shift};

}  // namespace

void recognise_patterns(Graph& graph) {
  // Replacements keep every node's place and outputs, so that the matcher's table of producers stays right.
  const Matcher match(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const auto& pattern : kPatterns) {
      if (graph.nodes[n].outputs[0] == kAbsent) continue;
      auto replacement = pattern(match, graph.nodes[n]);
      // A broadcast of x would make the output larger than what the recognised operator returns.
      if (!replacement || graph.sizes(replacement->inputs[0]) != graph.sizes(graph.nodes[n].outputs[0])) continue;
      Node& node = graph.nodes[n];
      node.origins = match.origins(n, replacement->inputs);
      node.op = std::move(replacement->op);
      node.opset = replacement->opset;
      node.inputs = std::move(replacement->inputs);
      node.attributes = std::move(replacement->attributes);
    }
  }
  remove_dead_code(graph);
}

}  // namespace temper::graph
