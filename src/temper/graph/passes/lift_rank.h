// Operators over one spatial axis as operators over two.
#pragma once

#include "temper/graph/graph.h"

namespace temper::graph {

/// [n,c,x] → [n,c,1,x] for convolutions and pools of rank 3, so that they are the same tasks, in the same layouts, as
/// those of rank 4; elementwise nodes between them follow. Reshapes (views) stand at the borders. Convolutions whose
/// weights are computed stay. The graph is in NCHW.
void lift_rank(Graph& graph);

}  // namespace temper::graph
