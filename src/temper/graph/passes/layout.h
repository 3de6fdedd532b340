// One layout for each chain of convolutions: NHWC with exact channels, or NCHW as the model wrote it.
//   y = Conv(x); z = Relu(y); output z      (everything NCHW)
//     →  t = Transpose(x, [0,2,3,1]); y = Conv<nhwc>(t); z = Relu(y); u = Transpose(z, [0,3,1,2]); output u
// A chain is what must agree on a layout to need no transposes inside: convolutions and pooling of 4-D tensors, and the
// elementwise operators, concatenations, reductions, ... that follow the layout of their inputs. Everything else stays
// as the model wrote it, and so do chains in NCHW. `layout_choice.h` says which layout is the better one.
// Transposes stand only where the two layouts meet; one that moves no element (1x1 maps, one channel) is a Reshape,
// constants are transposed here, and a Transpose of the model absorbs ours. A convolution of few channels that reads
// what nothing else wants as NHWC, an image, reads it as it is instead: each of its elements is one scalar for all
// output channels, wherever it lies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "temper/graph/graph.h"

namespace temper::graph {

/// Nodes that one layout is chosen for.
struct Chain {
  std::string name;        ///< of its first node, which is a convolution or a pooling
  std::vector<int> nodes;  ///< indices into `Graph::nodes`, ascending
  /// Bytes of the tensors that are transposed where the chain begins and ends, the model's own transposes included, if
  /// this chain and all others are NHWC, and if they are NCHW.
  std::int64_t transposed_nhwc = 0, transposed_nchw = 0;
};

/// The chains of a graph that `assign_layouts` has not changed yet, in the order of their first nodes; no two share a
/// node. Requires inferred shapes.
std::vector<Chain> find_chains(const Graph& graph);

/// One layout for each of `find_chains`, in its order.
using Layouts = std::vector<ops::Layout>;

/// Requires inferred shapes. Afterwards the shape of every value is that of its stored order.
void assign_layouts(Graph& graph, const Layouts& layouts);

}  // namespace temper::graph
