#include "temper/graph/passes/identities.h"

#include <algorithm>
#include <array>

#include "temper/graph/definition.h"
#include "temper/graph/passes/dead_code.h"
#include "temper/ops/registry.h"
#include "temper/support/error.h"

namespace temper::graph {
namespace {

bool all_elements_are(const Graph& graph, const Node& node, std::size_t input, double number) {
  if (input >= node.inputs.size() || node.inputs[input] == kAbsent) return false;
  const Value& value = graph.value(node.inputs[input]);
  if (!value.is_constant()) return false;
  const std::vector<double> numbers = value.data->numbers();
  return std::all_of(numbers.begin(), numbers.end(), [&](double n) { return n == number; });
}

bool keeps_type(const Graph& graph, const Node& node, std::size_t input = 0) {
  const ValueId from = node.inputs[input], to = node.outputs[0];
  return from != kAbsent && graph.has_known_shape(from) && graph.has_known_shape(to) &&
         graph.sizes(from) == graph.sizes(to) && graph.value(from).dtype == graph.value(to).dtype;
}

// Each rule returns the number of the input that the node's first output equals, or -1.

int dropout(const Graph& graph, const Node& node) {
  const bool training = node.inputs.size() > 2 && node.inputs[2] != kAbsent && !all_elements_are(graph, node, 2, 0);
  if (training || node.attributes.integer("is_test", 1) == 0) {
    throw Error(ErrorCode::Unsupported, "Dropout in training mode", place(node), "export the model for inference");
  }
  return 0;
}
int identity(const Graph&, const Node&) { return 0; }
int same_type(const Graph& graph, const Node& node) { return keeps_type(graph, node) ? 0 : -1; }
int in_order(const Graph& graph, const Node& node) {
  std::vector<std::int64_t> order = node.attributes.integers("perm", {});
  return !order.empty() && std::is_sorted(order.begin(), order.end()) && keeps_type(graph, node) ? 0 : -1;
}
int neutral(const Graph& graph, const Node& node, double number, bool commutes) {
  if (all_elements_are(graph, node, 1, number) && keeps_type(graph, node, 0)) return 0;
  if (commutes && all_elements_are(graph, node, 0, number) && keeps_type(graph, node, 1)) return 1;
  return -1;
}
int add(const Graph& graph, const Node& node) { return neutral(graph, node, 0, true); }
int subtract(const Graph& graph, const Node& node) { return neutral(graph, node, 0, false); }
int multiply(const Graph& graph, const Node& node) { return neutral(graph, node, 1, true); }
int divide(const Graph& graph, const Node& node) { return neutral(graph, node, 1, false); }
int alone(const Graph& graph, const Node& node) { return node.inputs.size() == 1 && keeps_type(graph, node) ? 0 : -1; }
int full_slice(const Graph& graph, const Node& node) {
  const bool forward = node.inputs.size() < 5 || all_elements_are(graph, node, 4, 1);
  return forward && keeps_type(graph, node) ? 0 : -1;
}

struct Rule {
  std::string_view op;
  int (*input)(const Graph&, const Node&);
};
constexpr std::array kRules{
    Rule{"Add", add},           Rule{"Cast", same_type},     Rule{"Concat", alone},
    Rule{"Div", divide},        Rule{"Dropout", dropout},    Rule{"Expand", same_type},
    Rule{"Flatten", same_type}, Rule{"Identity", identity},  Rule{"Max", alone},
    Rule{"Min", alone},         Rule{"Mul", multiply},       Rule{"Reshape", same_type},
    Rule{"Slice", full_slice},  Rule{"Squeeze", same_type},  Rule{"Sub", subtract},
    Rule{"Sum", alone},         Rule{"Transpose", in_order}, Rule{"Unsqueeze", same_type},
};

}  // namespace

void remove_identities(Graph& graph) {
  const Uses uses = find_uses(graph);
  for (Node& node : graph.nodes) {
    const auto rule = std::find_if(kRules.begin(), kRules.end(), [&](const Rule& r) { return r.op == node.op; });
    if (rule == kRules.end() || node.inputs.empty() || node.inputs[0] == kAbsent || node.outputs[0] == kAbsent)
      continue;
    const int input = rule->input(graph, node);
    if (input < 0) continue;
    for (std::size_t i = 1; i < node.outputs.size(); ++i) {
      const ValueId id = node.outputs[i];
      if (id != kAbsent &&
          (!uses.consumers[static_cast<std::size_t>(id)].empty() || uses.is_output[static_cast<std::size_t>(id)])) {
        throw Error(ErrorCode::Unsupported, "output " + std::to_string(i) + " is not supported", place(node));
      }
    }
    replace_uses(graph, node.outputs[0], node.inputs[static_cast<std::size_t>(input)]);
  }
  remove_dead_code(graph);
}

}  // namespace temper::graph
