#include "temper/ops/generated_values.h"

#include "temper/ops/indexing.h"

namespace temper::ops {

using ir::Axis;
using ir::Expr;
using ir::Tensor;

std::vector<Tensor> build_one_hot(const Node& node) {
  const Tensor &indices = node.input(0), &values = node.input(2);
  const std::vector<double> depths = node.value(1).numbers();
  if (depths.size() != 1 || depths[0] < 1) invalid(node, "the depth must be one positive number");
  const auto depth = static_cast<std::int64_t>(depths[0]);
  if (values.shape() != std::vector<std::int64_t>{2}) invalid(node, "'values' must hold two elements");
  std::vector<std::int64_t> shape = indices.shape();
  const auto axis =
      static_cast<std::size_t>(normalise_axis(node, node.attributes->integer("axis", -1), shape.size() + 1));
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  return {ir::compute(node.name, extents(shape), [&](std::span<const Axis> axes) {
    std::vector<Expr> at = as_exprs(axes);
    const Expr place = at[axis];
    at.erase(at.begin() + static_cast<std::ptrdiff_t>(axis));
    // Indices of floating type are whole numbers, or equal to no position.
    const Expr raw = indices.at(at);
    const Expr index = ir::cast(raw, ir::DType::I64);
    const Expr wanted = ir::select(index < 0, index + Expr(depth), index);
    return ir::Definition(ir::select(wanted == place, values.at({Expr(1)}), values.at({Expr(0)})));
  })};
}

std::vector<Tensor> build_trilu(const Node& node) {
  const Tensor& in = node.input(0);
  const std::vector<std::int64_t> shape = in.shape();
  if (shape.size() < 2) invalid(node, "the input must have rank 2 or more");
  const std::int64_t diagonal = node.has(1) ? node.value(1).integers().at(0) : 0;
  const bool upper = node.attributes->integer("upper", 1) != 0;
  return {ir::compute(node.name, extents(shape), [&](std::span<const Axis> axes) {
    const std::vector<Expr> index = as_exprs(axes);
    const Expr offset = index.back() - index[index.size() - 2];
    const Expr kept = upper ? offset >= Expr(diagonal) : offset <= Expr(diagonal);
    const Expr zero = ir::cast(Expr(0), in.dtype());
    return ir::Definition(ir::select(kept, in.at(index), zero));
  })};
}

std::vector<Tensor> build_compress(const Node& node) {
  const Tensor& in = node.input(0);
  std::vector<std::int64_t> shape = in.shape();
  const std::vector<std::int64_t> condition = node.value(1).integers();
  const bool flat = !node.attributes->has("axis");
  const auto axis =
      flat ? 0 : static_cast<std::size_t>(normalise_axis(node, node.attributes->integer("axis"), shape.size()));
  const std::int64_t size = flat ? type_of(in).elements() : shape[axis];
  std::vector<std::int64_t> kept;
  for (std::size_t i = 0; i < condition.size() && static_cast<std::int64_t>(i) < size; ++i) {
    if (condition[i] != 0) kept.push_back(static_cast<std::int64_t>(i));
  }
  if (kept.empty()) unsupported(node, "nothing is kept: tensors without elements are not supported");
  std::vector<std::int64_t> out = flat ? std::vector<std::int64_t>{0} : shape;
  out[flat ? 0 : axis] = static_cast<std::int64_t>(kept.size());
  return {ir::compute(node.name, extents(out), [&](std::span<const Axis> axes) {
    std::vector<Expr> index = as_exprs(axes);
    const Expr place = index[flat ? 0 : axis];
    Expr from(kept.back());
    for (std::size_t i = kept.size() - 1; i-- > 0;)
      from = ir::select(place < Expr(static_cast<std::int64_t>(i) + 1), Expr(kept[i]), from);
    if (flat) return ir::Definition(in.at(unflatten(from, shape)));
    index[axis] = from;
    return ir::Definition(in.at(index));
  })};
}

std::vector<Tensor> build_reverse_sequence(const Node& node) {
  const Tensor &in = node.input(0), &lengths = node.input(1);
  const std::vector<std::int64_t> shape = in.shape();
  const auto batch = static_cast<std::size_t>(node.attributes->integer("batch_axis", 1)),
             time = static_cast<std::size_t>(node.attributes->integer("time_axis", 0));
  if (shape.size() < 2 || batch > 1 || time > 1 || batch == time) invalid(node, "batch and time are axes 0 and 1");
  return {ir::compute(node.name, extents(shape), [&](std::span<const Axis> axes) {
    std::vector<Expr> index = as_exprs(axes);
    const Expr length = ir::cast(lengths.at({index[batch]}), ir::DType::I64), t = index[time];
    const Expr mirrored = ir::min(ir::max(length - t - Expr(1), 0), Expr(shape[time] - 1));
    index[time] = ir::select(t < length, mirrored, t);
    return ir::Definition(in.at(index));
  })};
}

}  // namespace temper::ops
