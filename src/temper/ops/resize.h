// Resize and Upsample, modes nearest and linear. Coordinates are exact: every scale is a fraction, so the source index
// is an integer expression (floor-div), not a rounded float.
#pragma once

#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

/// Coordinate modes half_pixel, pytorch_half_pixel, align_corners, asymmetric; nearest modes floor, ceil,
/// round_prefer_floor and round_prefer_ceil. Throws Error{Unsupported} for cubic, antialias, roi and aspect-ratio
/// policies.
std::vector<ir::Tensor> build_resize(const Node& node);

}  // namespace temper::ops
