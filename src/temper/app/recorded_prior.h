// What a recording says of the same kernel on another device: boosted trees from parameters to the logarithm of the
// time, learned from other recordings.
#pragma once

#include <span>
#include <vector>

#include "temper/space/recorded/recorded_space.h"

namespace temper::app {

/// Whether both have the same parameters, apart from those that never vary.
bool same_parameters(const space::recorded::Recording& a, const space::recorded::Recording& b);

/// Expected log seconds of each candidate of `target`, by its number, up to an addend. Each source is taken about its
/// own median, and entries of all sources count alike; a failure counts as the slowest of its source. Requires sources
/// that have the target's parameters and a success each. Deterministic.
std::vector<double> learned_prior(std::span<const space::recorded::Recording* const> sources,
                                  const space::recorded::RecordedSpace& target);

}  // namespace temper::app
