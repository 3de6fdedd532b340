// Splits Gemm into a matrix product and an addition, so that it shares tasks with MatMul and fuses the same way.
//   y = Gemm(a, b, c, transB=1)     →  t = MatMul(a, b'); y = Add(t, c)     with b' transposed here
// Applies where alpha and beta are 1 (a constant c takes any beta, a constant b any alpha), a is not transposed, and b
// is not transposed or constant. Other Gemms stay as they are.
#pragma once

#include "temper/graph/graph.h"

namespace temper::graph {

/// Requires inferred shapes.
void split_gemm(Graph& graph);

}  // namespace temper::graph
