#include "temper/ops/batchnorm.h"

#include "temper/ops/indexing.h"

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
  const std::size_t channel = shape.size() == 4 && node.layout == Layout::Nhwc ? 3 : 1;
  for (const Tensor* per_channel : {&scale, &bias, &mean, &variance}) {
    if (per_channel->shape() != std::vector<std::int64_t>{shape[channel]}) {
      invalid(node, "'" + per_channel->stage()->name + "' must have one value for each of the " +
                        std::to_string(shape[channel]) + " channels");
    }
  }
  const Expr epsilon = ir::literal(node.attributes->number("epsilon", 1e-5), in.dtype());
  const Tensor factor = ir::define(node.name + "_factor", {shape[channel]},
                                   [&](Axis c) { return ir::Definition(scale(c) / ir::sqrt(variance(c) + epsilon)); });
  return {ir::compute(node.name, extents(shape), [&](std::span<const Axis> axes) {
    const Axis& c = axes[channel];
    return ir::Definition((in.at(as_exprs(axes)) - mean(c)) * factor(c) + bias(c));
  })};
}

}  // namespace temper::ops
