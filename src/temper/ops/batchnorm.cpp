#include "temper/ops/batchnorm.h"

#include "temper/ops/indexing.h"
#include "temper/ops/window.h"

namespace temper::ops {

using ir::Axis;
using ir::Expr;
using ir::Tensor;

std::vector<Tensor> build_batchnorm(const Node& node) {
  if (node.attributes->integer("training_mode", 0) != 0 || node.outputs > 1)
    unsupported(node, "training is not supported");
  if (node.attributes->integer("spatial", 1) != 1) unsupported(node, "spatial=0 is not supported");
  const Tensor &in = node.input(0), &scale = node.input(1), &bias = node.input(2), &mean = node.input(3),
               &variance = node.input(4);
  const std::vector<std::int64_t> shape = in.shape();
  if (shape.size() < 2) invalid(node, "the input has no channel axis");
  const ChannelAxes channels = SpatialLayout(node.layout, shape.size()).channels();
  std::vector<std::int64_t> expected;
  for (const std::size_t axis : channels) expected.push_back(shape[axis]);
  for (const Tensor* per_channel : {&scale, &bias, &mean, &variance}) {
    if (per_channel->shape() != expected) {
      invalid(node, "'" + per_channel->stage()->name + "' must have one value for each of the " +
                        std::to_string(shape[channels[0]]) + " channels");
    }
  }
  const Expr epsilon = ir::literal(node.attributes->number("epsilon", 1e-5), in.dtype());
  const Tensor factor = ir::compute(node.name + "_factor", extents(expected), [&](std::span<const Axis> axes) {
    const std::vector<Expr> c = as_exprs(axes);
    return ir::Definition(scale.at(c) / ir::sqrt(variance.at(c) + epsilon));
  });
  return {ir::compute(node.name, extents(shape), [&](std::span<const Axis> axes) {
    std::vector<Expr> c;
    for (const std::size_t axis : channels) c.emplace_back(axes[axis]);
    return ir::Definition((in.at(as_exprs(axes)) - mean.at(c)) * factor.at(c) + bias.at(c));
  })};
}

}  // namespace temper::ops
