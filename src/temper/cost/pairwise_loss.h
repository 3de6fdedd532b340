// The loss of two scores of one task: logistic in their difference (Burges et al., ICML 2005), so that their order
// comes out right, and quadratic in how far the difference is from the true one, which keeps the scale.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "temper/cost/cost_model.h"

namespace temper::cost {

struct PairwiseLoss {
  double sharpness = 3;  ///< how soon a difference of scores is clear
  double squared = 0.3;  ///< weight of the quadratic part

  struct Slope {
    double gradient = 0, curvature = 0;  ///< of the better one's score; the other's gradient is the opposite
  };
  /// `predicted`: score of the better one less that of the other; `apart`: what it should be, above 0.
  Slope slope(double predicted, double apart) const {
    const double doubt = 1 / (1 + std::exp(sharpness * predicted));
    return {squared * (predicted - apart) - doubt, squared + sharpness * doubt * (1 - doubt)};
  }
};

/// How much a pair counts: as much as its better one.
inline double pair_weight(const TrainingSet& samples, std::size_t better) {
  return samples.weights.empty() ? 1 : samples.weights[better];
}

/// The rows of each group, in order of the groups' numbers.
std::vector<std::vector<std::size_t>> rows_by_group(const TrainingSet& samples);

}  // namespace temper::cost
