// GridSample: the input at places that a grid names, from -1 to 1 along each pixel axis.
#pragma once

#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

/// Nearest, linear (one to three pixel axes) and cubic (two) interpolation; zeros, the border or a reflection outside.
std::vector<ir::Tensor> build_grid_sample(const Node& node);

}  // namespace temper::ops
