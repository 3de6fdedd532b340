// What can be computed where activations are stored in blocks of channels, [n, ceil(c/b), h, w, b].
//
// Lanes that fill up the last block hold one finite number, the same in each of them, which is known here: 0 where a
// chain begins (`stored_values.h`) and behind a convolution, whose weights and bias are 0 there; behind any other
// operator it is what the operator makes of it. So no lane of a channel is ever touched by what a padded one holds: a
// weight of 0 times a finite number is 0, and a chain's end drops them. These follow the layout:
// - Conv with constant weights, in one group, in groups of whole blocks, or with a group for each channel. The weights
//   are laid out here (`ops/conv2d.h`). Up to `kFewChannels` channels that nobody else wants in blocks are read as they
//   are: `ops::Conv2dShape::plain_input`.
// - MaxPool, AveragePool, GlobalMaxPool, GlobalAveragePool.
// - elementwise operators; an operand that is one value for all channels of a pixel only where there are no padded
//   lanes, since those would differ.
// - Concat along pixels and images, and along channels where all but the last are whole blocks; Slice likewise, where
//   it begins and ends with blocks, or ends with the channels; Resize of pixels; reductions of pixels that keep the
//   dimensions.
// Operators that would put something else than one finite number into padded lanes (1/x behind a convolution, a mean of
// what is not 0) do not follow where there are such lanes, and neither does what mixes channels: DepthToSpace,
// reductions of channels, Transpose. A chain ends there, and goes on in blocks behind it. A convolution that cannot be
// computed in blocks makes the whole chain one that cannot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "temper/graph/graph.h"
#include "temper/graph/passes/stored_values.h"

namespace temper::graph {

class BlockRules {
 public:
  /// `lay_out_weights` false: only to see what would follow; weights keep their shapes.
  BlockRules(Graph& graph, StoredValues& stored, ops::Layout layout, bool lay_out_weights)
      : graph_(graph),
        stored_(stored),
        layout_(layout),
        block_(ops::channel_block(layout)),
        lay_out_weights_(lay_out_weights) {}

  /// Why a convolution cannot be computed in blocks; empty for one that can, and for any other operator.
  std::string refusal(const Node& node) const;

  /// Rewrites the node, whose inputs may be stored in any layout, for inputs and outputs in blocks and returns what the
  /// padded lanes of its output hold; leaves it alone and returns nothing where it does not follow. Requires a
  /// convolution that is not refused.
  std::optional<double> follow(Node& node);

 private:
  using Padding = std::optional<double>;

  bool has_blocks(ValueId id) { return stored_.is_stored(id, layout_); }
  bool any_blocks(const Node& node);
  bool is_image(ValueId id) { return id != kAbsent && stored_.plain_sizes(id).size() == 4; }
  /// Whether the last block of an image of these sizes has padded lanes.
  bool has_padding(const Sizes& plain) const { return plain[1] % block_ != 0; }
  /// Whether padded lanes of `id`, if it has any, hold 0.
  bool is_zero_padded(ValueId id);
  ValueId in_blocks(ValueId id) { return stored_.as(id, layout_); }

  Padding follow_convolution(Node& node);
  ValueId laid_out_weights(const Node& node, bool plain_input);
  /// A constant of one value for each channel as [c/b, b].
  ValueId per_channel(ValueId id, double padding);
  Padding follow_pool(Node& node);
  Padding follow_batch_norm(Node& node);
  Padding follow_elementwise(Node& node);
  Padding follow_concat(Node& node);
  Padding follow_slice(Node& node);
  Padding follow_reduction(Node& node);
  Padding follow_resize(Node& node);

  Graph& graph_;
  StoredValues& stored_;
  ops::Layout layout_;
  std::int64_t block_;
  bool lay_out_weights_;
};

}  // namespace temper::graph
