#include "temper/graph/passes/stored_values.h"

#include <utility>

#include "temper/support/error.h"

namespace temper::graph {
namespace {

using ops::Layout;

const std::vector<int> kIntoBlocks{0, 1, 3, 4, 2};   ///< [n,c/b,b,h,w] to [n,c/b,h,w,b]
const std::vector<int> kOutOfBlocks{0, 1, 4, 2, 3};  ///< and back

std::int64_t whole_blocks(std::int64_t channels, std::int64_t block) { return (channels + block - 1) / block * block; }

}  // namespace

bool moves_nothing(const Sizes& sizes, const std::vector<int>& order) {
  int last = -1;
  for (const int axis : order) {
    if (sizes[static_cast<std::size_t>(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

Sizes sizes_in_blocks(const Sizes& plain, std::int64_t block) {
  return {plain[0], whole_blocks(plain[1], block) / block, plain[2], plain[3], block};
}

ops::TensorValue in_blocks(const ops::TensorValue& value, std::int64_t block, double padding) {
  const Sizes& plain = value.type.shape;
  const std::int64_t channels = whole_blocks(plain[1], block);
  const ops::TensorValue whole = padded(value, {plain[0], channels, plain[2], plain[3]}, padding);
  return transposed(reshaped(whole, {plain[0], channels / block, block, plain[2], plain[3]}), kIntoBlocks);
}

Sizes StoredValues::plain_sizes(ValueId id) {
  const State& known = state(id);
  if (known.layout == Layout::Nhwc) return permuted(graph_.sizes(id), kToNchw);
  return known.layout == Layout::Nchw ? graph_.sizes(id) : known.plain;
}

ValueId StoredValues::as(ValueId id, Layout layout) {
  if (id == kAbsent || state(id).layout == layout) return id;
  if (state(id).layout == Layout::Nchw && graph_.sizes(id).size() != 4) return id;
  if (const auto found = state(id).twins.find(layout); found != state(id).twins.end()) return found->second;
  if (state(id).layout != Layout::Nchw && layout != Layout::Nchw) return as(as(id, Layout::Nchw), layout);
  const std::string name = graph_.value(id).name + "." + std::string(ops::to_string(layout));
  const ValueId twin = layout == Layout::Nchw   ? plain_of(id, name)
                       : layout == Layout::Nhwc ? nhwc_of(id, name)
                                                : blocks_of(id, layout, name);
  const Layout from = state(id).layout;
  state(twin).layout = layout;
  state(twin).twins[from] = id;
  state(id).twins[layout] = twin;
  return twin;
}

void StoredValues::define(ValueId id, Layout layout, double padding) {
  State& known = state(id);
  known.layout = layout;
  known.producer = node_;
  const Sizes plain = graph_.sizes(id);
  Value& value = graph_.value(id);
  if (layout == Layout::Nhwc) {
    graph_.set_type(id, value.dtype, permuted(plain, kToNhwc));
    value.order = kToNhwc;
    return;
  }
  known.plain = plain;
  known.padding = padding;
  known.source = std::exchange(value.source, {});
  graph_.set_type(id, value.dtype, sizes_in_blocks(plain, ops::channel_block(layout)));
}

ValueId StoredValues::nhwc_of(ValueId id, const std::string& name) {
  const Value source = graph_.value(id);
  if (source.is_constant()) return graph_.add_constant(name, transposed(*source.data, kToNhwc));
  const ValueId result = added(name, source.dtype, permuted(graph_.sizes(id), kToNhwc), source.source);
  graph_.value(result).order = kToNhwc;
  add_transpose(id, result, kToNhwc, name);
  count_moved(node_, transposed_bytes(id, kToNhwc));
  return result;
}

ValueId StoredValues::blocks_of(ValueId id, Layout layout, const std::string& name) {
  const std::int64_t block = ops::channel_block(layout);
  const Sizes plain = graph_.sizes(id);
  const ir::DType dtype = graph_.value(id).dtype;
  ValueId result = kAbsent;
  if (graph_.value(id).is_constant()) {
    result = graph_.add_constant(name, in_blocks(*graph_.value(id).data, block));
  } else {
    const std::int64_t channels = whole_blocks(plain[1], block);
    ValueId whole = id;
    if (channels != plain[1]) {
      whole = added(name + ".whole", dtype, {plain[0], channels, plain[2], plain[3]});
      const ValueId pads = graph_.add_integers(name + ".pads", {0, 0, 0, 0, 0, channels - plain[1], 0, 0});
      graph_.nodes.push_back(Node{"Pad", 13, name + ".whole", {id, pads}, {whole}, {}, Layout::Nchw});
      count_moved(node_, bytes(whole));
    }
    const ValueId split = added(name + ".split", dtype, {plain[0], channels / block, block, plain[2], plain[3]});
    add_reshape(whole, split, name + ".split");
    result = added(name, dtype, sizes_in_blocks(plain, block));
    add_transpose(split, result, kIntoBlocks, name);
    count_moved(node_, transposed_bytes(split, kIntoBlocks));
  }
  state(result).plain = plain;
  return result;
}

ValueId StoredValues::plain_of(ValueId id, const std::string& name) {
  const ir::DType dtype = graph_.value(id).dtype;
  const int producer = state(id).producer;
  if (state(id).layout == Layout::Nhwc) {
    const ValueId result = added(name, dtype, permuted(graph_.sizes(id), kToNchw), graph_.value(id).source);
    add_transpose(id, result, kToNchw, name);
    count_moved(producer, transposed_bytes(id, kToNchw));
    return result;
  }
  const Sizes plain = state(id).plain;
  const std::string source = state(id).source;
  const Sizes split_sizes = permuted(graph_.sizes(id), kOutOfBlocks);
  const std::int64_t channels = split_sizes[1] * split_sizes[2];
  const bool is_whole = channels == plain[1];
  const ValueId split = added(name + ".split", dtype, split_sizes);
  add_transpose(id, split, kOutOfBlocks, name + ".split");
  count_moved(producer, transposed_bytes(id, kOutOfBlocks));
  const ValueId whole = added(is_whole ? name : name + ".whole", dtype, {plain[0], channels, plain[2], plain[3]},
                              is_whole ? source : std::string());
  add_reshape(split, whole, name);
  if (is_whole) return whole;
  const ValueId result = added(name, dtype, plain, source);
  const ValueId starts = graph_.add_integers(name + ".starts", {0}),
                ends = graph_.add_integers(name + ".ends", {plain[1]}), axes = graph_.add_integers(name + ".axes", {1});
  graph_.nodes.push_back(Node{"Slice", 13, name, {whole, starts, ends, axes}, {result}, {}, Layout::Nchw});
  if (plain[0] > 1) count_moved(producer, bytes(result));  // of one image, the channels are a part
  return result;
}

ValueId StoredValues::with_rank_4(ValueId id) {
  Sizes sizes = graph_.sizes(id);
  if (sizes.size() >= 4) return id;
  sizes.insert(sizes.begin(), 4 - sizes.size(), 1);
  return reshaped_as(id, sizes, ".4d");
}

ValueId StoredValues::reshaped_as(ValueId id, const Sizes& sizes, const std::string& suffix) {
  const Value source = graph_.value(id);
  const std::string name = source.name + suffix;
  if (source.is_constant()) return graph_.add_constant(name, reshaped(*source.data, sizes));
  const ValueId result = added(name, source.dtype, sizes);
  add_reshape(id, result, name);
  return result;
}

ValueId StoredValues::added(const std::string& name, ir::DType dtype, const Sizes& sizes, const std::string& source) {
  const ValueId id = graph_.add_value(Value{name, dtype, {}, {}, source});
  graph_.set_type(id, dtype, sizes);
  return id;
}

std::int64_t StoredValues::bytes(ValueId id) const {
  return element_count(graph_.sizes(id)) * ir::bytes(graph_.value(id).dtype);
}

std::int64_t StoredValues::transposed_bytes(ValueId id, const std::vector<int>& order) const {
  return moves_nothing(graph_.sizes(id), order) ? 0 : bytes(id);
}

void StoredValues::add_transpose(ValueId id, ValueId result, const std::vector<int>& order, const std::string& name) {
  const Sizes sizes = graph_.sizes(id);
  graph_.set_type(result, graph_.value(id).dtype, permuted(sizes, order));
  if (moves_nothing(sizes, order)) {
    add_reshape(id, result, name);
    return;
  }
  Node node{"Transpose", 13, name, {id}, {result}, {}, Layout::Nchw};
  node.attributes.set("perm", std::vector<std::int64_t>(order.begin(), order.end()));
  graph_.nodes.push_back(std::move(node));
}

void StoredValues::add_reshape(ValueId id, ValueId result, const std::string& name) {
  const ValueId shape = graph_.add_integers(name + ".shape", graph_.sizes(result));
  graph_.nodes.push_back(Node{"Reshape", 14, name, {id, shape}, {result}, {}, Layout::Nchw});
}

}  // namespace temper::graph
