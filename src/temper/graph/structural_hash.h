// What makes two graphs the same program.
#pragma once

#include <cstdint>

#include "temper/graph/graph.h"

namespace temper::graph {

/// A hash of the nodes in their order, their attributes, and types and shapes of all values that they join. Names do
/// not count, and of constants of real numbers only the type does: the same network with other weights is the same
/// program. Constants of integers and booleans (shapes, axes, indices) count with their contents. Requires inferred
/// shapes.
std::uint64_t structural_hash(const Graph& graph);

}  // namespace temper::graph
