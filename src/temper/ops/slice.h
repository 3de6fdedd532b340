// Slice and Split: parts of a tensor, with steps, as re-indexing.
#pragma once

#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

/// ONNX Slice: starts, ends, axes and steps are attributes before opset 10, constant inputs from then on.
std::vector<ir::Tensor> build_slice(const Node& node);
/// ONNX Split: sizes from the attribute or input `split`, else equal parts (the last one smaller).
std::vector<ir::Tensor> build_split(const Node& node);

}  // namespace temper::ops
