// Recognises operators that exporters write as several nodes.
//   Clip(x + 3, 0, 6) / 6                               →  HardSigmoid(x, alpha=1/6, beta=1/2)
//   x · HardSigmoid(x), x · Clip(x + 3, 0, 6) / 6       →  HardSwish(x)
//   x · (Erf(x / √2) + 1) / 2                           →  Gelu(x)
//   d = x − mean(x); d / √(mean(d²) + ε) · γ + β        →  LayerNormalization(x, γ, β)
// Factors may stand in any order, and constants may divide or multiply.
#pragma once

#include "temper/graph/graph.h"

namespace temper::graph {

/// Requires inferred shapes. Nodes that only the old form used are removed.
void recognise_patterns(Graph& graph);

}  // namespace temper::graph
