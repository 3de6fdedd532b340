#include "temper/ops/softmax.h"

#include <numeric>

#include "temper/ops/indexing.h"

namespace temper::ops {

using ir::Axis;
using ir::Expr;
using ir::Tensor;

namespace {

/// The largest term that is a number. Passes a NaN over, which the sum of the exponentials has anyway: one instruction,
/// where `ir::max_reducer`, which keeps it, takes three.
ir::Reducer max_number_reducer(ir::DType dtype) {
  ir::Reducer reducer = ir::max_reducer(dtype);
  const Expr largest = ir::param(0, dtype), term = ir::param(1, dtype);
  reducer.name = "max_number";
  reducer.combine = {ir::select(term > largest, term, largest)};
  return reducer;
}

Tensor row_maximum(const Tensor& in, const AxisSplit& split, const std::string& name) {
  return ir::compute(name + "_max", extents(split.outer_shape()), [&](std::span<const Axis> outer) {
    const std::vector<Axis> r = split.reduce_axes();
    return ir::reduction(max_number_reducer(in.dtype()), {in.at(split.join(as_exprs(outer), as_exprs(r)))}, r);
  });
}

Tensor shifted_exponential(const Tensor& in, const Tensor& largest, const AxisSplit& split, const std::string& name) {
  return ir::compute(name + "_exp", extents(split.shape), [&](std::span<const Axis> axes) {
    const std::vector<Expr> index = as_exprs(axes);
    return ir::Definition(ir::exp(in.at(index) - largest.at(split.outer_of(index))));
  });
}

Tensor row_sum(const Tensor& in, const AxisSplit& split, const std::string& name) {
  return ir::compute(name + "_sum", extents(split.outer_shape()), [&](std::span<const Axis> outer) {
    const std::vector<Axis> r = split.reduce_axes();
    return ir::sum(in.at(split.join(as_exprs(outer), as_exprs(r))), r);
  });
}

std::vector<std::int64_t> normalised_axes(const Node& node) {
  const std::size_t rank = node.input(0).shape().size();
  if (rank == 0) return {};
  const std::int64_t axis = normalise_axis(node, node.attributes->integer("axis", node.opset >= 13 ? -1 : 1), rank);
  if (node.opset >= 13) return {axis};
  std::vector<std::int64_t> axes(rank - static_cast<std::size_t>(axis));
  std::iota(axes.begin(), axes.end(), axis);
  return axes;
}

/// A 1-D tensor of one element, to give a scalar an axis to reduce over, is not worth a definition.
void require_rank(const Node& node) {
  if (node.input(0).shape().empty()) unsupported(node, "a scalar input");
}

}  // namespace

SoftmaxParts softmax_parts(const Tensor& in, const std::vector<std::int64_t>& axes, const std::string& name) {
  const AxisSplit split = split_axes(in.shape(), axes);
  const Tensor exponential = shifted_exponential(in, row_maximum(in, split, name), split, name);
  const Tensor total = row_sum(exponential, split, name);
  const Tensor scale = ir::compute(name + "_scale", extents(split.outer_shape()), [&](std::span<const Axis> outer) {
    return ir::Definition(ir::literal(1, in.dtype()) / total.at(as_exprs(outer)));
  });
  return {exponential, scale};
}

Tensor softmax(const Tensor& in, const std::vector<std::int64_t>& axes, const std::string& name) {
  const AxisSplit split = split_axes(in.shape(), axes);
  const SoftmaxParts parts = softmax_parts(in, axes, name);
  return ir::compute(name, extents(split.shape), [&](std::span<const Axis> index) {
    return ir::Definition(parts.exponential.at(as_exprs(index)) * parts.scale.at(split.outer_of(as_exprs(index))));
  });
}

Tensor log_softmax(const Tensor& in, const std::vector<std::int64_t>& axes, const std::string& name) {
  const AxisSplit split = split_axes(in.shape(), axes);
  const Tensor largest = row_maximum(in, split, name);
  const Tensor total = row_sum(shifted_exponential(in, largest, split, name), split, name);
  const Tensor log_sum = ir::compute(name + "_log", extents(split.outer_shape()), [&](std::span<const Axis> outer) {
    return ir::Definition(ir::log(total.at(as_exprs(outer))));
  });
  return ir::compute(name, extents(split.shape), [&](std::span<const Axis> axes_of_out) {
    const std::vector<Expr> index = as_exprs(axes_of_out), row = split.outer_of(index);
    return ir::Definition(in.at(index) - largest.at(row) - log_sum.at(row));
  });
}

std::vector<Tensor> build_softmax(const Node& node) {
  require_rank(node);
  return {softmax(node.input(0), normalised_axes(node), node.name)};
}
std::vector<Tensor> build_log_softmax(const Node& node) {
  require_rank(node);
  return {log_softmax(node.input(0), normalised_axes(node), node.name)};
}

}  // namespace temper::ops
