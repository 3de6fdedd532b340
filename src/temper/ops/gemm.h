// Gemm: out = alpha · op(a) · op(b) + beta · c, where op transposes as asked and c broadcasts to [m, n].
#pragma once

#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

/// ONNX Gemm. The product is a stage of its own; scaling and c are one elementwise stage behind it, absent where
/// trivial.
std::vector<ir::Tensor> build_gemm(const Node& node);

}  // namespace temper::ops
