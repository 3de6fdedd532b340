#include "temper/ops/expand.h"

#include "temper/ops/indexing.h"

namespace temper::ops {

using ir::Expr;
using ir::Tensor;

std::vector<Tensor> build_expand(const Node& node) {
  const Tensor& in = node.input(0);
  const std::vector<std::int64_t> wanted = node.value(1).integers();
  for (std::int64_t size : wanted) {
    if (size < 0) invalid(node, "the shape has the size " + std::to_string(size));
  }
  return {
      ir::compute(node.name, extents(broadcast_shape(node, {in.shape(), wanted})),
                  [&](std::span<const ir::Axis> axes) { return ir::Definition(broadcast_read(in, as_exprs(axes))); })};
}

std::vector<Tensor> build_tile(const Node& node) {
  const Tensor& in = node.input(0);
  const std::vector<std::int64_t> from = in.shape(), repeats = node.value(1).integers();
  if (repeats.size() != from.size())
    invalid(node, "'repeats' needs one value for each of the " + std::to_string(from.size()) + " axes");
  std::vector<std::int64_t> shape = from;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (repeats[i] < 0) invalid(node, "a negative number of repeats");
    shape[i] *= repeats[i];
  }
  return {ir::compute(node.name, extents(shape), [&](std::span<const ir::Axis> axes) {
    std::vector<Expr> index = as_exprs(axes);
    for (std::size_t i = 0; i < index.size(); ++i) {
      if (repeats[i] > 1) index[i] = ir::mod(index[i], Expr(from[i]));
    }
    return ir::Definition(in.at(index));
  })};
}

}  // namespace temper::ops
