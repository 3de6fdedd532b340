// Drops what no output depends on.
//   y = Relu(x); z = Exp(x); output y     →     y = Relu(x); output y
#pragma once

#include "temper/graph/graph.h"

namespace temper::graph {

/// Removes nodes none of whose outputs is read, outputs nobody reads of the nodes that stay, and unused values.
void remove_dead_code(Graph& graph);

}  // namespace temper::graph
