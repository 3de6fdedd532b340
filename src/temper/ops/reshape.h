// Reshape, Flatten, Squeeze, Unsqueeze, Identity, Dropout: the same elements in row-major order under another shape.
// As definitions they re-index; axes that appear on both sides map to themselves, so that box inference stays exact.
#pragma once

#include <string>
#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

/// Throws Error{InvalidArgument} when the numbers of elements differ.
ir::Tensor reshape(const ir::Tensor& in, const std::vector<std::int64_t>& shape, const std::string& name);

std::vector<ir::Tensor> build_reshape(const Node& node);
std::vector<ir::Tensor> build_flatten(const Node& node);
std::vector<ir::Tensor> build_squeeze(const Node& node);
std::vector<ir::Tensor> build_unsqueeze(const Node& node);
std::vector<ir::Tensor> build_identity(const Node& node);

}  // namespace temper::ops
