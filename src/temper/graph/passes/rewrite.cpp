#include "temper/graph/passes/rewrite.h"

#include <algorithm>
#include <array>
#include <string>

#include "temper/graph/definition.h"
#include "temper/graph/onnx_types.h"
#include "temper/support/error.h"

namespace temper::graph {
namespace {

void require_inputs(const Node& node, std::size_t count) {
  const bool absent = std::count(node.inputs.begin(), node.inputs.end(), kAbsent) > 0;
  if (node.inputs.size() != count || absent)
    throw Error(ErrorCode::InvalidModel, "it needs " + std::to_string(count) + " inputs", node.op);
}

/// The value of a condition, which must be known.
bool holds(const Graph& graph, const Node& node, ValueId condition) {
  const Value& value = graph.value(condition);
  if (!value.is_constant()) {
    throw Error(ErrorCode::Unsupported,
                "the condition '" + value.name + "' is computed by the model; its value must be constant", node.op,
                "only one branch can be compiled: fix the condition, or bind it with --constant");
  }
  if (value.data->type.elements() != 1) throw Error(ErrorCode::InvalidModel, "the condition is not one value", node.op);
  return value.data->numbers()[0] != 0;
}

void cast_like(Graph& graph, Node& node, std::vector<Node>&) {
  require_inputs(node, 2);
  node.op = "Cast";
  node.attributes.set("to", onnx_number(graph.value(node.inputs[1]).dtype));
  node.inputs.pop_back();
}

/// Parts without elements add nothing.
void concat(Graph& graph, Node& node, std::vector<Node>&) {
  const auto is_empty = [&](ValueId id) {
    return id != kAbsent && !graph.sizes(id).empty() && element_count(graph.sizes(id)) == 0;
  };
  if (std::all_of(node.inputs.begin(), node.inputs.end(), is_empty)) return;
  std::erase_if(node.inputs, is_empty);
}

/// (condition, then, else), each output of an If on its own.
void choose(Graph& graph, Node& node, std::vector<Node>&) {
  require_inputs(node, 3);
  node.inputs = {holds(graph, node, node.inputs[0]) ? node.inputs[1] : node.inputs[2]};
  node.op = "Identity";
}

/// Of two operands it is what fusion knows.
void sum(Graph&, Node& node, std::vector<Node>&) {
  if (node.inputs.size() != 2) return;
  node.op = "Add";
  node.opset = std::max(node.opset, 7);  // without attributes for broadcasting
}

constexpr std::array kRewrites{
    Rewrite{"AffineGrid", "a product with the places of all pixels", rewrite_affine_grid},
    Rewrite{"CastLike", "Cast to the type of the second input", cast_like},
    Rewrite{"CenterCropPad", "Slice and Pad", rewrite_center_crop_pad},
    Rewrite{"Concat", "Concat without the parts that hold no elements", concat},
    Rewrite{"Dropout", "the input, and a mask of ones", rewrite_dropout},
    Rewrite{"If", "the branch that is taken, where the condition is known", choose},
    Rewrite{"Resize", "products with matrices of weights, in modes that no definition covers", rewrite_resize},
    Rewrite{"Sum", "Add, of two operands", sum},
};

const Rewrite* find(std::string_view op) {
  const auto entry = std::find_if(kRewrites.begin(), kRewrites.end(), [&](const Rewrite& r) { return r.op == op; });
  return entry == kRewrites.end() ? nullptr : &*entry;
}

}  // namespace

std::span<const Rewrite> rewrites() { return kRewrites; }

bool is_rewritten(std::string_view op) { return find(op) != nullptr; }

bool is_taken(const Graph& graph, Node& node) {
  bool taken = true;
  for (; !node.guards.empty(); node.guards.pop_back()) {
    const ValueId condition = node.inputs.back();
    node.inputs.pop_back();
    taken = taken && holds(graph, node, condition) == node.guards.back();
  }
  while (!node.inputs.empty() && node.inputs.back() == kAbsent) node.inputs.pop_back();
  return taken;
}

void rewrite(Graph& graph, Node& node, std::vector<Node>& before) {
  upgrade_opset6(graph, node, before);
  if (const Rewrite* entry = find(node.op)) entry->apply(graph, node, before);
}

}  // namespace temper::graph
