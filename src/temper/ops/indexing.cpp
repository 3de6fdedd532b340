#include "temper/ops/indexing.h"

#include <algorithm>

namespace temper::ops {

using ir::Axis;
using ir::Expr;
using ir::Tensor;

std::vector<std::int64_t> broadcast_shape(const Node& node, const std::vector<std::vector<std::int64_t>>& shapes) {
  std::size_t rank = 0;
  for (const auto& shape : shapes) rank = std::max(rank, shape.size());
  std::vector<std::int64_t> result(rank, 1);
  for (const auto& shape : shapes) {
    for (std::size_t i = 0; i < shape.size(); ++i) {
      std::int64_t& extent = result[rank - shape.size() + i];
      if (shape[i] == 1 || shape[i] == extent) continue;
      if (extent != 1) {
        invalid(node, "the shapes do not broadcast: sizes " + std::to_string(extent) + " and " +
                          std::to_string(shape[i]) + " meet at axis " + std::to_string(rank - shape.size() + i));
      }
      extent = shape[i];
    }
  }
  return result;
}

Expr broadcast_read(const Tensor& tensor, std::span<const Expr> index) {
  const std::vector<std::int64_t> shape = tensor.shape();
  std::vector<Expr> at;
  at.reserve(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    at.push_back(shape[i] == 1 ? Expr(0) : index[index.size() - shape.size() + i]);
  }
  return tensor.at(std::move(at));
}

Expr broadcast_read(const Operand& operand, std::span<const Expr> index) {
  const ir::DType dtype = operand.tensor.dtype();
  if (operand.value != nullptr && operand.value->type.elements() == 1 && dtype != ir::DType::Bool) {
    // Through integers where possible: a 64-bit integer does not fit a double.
    return ir::is_float(dtype) ? ir::literal(operand.value->numbers()[0], dtype)
                               : ir::cast(Expr(operand.value->integers()[0]), dtype);
  }
  return broadcast_read(operand.tensor, index);
}

std::vector<Expr> as_exprs(std::span<const Axis> axes) { return {axes.begin(), axes.end()}; }

std::vector<std::int64_t> AxisSplit::outer_shape() const {
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!is_inner[i]) result.push_back(shape[i]);
  }
  return result;
}

std::int64_t AxisSplit::inner_elements() const {
  std::int64_t count = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) count *= is_inner[i] ? shape[i] : 1;
  return count;
}

std::vector<Axis> AxisSplit::reduce_axes(const std::string& prefix) const {
  std::vector<Axis> result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (is_inner[i]) result.push_back(ir::reduce(prefix + std::to_string(result.size()), shape[i]));
  }
  return result;
}

std::vector<Expr> AxisSplit::join(std::span<const Expr> outer, std::span<const Expr> inner) const {
  std::vector<Expr> result;
  std::size_t next_outer = 0, next_inner = 0;
  for (bool in : is_inner) result.push_back(in ? inner[next_inner++] : outer[next_outer++]);
  return result;
}

std::vector<Expr> AxisSplit::outer_of(std::span<const Expr> index) const {
  std::vector<Expr> result;
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (!is_inner[i]) result.push_back(index[i]);
  }
  return result;
}

AxisSplit split_axes(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& inner) {
  AxisSplit split{shape, std::vector<bool>(shape.size())};
  for (std::int64_t axis : inner) split.is_inner[static_cast<std::size_t>(axis)] = true;
  return split;
}

Expr flatten(std::span<const Expr> index, std::span<const std::int64_t> shape) {
  Expr offset(0);
  for (std::size_t i = 0; i < index.size(); ++i) offset = offset * Expr(shape[i]) + index[i];
  return offset;
}

std::vector<Expr> unflatten(const Expr& offset, std::span<const std::int64_t> shape) {
  std::vector<Expr> result(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) {
      result[i] = Expr(0);
      continue;
    }
    const bool outermost = std::all_of(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(i),
                                       [](std::int64_t extent) { return extent == 1; });
    const Expr quotient = ir::floor_div(offset, Expr(stride));
    result[i] = outermost ? quotient : ir::mod(quotient, Expr(shape[i]));
    stride *= shape[i];
  }
  return result;
}

}  // namespace temper::ops
