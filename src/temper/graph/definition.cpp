#include "temper/graph/definition.h"

#include <map>
#include <utility>

#include "temper/support/error.h"

namespace temper::graph {

std::string place(const Node& node) { return "node '" + node.name + "' (" + node.op + ")"; }

ops::Node bind(const Node& node, const std::function<ops::Operand(ValueId)>& operand) {
  ops::Node bound;
  bound.op = node.op;
  bound.opset = node.opset;
  bound.attributes = &node.attributes;
  bound.name = "out";
  bound.layout = node.layout;
  // Trailing outputs that nobody asked for need not exist.
  bound.outputs = static_cast<int>(node.outputs.size());
  while (bound.outputs > 1 && node.outputs[static_cast<std::size_t>(bound.outputs) - 1] == kAbsent) --bound.outputs;
  for (const ValueId id : node.inputs) bound.inputs.push_back(id == kAbsent ? ops::Operand{} : operand(id));
  return bound;
}

ops::Operand placeholder_operand(const Graph& graph, ValueId id, const std::string& name) {
  const Value& value = graph.value(id);
  const std::vector<ir::Extent> shape = ops::extents(graph.sizes(id));
  if (value.is_constant()) return ops::Operand{ir::constant(name, shape, value.dtype), &*value.data};
  return ops::Operand{ir::placeholder(name, shape, value.dtype), nullptr};
}

ops::Node bind_placeholders(const Graph& graph, const Node& node) {
  std::map<ValueId, ops::Operand> operands;
  return bind(node, [&](ValueId id) {
    const auto [entry, is_new] = operands.try_emplace(id);
    if (is_new) entry->second = placeholder_operand(graph, id, "in" + std::to_string(operands.size() - 1));
    return entry->second;
  });
}

namespace {

/// How to mend what an operator refuses, where it does not say so itself.
std::string hint_for(const Error& error) {
  if (!error.hint().empty()) return error.hint();
  if (error.code() == ErrorCode::InvalidModel)
    return "the model contradicts itself here, or the sizes given with --shape do not suit it";
  if (error.code() == ErrorCode::Unsupported) return "export the model without it, or add it: docs/extending.md";
  return {};
}

}  // namespace

void rethrow_at_node(const Node& node) {
  try {
    throw;
  } catch (const Error& error) {
    const bool has_more = !error.where().empty() && error.where() != node.op;
    throw Error(error.code(), error.message(), place(node) + (has_more ? ": " + error.where() : std::string()),
                hint_for(error));
  }
}

}  // namespace temper::graph
