// Elements taken from, or put to, places that another tensor names. Indices may be negative, counted from the end; ones
// outside the axis are clamped into it when read, and put nothing when written.
//
// A scatter is defined from the side of its output: each element looks for the updates that name it, so the work is the
// product of both sizes. Of several updates to one place the last one counts, or all of them with a reduction.
#pragma once

#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

std::vector<ir::Tensor> build_gather_elements(const Node& node);
std::vector<ir::Tensor> build_gather_nd(const Node& node);
/// ScatterElements, and Scatter, its name up to opset 10.
std::vector<ir::Tensor> build_scatter_elements(const Node& node);
std::vector<ir::Tensor> build_scatter_nd(const Node& node);
/// A key-value cache with new entries at one place of each batch.
std::vector<ir::Tensor> build_tensor_scatter(const Node& node);

}  // namespace temper::ops
