// Squeeze-excite blocks, y · gate(mean(y)), with fewer passes over their pixels.
//   Add(y, Mul(y, s))                →  Mul(y, Add(s, 1))        where s has fewer elements than y
//   Mean(Conv(x, W, b))              →  Conv(Mean(x), W, b)      over all pixels, for kernels of one pixel
//   Conv(Conv(x, V, a), W, b)        →  Conv(x, W·V, W·a + b)    for kernels of one pixel
// The second leaves the convolution's result to those who scale it, so that it need not be in memory before they run:
// then fusion makes the scale, and what is added behind it, part of the convolution. It is done where x and the weights
// are not more to read than y, or where nobody else reads y; the third where its weights are not more. Products of
// weights are computed in f64 and rounded once.
#pragma once

#include "temper/graph/graph.h"

namespace temper::graph {

/// Requires inferred shapes. Nodes that only the old form used are removed.
void simplify_squeeze_excite(Graph& graph);

}  // namespace temper::graph
