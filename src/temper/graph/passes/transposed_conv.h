// Transposed convolutions with constant weights as dense ones.
#pragma once

#include "temper/graph/graph.h"

namespace temper::graph {

/// ConvTranspose with stride s → a convolution of stride 1 that computes the s·s results of one input position as
/// channels, DepthToSpace, and a Slice where the padding does not end at a multiple of s: each of the s·s parity
/// classes of output positions meets its own taps of the kernel, every s-th one. Functions of single elements behind it
/// move in front of the shuffle. Nodes in groups, with different strides, or with weights that are computed stay. The
/// graph is in NCHW.
void lower_transposed_convolutions(Graph& graph);

}  // namespace temper::graph
