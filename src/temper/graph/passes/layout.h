// One layout for each chain of convolutions: NHWC with exact channels, blocks of channels that fill a vector, or NCHW
// as the model wrote it.
//   y = Conv(x); z = Relu(y); output z      (everything NCHW)
//     →  t = Transpose(x, [0,2,3,1]); y = Conv<nhwc>(t); z = Relu(y); u = Transpose(z, [0,3,1,2]); output u
// A chain is what must agree on a layout to need no transposes inside: convolutions and pooling of 4-D tensors, and the
// elementwise operators, concatenations, reductions, ... that follow the layout of their inputs. Everything else stays
// as the model wrote it, and so do chains in NCHW. `layout_choice.h` says which layout is the better one.
// Transposes stand only where the two layouts meet (`stored_values.h`), and a Transpose of the model absorbs those of
// NHWC. A convolution of few channels that reads what nothing else wants as NHWC, an image, reads it as it is instead:
// each of its elements is one scalar for all output channels, wherever it lies.
// A chain can be in blocks if all its convolutions can; of the other nodes those are in NCHW that do not follow blocks
// (`block_rules.h`).
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
  /// The same if all chains that can are in blocks, with what nodes in NCHW take inside.
  std::int64_t transposed_blocks = 0;
  std::string no_blocks = {};  ///< why it cannot be in blocks, with the name of the node; empty: it can
};

/// The layout in blocks where nobody says which vectors the target has.
inline constexpr ops::Layout kWidestBlocks = ops::Layout::Nchw16c;

/// The chains of a graph that `assign_layouts` has not changed yet, in the order of their first nodes; no two share a
/// node. `blocks`: the layout in blocks that they are asked about. Requires inferred shapes.
std::vector<Chain> find_chains(const Graph& graph, ops::Layout blocks = kWidestBlocks);

/// One layout for each of `find_chains`, in its order.
using Layouts = std::vector<ops::Layout>;

/// Requires inferred shapes, and blocks for chains that can be in such blocks alone. Afterwards the shape of every
/// value is that of its stored order.
void assign_layouts(Graph& graph, const Layouts& layouts);

}  // namespace temper::graph
