// MaxPool, AveragePool, LpPool over one to three pixel axes, and over all of them at once. Taps outside the input do
// not exist.
#pragma once

#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

/// The optional second output holds the places of the maxima, as offsets into the input.
std::vector<ir::Tensor> build_max_pool(const Node& node);
/// (Σ |x|^p)^(1/p)
std::vector<ir::Tensor> build_lp_pool(const Node& node);
/// With count_include_pad the divisor counts taps in the padding, but never taps beyond it (ceil_mode).
std::vector<ir::Tensor> build_average_pool(const Node& node);
/// Any number of pixel axes.
std::vector<ir::Tensor> build_global_max_pool(const Node& node);
std::vector<ir::Tensor> build_global_average_pool(const Node& node);

}  // namespace temper::ops
