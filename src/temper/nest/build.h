// Builds the segmented loop program of a schedule: box inference, partition, border peeling.
#pragma once

#include "temper/nest/program.h"

namespace temper::nest {

struct BuildOptions {
  int max_bodies = 256;     ///< innermost bodies after partition
  int max_border_cuts = 8;  ///< border iterations of one loop that get a body of their own; beyond, they are masked
};

/// Throws ScheduleError when the schedule cannot be carried out: TooManyBodies, RaggedFuse, RaggedSplit,
/// ShiftInwardsParallel, RegisterLayout, RegisterAtRoot, VectorLanes, MemoryPartials, AtVectorLoop, StoreInside,
/// ParallelInside, FusedInsideReduce, UnreachableStage. Throws Error{Unsupported} for symbolic extents.
Program build(const schedule::Schedule& schedule, const BuildOptions& options = {});

/// Checks a program, whoever built it: every access inside its storage or masked, every output element written exactly
/// once, each read covered by an earlier write, parallel iterations write disjoint elements. Throws ScheduleError with
/// the rule that is broken (OutOfBounds, NotCovered, Overlap).
void verify(const Program& program, const schedule::Schedule& schedule);

}  // namespace temper::nest
