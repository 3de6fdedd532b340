// Random models from a list of decisions, so that a failing case shrinks to a small one.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/model_builder.h"

namespace temper::graph::testing {

/// Convolutions, products, pooling, normalisation, activations, branches that join by arithmetic or side by side,
/// squeeze-excite, concatenations of concatenations, splits, transposes, … over a batch of 3 with odd channel counts.
/// Nodes are added until the decisions run out; every value that nothing reads is an output, and some that are read.
ModelBuilder random_model(const std::vector<std::uint8_t>& decisions);
/// 40 to 119 random decisions.
ModelBuilder random_model(std::uint64_t seed);

}  // namespace temper::graph::testing
