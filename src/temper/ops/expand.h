// Expand (broadcast to a shape) and Tile (repeat along each axis).
#pragma once

#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

std::vector<ir::Tensor> build_expand(const Node& node);
std::vector<ir::Tensor> build_tile(const Node& node);

}  // namespace temper::ops
