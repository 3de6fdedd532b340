#include "temper/graph/passes/dead_code.h"

#include <algorithm>
#include <utility>

namespace temper::graph {

void remove_dead_code(Graph& graph) {
  std::vector<bool> needed(graph.values.size(), false);
  for (const ValueId id : graph.outputs) needed[static_cast<std::size_t>(id)] = true;
  const auto is_needed = [&](ValueId id) { return id != kAbsent && needed[static_cast<std::size_t>(id)]; };
  std::vector<Node> kept;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (!std::any_of(node->outputs.begin(), node->outputs.end(), is_needed)) continue;
    for (ValueId& id : node->outputs) {
      if (!is_needed(id)) id = kAbsent;
    }
    for (const ValueId id : node->inputs) {
      if (id != kAbsent) needed[static_cast<std::size_t>(id)] = true;
    }
    kept.push_back(std::move(*node));
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes = std::move(kept);
  drop_unused_values(graph);
}

}  // namespace temper::graph
