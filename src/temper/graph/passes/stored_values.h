// The values of a graph while its layouts are assigned: how each is stored, and the same tensor in the other layouts,
// converted on first need.
//   NCHW to NHWC and back      t = Transpose(x, [0,2,3,1])
//   NCHW to blocks of b        p = Pad(x) to whole blocks; s = Reshape(p, [n,c/b,b,h,w]); t = Transpose(s, [0,1,3,4,2])
//   blocks of b to NCHW        s = Transpose(x, [0,1,4,2,3]); p = Reshape(s, [n,c,h,w]); t = Slice(p) to the channels
// without the Pad and the Slice where the channels are whole blocks. A Transpose that moves no element (1x1 maps, one
// channel) is a Reshape, and constants are converted here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "temper/graph/graph.h"

namespace temper::graph {

/// Whether a transpose of `sizes` leaves every element in its place: the axes larger than 1 keep their order.
bool moves_nothing(const Sizes& sizes, const std::vector<int>& order);

inline constexpr int kNoNode = -1;

class StoredValues {
 public:
  /// Takes the nodes out of `graph`; conversions are added to it as they are needed.
  explicit StoredValues(Graph& graph) : graph_(graph), states_(graph.values.size()), moved_(graph.nodes.size(), 0) {}

  /// The node at hand, by its number among those that the graph had.
  void visit(int node) { node_ = node; }

  bool is_stored(ValueId id, ops::Layout layout) { return id != kAbsent && state(id).layout == layout; }
  /// Whether the tensor has been wanted in another layout.
  bool is_wanted(ValueId id, ops::Layout layout) { return state(id).twins.contains(layout); }
  /// As the model has it: [n,c,h,w] in every layout.
  Sizes plain_sizes(ValueId id);
  /// What the lanes hold that fill up the last block of channels.
  double padding(ValueId id) { return state(id).padding; }
  /// The node that computes it in a layout other than NCHW; `kNoNode` when none does.
  int producer(ValueId id) { return state(id).producer; }

  /// The value that holds `id` in `layout`. A value that is no image is itself in every layout.
  ValueId as(ValueId id, ops::Layout layout);
  /// The node at hand computes `id`, whose type is that of the model, in `layout`.
  void define(ValueId id, ops::Layout layout, double padding);

  /// Leading axes of size 1, as broadcasting adds them.
  ValueId with_rank_4(ValueId id);
  /// The same elements under another shape.
  ValueId reshaped_as(ValueId id, const Sizes& sizes, const std::string& suffix);
  /// result = Transpose(id, order), as a Reshape where no element moves.
  void add_transpose(ValueId id, ValueId result, const std::vector<int>& order, const std::string& name);
  /// Of a tensor, where its transpose moves elements.
  std::int64_t transposed_bytes(ValueId id, const std::vector<int>& order) const;

  /// Bytes that conversions move into a layout for a node, or out of the one that a node computes.
  std::int64_t moved(int node) const { return moved_[static_cast<std::size_t>(node)]; }
  void count_moved(int node, std::int64_t bytes) { moved_[static_cast<std::size_t>(node)] += bytes; }

 private:
  struct State {
    ops::Layout layout = ops::Layout::Nchw;
    std::map<ops::Layout, ValueId> twins = {};  ///< of a value in NCHW; of another, the one in NCHW alone
    int producer = kNoNode;
    Sizes plain = {};         ///< of a value in blocks
    std::string source = {};  ///< of a value in blocks: what it would be without
    double padding = 0;
  };

  State& state(ValueId id) {
    states_.resize(graph_.values.size());
    return states_[static_cast<std::size_t>(id)];
  }
  void add_reshape(ValueId id, ValueId result, const std::string& name);
  ValueId nhwc_of(ValueId id, const std::string& name);
  ValueId blocks_of(ValueId id, ops::Layout layout, const std::string& name);
  ValueId plain_of(ValueId id, const std::string& name);
  ValueId added(const std::string& name, ir::DType dtype, const Sizes& sizes, const std::string& source = {});
  std::int64_t bytes(ValueId id) const;

  Graph& graph_;
  std::vector<State> states_;
  std::vector<std::int64_t> moved_;  ///< by node
  int node_ = kNoNode;
};

/// [n, ceil(c/b), h, w, b] for [n,c,h,w].
Sizes sizes_in_blocks(const Sizes& plain, std::int64_t block);
/// A constant [n,c,h,w] in blocks; what fills them up is `padding`.
ops::TensorValue in_blocks(const ops::TensorValue& value, std::int64_t block, double padding = 0);

}  // namespace temper::graph
