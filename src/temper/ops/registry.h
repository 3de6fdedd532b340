// The table of operators.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

/// Every operator, sorted by name.
std::span<const Operator> operators();
/// Null when Temper does not know the operator.
const Operator* find_operator(std::string_view name);

/// Builds the definitions of a node; one tensor per output. Throws Error{Unsupported} for an unknown operator or
/// opset, and what the operator throws (InvalidModel, Unsupported).
std::vector<ir::Tensor> build(const Node& node);
/// Output types: the shape rule of every operator.
std::vector<TensorType> infer(const Node& node);

/// Evaluates a node whose every present input has a known value; one value per output. Also takes the operators that
/// exist only at import: Constant, Shape, Size, ConstantOfShape and Range. Throws as `build`.
std::vector<TensorValue> fold(const Node& node);
/// Operators that need no kernel because they always fold: Constant, Shape (and Size) of a known type, ConstantOfShape
/// and Range of known inputs.
bool always_folds(std::string_view op);
/// Their names, sorted.
std::vector<std::string_view> import_operators();

/// Floating-point operations of one evaluation, counting each arithmetic operation and elementary function of every
/// term as one; `where` conditions are ignored, as is the field's custom for convolutions.
double flops(const ir::Compute& compute);

/// c in |computed - exact| <= c · eps · magnitude, with eps that of the output's dtype and the magnitude of
/// `ir::Oracle`. From the longest reduction on the way to each output: 16 + 4·sqrt(terms), since rounding errors
/// accumulate like a random walk (Higham and Mary, "A new approach to probabilistic rounding error analysis", SIAM J.
/// Sci. Comput. 2019).
double tolerance_factor(const ir::Compute& compute);

}  // namespace temper::ops
