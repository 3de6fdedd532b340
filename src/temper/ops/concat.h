// Concat: the inputs side by side along one axis. Indices of the parts that are not chosen are clamped into their
// tensors, so that every read is inside its domain whichever part an element takes.
#pragma once

#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

std::vector<ir::Tensor> build_concat(const Node& node);

}  // namespace temper::ops
