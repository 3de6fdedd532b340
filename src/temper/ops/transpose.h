// Transpose: out[i_0, i_1, …] has axis perm[0] of the input first, and so on.
#pragma once

#include <string>
#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

/// `permutation[d]` is the input axis that becomes axis d.
ir::Tensor transpose(const ir::Tensor& in, const std::vector<std::int64_t>& permutation, const std::string& name);
/// ONNX Transpose; without `perm` the axes are reversed.
std::vector<ir::Tensor> build_transpose(const Node& node);

}  // namespace temper::ops
