// Tensors whose elements are chosen by their position.
#pragma once

#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

/// `on` where the new axis' position is the index, `off` elsewhere.
std::vector<ir::Tensor> build_one_hot(const Node& node);
/// The upper or lower triangle, zeros elsewhere.
std::vector<ir::Tensor> build_trilu(const Node& node);
/// The slices of an axis for which a known condition holds.
std::vector<ir::Tensor> build_compress(const Node& node);
/// Each batch's first elements along the time axis in reverse order.
std::vector<ir::Tensor> build_reverse_sequence(const Node& node);

}  // namespace temper::ops
