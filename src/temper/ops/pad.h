// Pad: a border of a constant, of the edge, of the reflected or of the wrapped input. Negative sizes crop.
#pragma once

#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

std::vector<ir::Tensor> build_pad(const Node& node);

}  // namespace temper::ops
