// Losses of classifiers: scores [n, classes, places...] against labels [n, places...].
#pragma once

#include <vector>

#include "temper/ops/operator.h"

namespace temper::ops {

/// -weight[label] · input[n, label, ...], alone, summed, or as a weighted mean; NegativeLogLikelihoodLoss.
std::vector<ir::Tensor> build_nll_loss(const Node& node);
/// The same of the logarithm of softmax over the classes, which is the optional second output.
std::vector<ir::Tensor> build_softmax_cross_entropy(const Node& node);

}  // namespace temper::ops
