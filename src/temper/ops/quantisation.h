// Numbers as small integers: real = (integer - zero point) · scale. Products of them are exact sums in int32.
#pragma once

#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

/// Rounded to even and saturated, one scale for the tensor, for each position of an axis, or for blocks along it.
std::vector<ir::Tensor> build_quantize_linear(const Node& node);
std::vector<ir::Tensor> build_dequantize_linear(const Node& node);
/// To uint8 by the range of the tensor itself; outputs also scale and zero point.
std::vector<ir::Tensor> build_dynamic_quantize_linear(const Node& node);
/// Products in int32 of integers less their zero points.
std::vector<ir::Tensor> build_matmul_integer(const Node& node);
std::vector<ir::Tensor> build_conv_integer(const Node& node);
/// Products of quantised tensors, quantised again.
std::vector<ir::Tensor> build_qlinear_matmul(const Node& node);
std::vector<ir::Tensor> build_qlinear_conv(const Node& node);

}  // namespace temper::ops
