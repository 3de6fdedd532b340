// How a packed constant reaches the cores: other work has driven it out of the inner caches since the last run, so the
// next block of it comes from an outer cache, or from memory, while the tiles of this one are computed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "temper/schedule/schedule.h"
#include "temper/space/structure.h"
#include "temper/target/cpu.h"

namespace temper::space {

/// One of the loops over tiles, outermost first.
struct TileLoop {
  schedule::Loop loop;
  int axis;            ///< of the reduction
  std::int64_t count;  ///< iterations
};

/// The packed copy of a constant operand: blocks of so many of `block_axis`, all of what is reduced in each.
struct BlockedCopy {
  std::string cache;
  int block_axis;
  std::int64_t width;      ///< elements of a block along that axis
  std::int64_t step_rows;  ///< rows of `width` that an iteration of the innermost channel loop reads
};

/// A packed constant that is read block by block, each block by all tiles of the loops inside.
struct Stream {
  struct Repeat {
    schedule::Loop loop;
    std::int64_t count;  ///< iterations
  };
  std::string cache;            ///< the packed copy
  schedule::Loop blocks;        ///< the loop over blocks
  std::vector<Repeat> repeats;  ///< the loops inside of it that read the same block again, outermost first
  std::int64_t step_bytes = 0;  ///< what an iteration of the innermost channel loop reads of a block
};

/// The stream of a copy whose blocks follow each other in memory, where tiles can ask for the next one: there is one,
/// some tiles read a block again (else the hardware follows by itself), two blocks fit the second-level cache, and a
/// tile's share is a few lines. `tiles` holds the loop over blocks: the innermost one of the block axis.
std::optional<Stream> stream_of(const SingleReduction& r, const Operand& operand, const BlockedCopy& copy,
                                std::span<const TileLoop> tiles, const target::Target& target);

/// How many of `steps` iterations of the innermost channel loop go by between two requests of a tile: as many as leave
/// it one cache line of each request, so that they cost next to nothing; a divisor of `steps`.
std::int64_t steps_per_request(const Stream& stream, std::int64_t steps);

/// Has each tile ask for its share of the next block in `loop`, an iteration of which takes `steps` steps.
void prefetch_next_block(schedule::Schedule& s, const Stream& stream, schedule::Loop loop, std::int64_t steps);

}  // namespace temper::space
