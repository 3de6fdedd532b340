// Removes nodes that return their input: Identity, Dropout at inference, and, once shapes are known, casts to the same
// type, reshapes to the same shape, transposes in order, x + 0, x · 1, concatenations and sums of one, full slices,
// empty pads.
//   y = Dropout(x); z = Relu(y)     →     z = Relu(x)
#pragma once

#include "temper/graph/graph.h"

namespace temper::graph {

/// Needs no shapes, but finds more when they are inferred. Throws Error{Unsupported} for a Dropout in training mode or
/// one whose mask is read.
void remove_identities(Graph& graph);

}  // namespace temper::graph
