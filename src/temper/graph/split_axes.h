// Definitions whose output is stored in another shape of the same elements.
#pragma once

#include <cstdint>
#include <vector>

#include "temper/ir/compute.h"

namespace temper::graph {

/// `compute` with axes of its outputs cut in two: axis i becomes i / inner[i] and i % inner[i], or stays whole where
/// inner[i] is 0. Computed stages get the parts in `order`, which counts them from the left; placeholders keep their
/// bytes and get the parts where they are read:
///   out[m, n] = sum(k) A[m, k] * B[k, n], inner {W, C}, order {0, 2, 1, 3}
///   out[h, a, w, c] = sum(k) A[h, w, k] * B[k, a, c]
/// Requires: every computed stage has the outputs' axes, reads computed stages at these axes alone, and placeholders
/// where an index that mentions a cut axis is that axis; inner[i] divides axis i. Throws Error otherwise.
ir::Compute split_axes(const ir::Compute& compute, const std::vector<std::int64_t>& inner,
                       const std::vector<int>& order);

}  // namespace temper::graph
