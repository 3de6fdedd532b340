// MaxPool, AveragePool, GlobalMaxPool, GlobalAveragePool over the two pixel axes. Taps outside the input do not exist.
#pragma once

#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

std::vector<ir::Tensor> build_max_pool(const Node& node);
/// With count_include_pad the divisor counts taps in the padding, but never taps beyond it (ceil_mode).
std::vector<ir::Tensor> build_average_pool(const Node& node);
/// Any number of pixel axes.
std::vector<ir::Tensor> build_global_max_pool(const Node& node);
std::vector<ir::Tensor> build_global_average_pool(const Node& node);

}  // namespace temper::ops
