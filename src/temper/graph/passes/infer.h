// Shape inference with constant propagation: every value gets its type, and what can be computed ahead is.
//   s = Shape(x: [1,3,48,192]); n = Slice(s, 0, 1); r = Concat(n, [-1]); y = Reshape(x, r)
//     →  y = Reshape(x, [1,-1])     with y: [1,27648]
#pragma once

#include "temper/graph/graph.h"

namespace temper::graph {

/// Constant nodes with more output elements than this stay in the graph, so that no model makes the import run for
/// minutes.
inline constexpr std::int64_t kMaxFoldedElements = std::int64_t{1} << 22;

/// Requires static input shapes. Throws Error{InvalidModel, Unsupported} that names the node: a shape rule is violated,
/// an attribute is wrong, a shape depends on data, or a tensor would be empty.
void infer(Graph& graph);

}  // namespace temper::graph
