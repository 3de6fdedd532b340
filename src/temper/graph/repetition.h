// Nodes that repeat the elements of their input.
#pragma once

#include <optional>

#include "temper/graph/graph.h"

namespace temper::graph {

/// How often along each axis `node` repeats every element of its first input, by its definition:
///   out[i, j] = in[i / a, j / b]   →   {a, b}
/// as Resize does that takes the nearest pixel for whole factors. Nothing for a node that does anything else.
std::optional<Sizes> repetition(const Graph& graph, const Node& node);

}  // namespace temper::graph
