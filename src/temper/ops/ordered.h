// Operators whose result at a position depends on the order of elements along an axis. Each is defined from the side of
// its output, so the work grows with the square of the axis.
#pragma once

#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

/// The sum of the elements up to a position.
std::vector<ir::Tensor> build_cumulative_sum(const Node& node);
/// The k largest or smallest elements along an axis and their indices, the best first; of equal ones the first.
std::vector<ir::Tensor> build_top_k(const Node& node);
/// 1 at the first largest element along an axis, 0 elsewhere.
std::vector<ir::Tensor> build_hardmax(const Node& node);

}  // namespace temper::ops
