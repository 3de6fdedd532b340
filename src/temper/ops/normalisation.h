// Normalisation by moments or lengths: of channels, of groups of channels, of chosen axes.
#pragma once

#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

/// x / sqrt(mean(x²) + epsilon) · scale over trailing axes.
std::vector<ir::Tensor> build_rms_normalization(const Node& node);
/// (x - mean) / sqrt(variance + epsilon) · scale + bias of each image and channel.
std::vector<ir::Tensor> build_instance_normalization(const Node& node);
/// The same of each image and group of channels.
std::vector<ir::Tensor> build_group_normalization(const Node& node);
/// (x - mean) / deviation over chosen axes.
std::vector<ir::Tensor> build_mean_variance_normalization(const Node& node);
/// x / length along an axis, in the 1- or 2-norm.
std::vector<ir::Tensor> build_lp_normalization(const Node& node);
/// x / (bias + alpha/size · Σ x² of nearby channels)^beta
std::vector<ir::Tensor> build_lrn(const Node& node);

}  // namespace temper::ops
