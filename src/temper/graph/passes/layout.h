// One layout for chains of convolutions: NHWC with exact channels, from the first convolution to the last.
//   y = Conv(x); z = Relu(y); output z      (everything NCHW)
//     →  t = Transpose(x, [0,2,3,1]); y = Conv<nhwc>(t); z = Relu(y); u = Transpose(z, [0,3,1,2]); output u
// A convolution of few channels that reads what nothing else wants as NHWC, an image, reads it as it is instead: each
// of its elements is one scalar for all output channels, wherever it lies. Convolutions and pooling of 4-D tensors
// become NHWC; elementwise operators, concatenations and reductions follow their inputs; everything else stays as the
// model wrote it. Transposes stand only where the two meet; one that moves no element (1x1 maps, one channel) is a
// Reshape, constants are transposed here, and a Transpose of the model absorbs ours.
#pragma once

#include "temper/graph/graph.h"

namespace temper::graph {

/// Requires inferred shapes. Afterwards the shape of every value is that of its stored order.
void assign_layouts(Graph& graph);

}  // namespace temper::graph
