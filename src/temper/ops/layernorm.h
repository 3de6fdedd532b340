// LayerNormalization: out = (x - mean) / sqrt(variance + epsilon) · scale + bias over the trailing axes from `axis` on.
#pragma once

#include <string>
#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

/// How mean and variance are computed. Both are exact in exact arithmetic.
enum class MomentsAlgorithm : std::uint8_t {
  TwoPass,  ///< mean, then the sum of squared deviations: accurate for any mean
  OnePass,  ///< (Σx, Σx²) as one tuple reduction: one read of x; loses accuracy when |mean| is much larger than the
            ///< deviation
};

struct LayerNormResult {
  ir::Tensor out;
  ir::Tensor mean;               ///< over the outer axes
  ir::Tensor inverse_deviation;  ///< over the outer axes
};
/// `scale` and `bias` (may be empty tensors) have the shape of the trailing axes. Stages: name_sum, name_mean,
/// name_squares, name_inverse, name; in one pass name_moments instead of name_sum and name_squares.
LayerNormResult layernorm(const ir::Tensor& in, const ir::Tensor& scale, const ir::Tensor& bias, std::int64_t axis,
                          double epsilon, const std::string& name,
                          MomentsAlgorithm algorithm = MomentsAlgorithm::TwoPass);

/// ONNX LayerNormalization with up to three outputs (Y, Mean, InvStdDev).
std::vector<ir::Tensor> build_layernorm(const Node& node);

}  // namespace temper::ops
