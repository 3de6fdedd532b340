// A small network of the usual parts, and its outputs computed by hand for one input.
#pragma once

#include <string>
#include <vector>

#include "graph/model_builder.h"

namespace temper::e2e {

/// x[1,2,4,4] → 1x1 convolution with weights of 0.25 to 3 channels → bias → relu → mean over the image → y[1,3].
/// With every element of x equal to `v`, channel c of y is max(0, 0.5 * v + bias[c]).
inline const std::vector<float> kSampleBias = {1.0F, -0.5F, -2.0F};

inline graph::testing::ModelBuilder sample_model() {
  graph::testing::ModelBuilder b;
  b.input("x", {std::int64_t{1}, std::int64_t{2}, std::int64_t{4}, std::int64_t{4}});
  b.floats("w", {3, 2, 1, 1}, std::vector<float>(6, 0.25F));
  b.floats("b", {3}, kSampleBias);
  b.node("Conv", {"x", "w", "b"}, {"c"});
  b.node("Relu", {"c"}, {"r"});
  b.node("GlobalAveragePool", {"r"}, {"g"});
  b.node("Flatten", {"g"}, {"y/out:0"});
  b.output("y/out:0");
  return b;
}

}  // namespace temper::e2e
