// Where the threads of a measurement run.
#pragma once

#include <vector>

namespace temper::measure {

/// Up to `threads` CPUs that this process may use, thread 0's first: one of each core before any second one, the last
/// cores first, because the system puts its own work on the first. Fewer when there are fewer.
std::vector<int> timing_cpus(int threads);

/// For `timing_cpus`: orders `allowed` by what is known of cores. `core_of[i]` names the core of `allowed[i]`.
std::vector<int> spread_over_cores(const std::vector<int>& allowed, const std::vector<int>& core_of, int threads);

}  // namespace temper::measure
