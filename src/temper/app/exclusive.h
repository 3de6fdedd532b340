// Comparisons that have the machine to themselves, and builds that leave it to those of others.
#pragma once

#include <functional>
#include <vector>

#include "temper/peers/interleave.h"
#include "temper/support/cancellation.h"
#include "temper/tune/lookup.h"

namespace temper::app {

/// `peers::interleave` under the lock that all tuners of this machine share. Waits for it. Throws what interleave
/// throws, Error{Cancelled} also while it waits, and Error{Io} when the lock cannot be opened.
std::vector<peers::SideTimes> interleave_alone(const std::vector<peers::Side>& sides,
                                               const peers::InterleaveOptions& options);

/// `build`, at a moment when nobody times on this machine. It must not time itself. Throws what it throws,
/// Error{Cancelled} while it waits, and Error{Io} when the lock cannot be opened.
tune::Built build_between_timings(const CancellationToken& cancelled, const std::function<tune::Built()>& build);

}  // namespace temper::app
