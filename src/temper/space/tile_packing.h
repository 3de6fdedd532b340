// The packed operand of a register tile: a copy in the order in which the tile reads it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "temper/space/structure.h"
#include "temper/space/template.h"

namespace temper::space {

struct Packing {
  int block_axis = -1;                    ///< axis of the reduction that lies innermost
  std::int64_t width = 1;                 ///< of its blocks, where the operand is constant, and of panels
  std::vector<std::size_t> reduce_order;  ///< reduce axes, outermost first
  bool panel = false;  ///< only what one iteration of the outer loops reads, inside of them; the operand is no constant
};

/// Copies `operand` before `local` reads it: blocks of the tile's width outermost, then the reduce axes in loop order,
/// the block axis innermost. A constant operand is copied once, ahead of the first run; another one as a whole or as
/// panels, in tiles of vectors that are transposed in registers, and without blocks. Returns the copy's name: whoever
/// asks for panels computes it where they are needed.
std::string pack(schedule::Schedule& s, const target::Target& target, const Operand& operand, const std::string& local,
                 const Packing& packing);

}  // namespace temper::space
