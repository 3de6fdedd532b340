// BatchNormalization, inference: out = (x - mean[c]) · (scale[c] / sqrt(variance[c] + epsilon)) + bias[c].
#pragma once

#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

/// Stages: name_factor over the channels, which depends on the constants alone, and name. The channel axis is 1, or the
/// last one of a 4-D tensor in NHWC. Throws Error{Unsupported} for training.
std::vector<ir::Tensor> build_batchnorm(const Node& node);

}  // namespace temper::ops
