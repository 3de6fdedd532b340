// Index helpers shared by the operators.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

/// Shape after numpy broadcasting. Throws Error{InvalidModel} when two sizes differ and neither is 1.
std::vector<std::int64_t> broadcast_shape(const Node& node, const std::vector<std::vector<std::int64_t>>& shapes);

/// The element of `tensor` that numpy broadcasting pairs with `index` of the result: aligned at the last axis, index 0
/// where the tensor's size is 1.
ir::Expr broadcast_read(const ir::Tensor& tensor, std::span<const ir::Expr> index);
/// As above; a tensor of one element whose value is known becomes a literal.
ir::Expr broadcast_read(const Operand& operand, std::span<const ir::Expr> index);

std::vector<ir::Expr> as_exprs(std::span<const ir::Axis> axes);

/// The axes of a tensor in two groups: `inner` ones that an operator reduces or normalises over, and the rest.
struct AxisSplit {
  std::vector<std::int64_t> shape;  ///< of the whole tensor
  std::vector<bool> is_inner;
  std::vector<std::int64_t> outer_shape() const;
  std::int64_t inner_elements() const;
  /// One reduce axis for each inner axis: `prefix` numbered.
  std::vector<ir::Axis> reduce_axes(const std::string& prefix = "r") const;
  /// A whole index from the two groups.
  std::vector<ir::Expr> join(std::span<const ir::Expr> outer, std::span<const ir::Expr> inner) const;
  /// The outer part of a whole index.
  std::vector<ir::Expr> outer_of(std::span<const ir::Expr> index) const;
};
AxisSplit split_axes(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& inner);

/// Row-major offset of an index into `shape`, and the index of an offset.
ir::Expr flatten(std::span<const ir::Expr> index, std::span<const std::int64_t> shape);
std::vector<ir::Expr> unflatten(const ir::Expr& offset, std::span<const std::int64_t> shape);

}  // namespace temper::ops
