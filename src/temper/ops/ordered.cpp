#include "temper/ops/ordered.h"

#include "temper/ops/indexing.h"

namespace temper::ops {

using ir::Axis;
using ir::Expr;
using ir::Tensor;

std::vector<Tensor> build_cumulative_sum(const Node& node) {
  const Tensor& in = node.input(0);
  const std::vector<std::int64_t> shape = in.shape(), axes_given = node.value(1).integers();
  if (axes_given.size() != 1) invalid(node, "the axis must be one number");
  const auto axis = static_cast<std::size_t>(normalise_axis(node, axes_given[0], shape.size()));
  const bool exclusive = node.attributes->integer("exclusive", 0) != 0,
             reverse = node.attributes->integer("reverse", 0) != 0;
  return {ir::compute(node.name, extents(shape), [&](std::span<const Axis> axes) {
    std::vector<Expr> index = as_exprs(axes);
    const Axis r = ir::reduce("r", shape[axis]);
    // Positions from the element to one end; the element itself unless exclusive.
    const Expr distance = reverse ? r - index[axis] : index[axis] - r;
    index[axis] = r;
    return ir::sum(in.at(index), {r}).where(distance >= Expr(exclusive ? 1 : 0));
  })};
}

std::vector<Tensor> build_top_k(const Node& node) {
  const Tensor& in = node.input(0);
  const std::vector<std::int64_t> shape = in.shape();
  const auto axis = static_cast<std::size_t>(normalise_axis(node, node.attributes->integer("axis", -1), shape.size()));
  const std::int64_t k = node.opset < 10 ? node.attributes->integer("k") : node.value(1).integers().at(0);
  const bool largest = node.opset < 11 || node.attributes->integer("largest", 1) != 0;
  if (k < 1 || k > shape[axis]) invalid(node, "k is not between 1 and the size of the axis");
  // The rank of an element: how many come before it.
  const Tensor rank = ir::compute(node.name + "_rank", extents(shape), [&](std::span<const Axis> axes) {
    const std::vector<Expr> index = as_exprs(axes);
    std::vector<Expr> other = index;
    const Axis r = ir::reduce("r", shape[axis]);
    other[axis] = r;
    const Expr mine = in.at(index), its = in.at(other);
    const Expr better = largest ? its > mine : its < mine;
    return ir::sum(ir::cast(better || (its == mine && r < index[axis]), ir::DType::I64), {r});
  });
  std::vector<std::int64_t> out = shape;
  out[axis] = k;
  const Tensor place = ir::compute(node.name + "_indices", extents(out), [&](std::span<const Axis> axes) {
    const std::vector<Expr> index = as_exprs(axes);
    std::vector<Expr> from = index;
    const Axis r = ir::reduce("r", shape[axis]);
    from[axis] = r;
    return ir::max_over(ir::select(rank.at(from) == index[axis], r, Expr(0)), {r});
  });
  const Tensor values = ir::compute(node.name, extents(out), [&](std::span<const Axis> axes) {
    std::vector<Expr> index = as_exprs(axes);
    index[axis] = ir::min(ir::max(place.at(as_exprs(axes)), 0), Expr(shape[axis] - 1));
    return ir::Definition(in.at(index));
  });
  return {values, place};
}

std::vector<Tensor> build_hardmax(const Node& node) {
  const Tensor& in = node.input(0);
  const std::vector<std::int64_t> shape = in.shape();
  const auto first = static_cast<std::size_t>(
      normalise_axis(node, node.attributes->integer("axis", node.opset < 13 ? 1 : -1), shape.size()));
  std::vector<std::int64_t> inner;
  for (std::size_t i = first; i < (node.opset < 13 ? shape.size() : first + 1); ++i)
    inner.push_back(static_cast<std::int64_t>(i));
  const AxisSplit split = split_axes(shape, inner);
  std::vector<std::int64_t> inner_shape;
  for (const std::int64_t axis : inner) inner_shape.push_back(shape[static_cast<std::size_t>(axis)]);
  const Tensor best = ir::compute(node.name + "_best", extents(split.outer_shape()), [&](std::span<const Axis> outer) {
    const std::vector<Axis> r = split.reduce_axes();
    return ir::reduction(ir::argmax_reducer(in.dtype(), ir::DType::I64),
                         {in.at(split.join(as_exprs(outer), as_exprs(r))), flatten(as_exprs(r), inner_shape)}, r);
  });
  return {ir::compute(node.name, extents(shape), [&](std::span<const Axis> axes) {
    const std::vector<Expr> index = as_exprs(axes);
    std::vector<Expr> place;
    for (const std::int64_t axis : inner) place.push_back(index[static_cast<std::size_t>(axis)]);
    const Expr chosen = ir::component(best, 1).at(split.outer_of(index)) == flatten(place, inner_shape);
    return ir::Definition(ir::cast(chosen, in.dtype()));
  })};
}

}  // namespace temper::ops
