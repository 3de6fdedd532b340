// Elementwise operators with numpy broadcasting: each is a formula over the operands' elements, one line in
// `kElementwise` (elementwise.cpp). An operand of one known element becomes a literal.
#pragma once

#include <span>

#include "temper/ops/operator.h"

namespace temper::ops {

/// All of them, sorted by name; `operators()` includes them.
std::span<const Operator> elementwise_operators();

/// The formula behind a node: the result for one element, given one expression per input (empty for an absent one).
/// This is what fusing an operator into its producer applies. Throws Error{Unsupported} for other operators.
ir::Expr apply_elementwise(const Node& node, const std::vector<ir::Expr>& operands);

/// dtype of an ONNX TensorProto::DataType number. Throws Error{Unsupported}.
ir::DType dtype_from_onnx(const Node& node, std::int64_t number);

}  // namespace temper::ops
