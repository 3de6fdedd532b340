#include "temper/space/tile_packing.h"

#include <algorithm>

namespace temper::space {

using schedule::Loop;
using schedule::Schedule;
using schedule::Scope;
using schedule::Tail;

namespace {

int index_of(const Operand& operand, int axis) {
  for (std::size_t i = 0; i < operand.direct.size(); ++i) {
    if (operand.direct[i] == axis) return static_cast<int>(i);
  }
  return -1;
}

/// Copies in storage order, one block after the other.
void copy_in_order(Schedule& s, const std::string& cache, const std::vector<schedule::LayoutDim>& layout,
                   int block_index, std::int64_t width) {
  const std::vector<Loop> loops = s.loops(cache);
  std::vector<Loop> order, inside;
  for (const schedule::LayoutDim& dim : layout) {
    const Loop loop = loops[static_cast<std::size_t>(dim.axis)];
    if (dim.axis != block_index || width == 1) {
      order.push_back(loop);
    } else if (dim.modulus == 0) {
      const std::vector<Loop> parts = s.split(loop, {width}, Tail::Peel);
      order.push_back(parts[0]);
      inside.push_back(parts[1]);
    }
  }
  order.insert(order.end(), inside.begin(), inside.end());
  s.reorder(order);
  s.parallel(order.front());
}

/// Copies a panel in storage order, in vectors along the block axis.
void copy_in_vectors(Schedule& s, const std::string& cache, const std::vector<schedule::LayoutDim>& layout,
                     std::int64_t lanes) {
  const std::vector<Loop> loops = s.loops(cache);
  std::vector<Loop> order;
  for (const schedule::LayoutDim& dim : layout) order.push_back(loops[static_cast<std::size_t>(dim.axis)]);
  const std::vector<Loop> parts = s.split(order.back(), {lanes}, Tail::Mask);
  order.back() = parts[0];
  order.push_back(parts[1]);
  s.reorder(order);
  s.unroll(parts[0]);
  s.vectorize(parts[1]);
}

/// Copies squares of `lanes` x `lanes` elements: read along the source's last index, turned, written along the block
/// axis.
void copy_turned(Schedule& s, const std::string& square, const std::string& cache, int block_index, std::int64_t lanes,
                 bool is_parallel) {
  const std::vector<Loop> loops = s.loops(cache);
  const std::vector<Loop> along = s.split(loops.back(), {lanes}, Tail::Peel);
  const std::vector<Loop> across = s.split(loops[static_cast<std::size_t>(block_index)], {lanes}, Tail::Mask);
  std::vector<Loop> order;
  for (std::size_t i = 0; i + 1 < loops.size(); ++i) {
    if (static_cast<int>(i) != block_index) order.push_back(loops[i]);
  }
  for (const Loop& loop : {along[0], across[0], along[1], across[1]}) order.push_back(loop);
  s.reorder(order);
  s.unroll(along[1]);
  s.vectorize(across[1]);
  if (is_parallel) s.parallel(order.front());
  s.compute_at(square, across[0]);
  s.set_scope(square, Scope::Register);
  const std::vector<Loop> places = s.loops(square);
  const std::vector<Loop> parts = s.split(places.back(), {lanes}, Tail::Mask);
  for (std::size_t i = 0; i + 1 < places.size(); ++i) s.unroll(places[i]);
  s.unroll(parts[0]);
  s.vectorize(parts[1]);
}

}  // namespace

std::string pack(Schedule& s, const target::Target& target, const Operand& operand, const std::string& local,
                 const Packing& packing) {
  const int block_index = index_of(operand, packing.block_axis);
  const std::int64_t width = operand.stage->constant ? packing.width : 1, lanes = target.vector_bytes / 4;
  const std::vector<std::int64_t> shape = operand.stage->shape();
  const std::int64_t blocks_extent = shape[static_cast<std::size_t>(block_index)];
  const bool turned = !operand.stage->constant && block_index + 1 < std::ssize(shape) && shape.back() >= lanes &&
                      blocks_extent >= lanes && (!packing.panel || packing.width >= lanes);
  std::string source = operand.stage->name;
  if (turned) source = s.cache_read(source, local);
  const std::string cache = s.cache_read(source, local);
  std::vector<int> inside;
  for (std::size_t axis : packing.reduce_order) {
    if (const int index = index_of(operand, static_cast<int>(axis)); index >= 0) inside.push_back(index);
  }
  std::vector<schedule::LayoutDim> layout;
  for (std::size_t i = 0; i < operand.direct.size(); ++i) {
    const int index = static_cast<int>(i);
    if (index != block_index && std::find(inside.begin(), inside.end(), index) == inside.end())
      layout.push_back({index, 1, 0, 0});
  }
  if (width > 1) layout.push_back({block_index, width, 0, 0});
  for (int index : inside) layout.push_back({index, 1, 0, 0});
  layout.push_back({block_index, 1, width > 1 ? width : 0, 0});
  s.set_layout(cache, layout);
  if (operand.stage->constant) s.prepared(cache);

  if (turned) {
    copy_turned(s, source, cache, block_index, lanes, !packing.panel);
  } else if (packing.panel) {
    copy_in_vectors(s, cache, layout, std::min(lanes, packing.width));
  } else {
    copy_in_order(s, cache, layout, block_index, width);
  }
  return cache;
}

}  // namespace temper::space
