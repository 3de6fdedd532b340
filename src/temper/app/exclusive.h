// Comparisons that have the machine to themselves.
#pragma once

#include <vector>

#include "temper/peers/interleave.h"

namespace temper::app {

/// `peers::interleave` under the lock that all tuners of this machine share. Waits for it. Throws what interleave
/// throws, Error{Cancelled} also while it waits, and Error{Io} when the lock cannot be opened.
std::vector<peers::SideTimes> interleave_alone(const std::vector<peers::Side>& sides,
                                               const peers::InterleaveOptions& options);

}  // namespace temper::app
