// DepthToSpace and SpaceToDepth: blocks of pixels move into channels and back.
#pragma once

#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

/// Modes DCR (channel = (row, column, c)) and CRD (channel = (c, row, column)); input of rank 4 in the node's layout.
std::vector<ir::Tensor> build_depth_to_space(const Node& node);
/// The inverse of mode DCR.
std::vector<ir::Tensor> build_space_to_depth(const Node& node);

}  // namespace temper::ops
