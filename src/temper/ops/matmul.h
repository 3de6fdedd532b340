// MatMul: out[..., m, n] = Σ_k a[..., m, k] · b[..., k, n]; leading axes broadcast as in numpy.
// With `trans_a` a is [..., k, m], with `trans_b` b is [..., n, k].
#pragma once

#include <string>
#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

/// Stage `name` over (b0.., m, n) with the reduce axis k. Both operands have rank 2 or more. Throws
/// Error{InvalidArgument} when the shapes do not fit.
ir::Tensor matmul(const ir::Tensor& a, const ir::Tensor& b, const std::string& name, bool trans_a = false,
                  bool trans_b = false);

/// ONNX MatMul, 1-D operands included.
std::vector<ir::Tensor> build_matmul(const Node& node);

}  // namespace temper::ops
