// Folds per-channel scales and shifts by constants into the weights and bias of the convolution before them.
//   y = Conv(x, W, b); z = BatchNormalization(y, s, t, m, v)
//     →  z = Conv(x, W·a, b·a + c)     with a = s/√(v+ε), c = t − m·a per output channel
// Mul, Div, Add and Sub by a constant that varies along channels at most are folded the same way. A batch normalisation
// that follows something else becomes y·a + c, two elementwise nodes. The arithmetic is in f64, rounded once.
#pragma once

#include "temper/graph/graph.h"

namespace temper::graph {

/// Requires inferred shapes. Throws Error{Unsupported} for a batch normalisation in training mode or with statistics
/// that are not constant.
void fold_affine(Graph& graph);

}  // namespace temper::graph
