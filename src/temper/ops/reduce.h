// ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd, ReduceL1, ReduceL2, ReduceSumSquare, ReduceLogSum,
// ReduceLogSumExp and ArgMax, ArgMin.
#pragma once

#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

/// All Reduce* operators: a term, a reducer and a final step each, see the table in reduce.cpp. Axes are an attribute,
/// or an input (from opset 13 for ReduceSum, 18 for the others).
std::vector<ir::Tensor> build_reduce(const Node& node);
/// ArgMax and ArgMin: a tuple reduction of (value, index); ties give the first index, or the last if select_last_index.
std::vector<ir::Tensor> build_arg_reduce(const Node& node);

}  // namespace temper::ops
