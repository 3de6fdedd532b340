// The least time that a task's arithmetic and data can take on this machine: the roofline of Williams, Waterman and
// Patterson, "Roofline: an insightful visual performance model for multicore architectures", CACM 2009, with peaks that
// are measured, one for each level of the memory.
#pragma once

#include <cstdint>
#include <vector>

#include "temper/target/cpu.h"
#include "temper/tune/task.h"

namespace temper::tune {

/// Of one core.
struct MachinePeaks {
  double flops_per_second =
      0;  ///< f32, fused multiply-adds counted twice; 0: the CPU has no vector instructions for it
  struct Level {
    std::int64_t bytes = 0;  ///< data up to this size are read at this speed; the last level holds all that is larger
    double bytes_per_second = 0;
  };
  std::vector<Level> levels;  ///< smallest first
};

/// Takes some twenty milliseconds, on the calling thread. The fastest of several samples counts.
MachinePeaks measure_peaks(const target::Target& target);

/// Seconds of one run: the slower of its arithmetic at the peak and its inputs, constants and outputs, each moved once,
/// at the speed of the level that holds them all; both shared by its threads. An alternative definition with less
/// arithmetic (Winograd) may be faster. 0 when nothing is known.
double roofline_seconds(const Task& task, const MachinePeaks& peaks);

}  // namespace temper::tune
