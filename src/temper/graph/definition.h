// Graph nodes → compute definitions of `ops`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "temper/graph/graph.h"
#include "temper/ops/operator.h"

namespace temper::graph {

/// "node 'conv1' (Conv)"
std::string place(const Node& node);

/// A node ready for `ops::build`, `ops::infer` or `ops::fold`. `operand` gives the operand for a present input. Points
/// into `node`, which must outlive the result.
ops::Node bind(const Node& node, const std::function<ops::Operand(ValueId)>& operand);

/// Placeholder (`constant` where the contents are known) for a value of known shape, with its contents. `name` must be
/// a valid stage name. The operand points into `graph`.
ops::Operand placeholder_operand(const Graph& graph, ValueId id, const std::string& name);

/// As `bind`, with a placeholder "in<i>" for each input; a value read twice is one placeholder.
ops::Node bind_placeholders(const Graph& graph, const Node& node);

/// Runs `work` and rethrows what it throws with `place(node)` in front of the place.
template <class Work>
decltype(auto) at_node(const Node& node, Work&& work);

[[noreturn]] void rethrow_at_node(const Node& node);

template <class Work>
decltype(auto) at_node(const Node& node, Work&& work) {
  try {
    return work();
  } catch (...) {
    rethrow_at_node(node);
  }
}

}  // namespace temper::graph
