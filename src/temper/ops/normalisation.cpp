#include "temper/ops/normalisation.h"

#include <functional>
#include <numeric>

#include "temper/ops/indexing.h"

namespace temper::ops {

using ir::Axis;
using ir::Expr;
using ir::Tensor;

namespace {

Expr like(const Tensor& in, double value) { return ir::literal(value, in.dtype()); }

void require_float(const Node& node) {
  if (!ir::is_float(node.input(0).dtype())) invalid(node, "the input must be floating point");
}

/// One value for each outer index: the sum of `term` over the inner axes.
Tensor row_sum(const Tensor& in, const AxisSplit& split, const std::string& name,
               const std::function<Expr(const Expr& x, const std::vector<Expr>& row)>& term) {
  return ir::compute(name, extents(split.outer_shape()), [&](std::span<const Axis> outer) {
    const std::vector<Axis> r = split.reduce_axes();
    const std::vector<Expr> row = as_exprs(outer);
    return ir::sum(term(in.at(split.join(row, as_exprs(r))), row), r);
  });
}

struct Moments {
  Tensor mean, variance;
};

/// Two passes: the difference of squares would cancel.
Moments moments(const Tensor& in, const AxisSplit& split, const std::string& name) {
  const Expr reciprocal = like(in, 1.0 / static_cast<double>(split.inner_elements()));
  const auto per_row = [&](const std::string& stage, const Tensor& sum) {
    return ir::compute(stage, extents(split.outer_shape()), [&](std::span<const Axis> outer) {
      return ir::Definition(sum.at(as_exprs(outer)) * reciprocal);
    });
  };
  Moments result;
  result.mean = per_row(name + "_mean",
                        row_sum(in, split, name + "_sum", [](const Expr& x, const std::vector<Expr>&) { return x; }));
  result.variance = per_row(name + "_variance",
                            row_sum(in, split, name + "_squares", [&](const Expr& x, const std::vector<Expr>& row) {
                              const Expr deviation = x - result.mean.at(row);
                              return deviation * deviation;
                            }));
  return result;
}

}  // namespace

std::vector<Tensor> build_rms_normalization(const Node& node) {
  require_float(node);
  const Tensor& in = node.input(0);
  if (node.attributes->integer("stash_type", 1) != 1) unsupported(node, "stash_type must be 1 (float)");
  const std::int64_t axis = normalise_axis(node, node.attributes->integer("axis", -1), in.shape().size());
  std::vector<std::int64_t> inner(in.shape().size() - static_cast<std::size_t>(axis));
  std::iota(inner.begin(), inner.end(), axis);
  const AxisSplit split = split_axes(in.shape(), inner);
  const Tensor squares =
      row_sum(in, split, node.name + "_squares", [](const Expr& x, const std::vector<Expr>&) { return x * x; });
  const Tensor inverse =
      ir::compute(node.name + "_inverse", extents(split.outer_shape()), [&](std::span<const Axis> row) {
        return ir::Definition(
            ir::rsqrt(squares.at(as_exprs(row)) * like(in, 1.0 / static_cast<double>(split.inner_elements())) +
                      like(in, node.attributes->number("epsilon", 1e-5))));
      });
  return {ir::compute(node.name, extents(split.shape), [&](std::span<const Axis> axes) {
    const std::vector<Expr> index = as_exprs(axes);
    return ir::Definition(in.at(index) * inverse.at(split.outer_of(index)) * broadcast_read(node.input(1), index));
  })};
}

std::vector<Tensor> build_instance_normalization(const Node& node) {
  require_float(node);
  const Tensor &in = node.input(0), &scale = node.input(1), &bias = node.input(2);
  const std::vector<std::int64_t> shape = in.shape();
  if (shape.size() < 3) invalid(node, "the input must have rank 3 or more");
  if (scale.shape() != std::vector<std::int64_t>{shape[1]} || bias.shape() != scale.shape())
    invalid(node, "scale and bias must have one value for each channel");
  std::vector<std::int64_t> pixels(shape.size() - 2);
  std::iota(pixels.begin(), pixels.end(), 2);
  const AxisSplit split = split_axes(shape, pixels);
  const Moments m = moments(in, split, node.name);
  const Expr epsilon = like(in, node.attributes->number("epsilon", 1e-5));
  const Tensor factor = ir::define(node.name + "_factor", {shape[0], shape[1]}, [&](Axis n, Axis c) {
    return ir::Definition(ir::rsqrt(m.variance(n, c) + epsilon) * scale(c));
  });
  return {ir::compute(node.name, extents(shape), [&](std::span<const Axis> axes) {
    const std::vector<Expr> index = as_exprs(axes);
    return ir::Definition((in.at(index) - m.mean(axes[0], axes[1])) * factor(axes[0], axes[1]) + bias(axes[1]));
  })};
}

std::vector<Tensor> build_group_normalization(const Node& node) {
  require_float(node);
  const Tensor &in = node.input(0), &scale = node.input(1), &bias = node.input(2);
  const std::vector<std::int64_t> shape = in.shape();
  if (shape.size() < 2) invalid(node, "the input must have rank 2 or more");
  if (node.attributes->integer("stash_type", 1) != 1) unsupported(node, "stash_type must be 1 (float)");
  const std::int64_t groups = node.attributes->integer("num_groups");
  if (groups < 1 || shape[1] % groups != 0) invalid(node, "the channels do not divide into groups");
  // From opset 21 on there is a factor for each channel, before for each group.
  const std::int64_t factors = node.opset < 21 ? groups : shape[1], channels = shape[1] / groups;
  if (scale.shape() != std::vector<std::int64_t>{factors} || bias.shape() != scale.shape())
    invalid(node, "scale and bias must have " + std::to_string(factors) + " values");
  const auto grouped = [&](const std::string& name,
                           const std::function<Expr(const Expr&, const Axis&, const Axis&)>& term) {
    return ir::define(name, {shape[0], groups}, [&](Axis n, Axis g) {
      const Axis c = ir::reduce("c", channels);
      std::vector<Axis> reduced{c};
      std::vector<Expr> index{n, g * channels + c};
      for (std::size_t i = 2; i < shape.size(); ++i) {
        reduced.push_back(ir::reduce("r" + std::to_string(i - 2), shape[i]));
        index.emplace_back(reduced.back());
      }
      return ir::sum(term(in.at(index), n, g), reduced);
    });
  };
  const double count = static_cast<double>(type_of(in).elements()) / static_cast<double>(shape[0] * groups);
  const Tensor sum = grouped(node.name + "_sum", [](const Expr& x, const Axis&, const Axis&) { return x; });
  const Tensor mean = ir::define(node.name + "_mean", {shape[0], groups},
                                 [&](Axis n, Axis g) { return ir::Definition(sum(n, g) * like(in, 1 / count)); });
  const Tensor squares = grouped(node.name + "_squares", [&](const Expr& x, const Axis& n, const Axis& g) {
    const Expr deviation = x - mean(n, g);
    return deviation * deviation;
  });
  const Tensor inverse = ir::define(node.name + "_inverse", {shape[0], groups}, [&](Axis n, Axis g) {
    return ir::Definition(
        ir::rsqrt(squares(n, g) * like(in, 1 / count) + like(in, node.attributes->number("epsilon", 1e-5))));
  });
  return {ir::compute(node.name, extents(shape), [&](std::span<const Axis> axes) {
    const std::vector<Expr> index = as_exprs(axes);
    const Expr group = ir::floor_div(index[1], Expr(channels)), place = factors == groups ? group : index[1];
    return ir::Definition((in.at(index) - mean(index[0], group)) * inverse(index[0], group) * scale(place) +
                          bias(place));
  })};
}

std::vector<Tensor> build_mean_variance_normalization(const Node& node) {
  require_float(node);
  const Tensor& in = node.input(0);
  const AxisSplit split =
      split_axes(in.shape(), normalise_axes(node, node.attributes->integers("axes", {0, 2, 3}), in.shape().size()));
  const Moments m = moments(in, split, node.name);
  // The specification adds 1e-9 to the deviation.
  const Tensor inverse =
      ir::compute(node.name + "_inverse", extents(split.outer_shape()), [&](std::span<const Axis> row) {
        return ir::Definition(like(in, 1) / (ir::sqrt(m.variance.at(as_exprs(row))) + like(in, 1e-9)));
      });
  return {ir::compute(node.name, extents(split.shape), [&](std::span<const Axis> axes) {
    const std::vector<Expr> index = as_exprs(axes), row = split.outer_of(index);
    return ir::Definition((in.at(index) - m.mean.at(row)) * inverse.at(row));
  })};
}

std::vector<Tensor> build_lp_normalization(const Node& node) {
  require_float(node);
  const Tensor& in = node.input(0);
  const std::int64_t p = node.attributes->integer("p", 2);
  if (p != 1 && p != 2) invalid(node, "p must be 1 or 2");
  const AxisSplit split =
      split_axes(in.shape(), {normalise_axis(node, node.attributes->integer("axis", -1), in.shape().size())});
  const Tensor sum = row_sum(in, split, node.name + "_sum",
                             [&](const Expr& x, const std::vector<Expr>&) { return p == 1 ? ir::abs(x) : x * x; });
  return {ir::compute(node.name, extents(split.shape), [&](std::span<const Axis> axes) {
    const std::vector<Expr> index = as_exprs(axes);
    const Expr total = sum.at(split.outer_of(index)), length = p == 1 ? total : ir::sqrt(total);
    // A row of zeros stays one.
    return ir::Definition(ir::select(length == like(in, 0), like(in, 0), in.at(index) / length));
  })};
}

std::vector<Tensor> build_lrn(const Node& node) {
  require_float(node);
  const Tensor& in = node.input(0);
  const std::vector<std::int64_t> shape = in.shape();
  if (shape.size() < 3) invalid(node, "the input must have rank 3 or more");
  const std::int64_t size = node.attributes->integer("size"), before = (size - 1) / 2;
  if (size < 1) invalid(node, "size must be positive");
  const Tensor squares = ir::compute(node.name + "_squares", extents(shape), [&](std::span<const Axis> axes) {
    const Axis r = ir::reduce("r", size);
    std::vector<Expr> index = as_exprs(axes);
    const Expr channel = index[1] + r - Expr(before);
    index[1] = channel;
    const Expr x = in.at(index);
    return ir::sum(x * x, {r}).where(channel >= 0).where(channel < Expr(shape[1]));
  });
  const double alpha = node.attributes->number("alpha", 1e-4) / static_cast<double>(size);
  return {ir::compute(node.name, extents(shape), [&](std::span<const Axis> axes) {
    const std::vector<Expr> index = as_exprs(axes);
    const Expr base = like(in, node.attributes->number("bias", 1)) + like(in, alpha) * squares.at(index);
    return ir::Definition(in.at(index) / ir::pow(base, like(in, node.attributes->number("beta", 0.75))));
  })};
}

}  // namespace temper::ops
