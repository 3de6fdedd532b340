#include "temper/ops/layernorm.h"

#include <numeric>

#include "temper/ops/indexing.h"

namespace temper::ops {

using ir::Axis;
using ir::Expr;
using ir::Tensor;

LayerNormResult layernorm(const Tensor& in, const Tensor& scale, const Tensor& bias, std::int64_t axis, double epsilon,
                          const std::string& name, MomentsAlgorithm algorithm) {
  std::vector<std::int64_t> inner(in.shape().size() - static_cast<std::size_t>(axis));
  std::iota(inner.begin(), inner.end(), axis);
  const AxisSplit split = split_axes(in.shape(), inner);
  const std::vector<ir::Extent> rows = extents(split.outer_shape());
  const Expr reciprocal = ir::literal(1.0 / static_cast<double>(split.inner_elements()), in.dtype());
  const Expr small = ir::literal(epsilon, in.dtype());
  const auto reduced = [&](const std::string& stage_name, auto&& define) {
    return ir::compute(stage_name, rows, [&](std::span<const Axis> outer) {
      const std::vector<Axis> r = split.reduce_axes();
      return define(as_exprs(outer), in.at(split.join(as_exprs(outer), as_exprs(r))), r);
    });
  };
  const auto per_row = [&](const std::string& stage_name, auto&& formula) {
    return ir::compute(stage_name, rows,
                       [&](std::span<const Axis> outer) { return ir::Definition(formula(as_exprs(outer))); });
  };

  LayerNormResult result;
  if (algorithm == MomentsAlgorithm::TwoPass) {
    const Tensor total = reduced(name + "_sum", [](const std::vector<Expr>&, const Expr& x,
                                                   const std::vector<Axis>& r) { return ir::sum(x, r); });
    result.mean = per_row(name + "_mean", [&](const std::vector<Expr>& row) { return total.at(row) * reciprocal; });
    const Tensor squares =
        reduced(name + "_squares", [&](const std::vector<Expr>& row, const Expr& x, const std::vector<Axis>& r) {
          const Expr deviation = x - result.mean.at(row);
          return ir::sum(deviation * deviation, r);
        });
    result.inverse_deviation = per_row(name + "_inverse", [&](const std::vector<Expr>& row) {
      return ir::rsqrt(squares.at(row) * reciprocal + small);
    });
  } else {
    const Tensor moments =
        reduced(name + "_moments", [&](const std::vector<Expr>&, const Expr& x, const std::vector<Axis>& r) {
          return ir::reduction(ir::tuple_sum_reducer(in.dtype(), 2), {x, x * x}, r);
        });
    result.mean = per_row(name + "_mean", [&](const std::vector<Expr>& row) { return moments.at(row) * reciprocal; });
    result.inverse_deviation = per_row(name + "_inverse", [&](const std::vector<Expr>& row) {
      const Expr mean = result.mean.at(row);
      // Rounding can make the difference slightly negative.
      const Expr variance =
          ir::max(ir::component(moments, 1).at(row) * reciprocal - mean * mean, ir::literal(0, in.dtype()));
      return ir::rsqrt(variance + small);
    });
  }
  result.out = ir::compute(name, extents(split.shape), [&](std::span<const Axis> axes) {
    const std::vector<Expr> index = as_exprs(axes), row = split.outer_of(index);
    Expr value = (in.at(index) - result.mean.at(row)) * result.inverse_deviation.at(row);
    if (scale.stage()) value = value * broadcast_read(scale, index);
    if (bias.stage()) value = value + broadcast_read(bias, index);
    return ir::Definition(value);
  });
  return result;
}

std::vector<Tensor> build_layernorm(const Node& node) {
  const Tensor& in = node.input(0);
  if (node.attributes->integer("stash_type", 1) != 1) unsupported(node, "stash_type must be 1 (float)");
  const std::int64_t axis = normalise_axis(node, node.attributes->integer("axis", -1), in.shape().size());
  const LayerNormResult result = layernorm(in, node.input(1), node.has(2) ? node.input(2) : Tensor(), axis,
                                           node.attributes->number("epsilon", 1e-5), node.name);
  std::vector<Tensor> outputs{result.out};
  // The optional outputs keep the normalised axes with size 1.
  const auto kept = [&](const Tensor& row_value, const std::string& name) {
    std::vector<std::int64_t> shape = in.shape();
    for (std::size_t i = static_cast<std::size_t>(axis); i < shape.size(); ++i) shape[i] = 1;
    return ir::compute(name, extents(shape), [&](std::span<const Axis> axes) {
      return ir::Definition(row_value.at(as_exprs(axes.first(static_cast<std::size_t>(axis)))));
    });
  };
  if (node.outputs > 1) outputs.push_back(kept(result.mean, node.name + "_out_mean"));
  if (node.outputs > 2) outputs.push_back(kept(result.inverse_deviation, node.name + "_out_inverse"));
  return outputs;
}

}  // namespace temper::ops
