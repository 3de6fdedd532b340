// Timing Temper's kernels of one operator as tuning does, here or on another machine; without peers.
#pragma once

#include <span>
#include <vector>

#include "temper/app/bench_op.h"
#include "temper/target/cpu.h"
#include "temper/tune/hardware_test.h"

namespace temper::app {

/// Times the kernels of all contests, which are one task with one number of threads and have no peers, against each
/// other by `hardware`, which is for `target`: in random order, in blocks of two rounds, each of which loads the code
/// anew, disturbed samples taken again, as in the final of tuning. Every element of every output is compared with the
/// default schedule's, which the oracle confirms at sampled ones: `OpTimes::max_error`. One result a contest, in their
/// order. Throws Error{Internal} when a kernel does not run or is wrong, Error{Busy} when others never let it run
/// undisturbed, and what the hardware throws.
std::vector<OpTimes> bench_kernels(std::span<const Contest> contests, tune::HardwareTest& hardware,
                                   const target::Target& target, const BenchOptions& options);

}  // namespace temper::app
