// Attention written as several nodes: softmax(scale · Q·Kᵀ + mask)·V becomes one operator.
#pragma once

#include "temper/graph/graph.h"

namespace temper::graph {

/// MatMul, Mul or Div by a constant, Add of a mask, Softmax and MatMul become Attention, where nothing else reads what
/// is between them. The constant may also scale queries or keys before the product. Where heads are moved outside by
/// Transpose for all three operands, and back behind, Attention reads and writes them where they are. Products with few
/// queries stay what they are: vectors run along the queries.
void recognise_attention(Graph& graph);

}  // namespace temper::graph
