// Gather: out[a…, i…, b…] = in[a…, indices[i…], b…]; negative indices count from the end.
#pragma once

#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

/// Known indices in arithmetic progression become an affine index; others are read, wrapped and clamped into the axis
/// (an index outside it is an error of the model that is found only for known ones).
std::vector<ir::Tensor> build_gather(const Node& node);

}  // namespace temper::ops
