// Lowers a segmented loop program to a kernel: unrolls, keeps register stages in SSA values, makes vectors explicit.
//
// Contract of a register stage: every index into it is constant after unrolling. Elements that live across a loop
// become the loop's carried values. Where a consumer vectorises another axis than the producer, the lanes are
// transposed in registers.
#pragma once

#include "temper/lower/kernel.h"
#include "temper/nest/program.h"

namespace temper::lower {

struct LowerOptions {
  int max_block_instructions = 60000;  ///< of one phase; beyond, the candidate is refused
};

/// The result is verified by `lower::verify` in debug builds. Throws Error{Unsupported} when a register stage is
/// indexed by a loop variable, or the limits are exceeded; the message names the stage.
Kernel lower(const nest::Program& program, const LowerOptions& options = {});

}  // namespace temper::lower
