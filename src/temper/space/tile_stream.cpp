#include "temper/space/tile_stream.h"

#include <algorithm>

#include "temper/analysis/affine.h"
#include "temper/space/tile_plan.h"

namespace temper::space {

namespace {

constexpr std::int64_t kLineBytes = 64;
constexpr std::int64_t kMostLines = 32;

std::int64_t lines_of(std::int64_t bytes) { return analysis::ceil_div(bytes, kLineBytes); }

std::int64_t tiles_of(const Stream& stream) {
  std::int64_t tiles = 1;
  for (const Stream::Repeat& repeat : stream.repeats) tiles *= repeat.count;
  return tiles;
}

/// Whether what is reduced follows in memory within a block: an index that is no axis by itself stays outside of it.
bool is_contiguous(const SingleReduction& r, const Operand& operand) {
  for (std::size_t axis = r.rank(); axis < r.extents.size(); ++axis) {
    if (r.extents[axis] > 1 && std::ranges::find(operand.direct, static_cast<int>(axis)) == operand.direct.end())
      return false;
  }
  return true;
}

}  // namespace

std::optional<Stream> stream_of(const SingleReduction& r, const Operand& operand, const BlockedCopy& copy,
                                std::span<const TileLoop> tiles, const target::Target& target) {
  const auto blocks =
      std::find_if(tiles.rbegin(), tiles.rend(), [&](const TileLoop& tile) { return tile.axis == copy.block_axis; });
  const std::int64_t whole_blocks = r.extents[static_cast<std::size_t>(copy.block_axis)] / copy.width;
  if (blocks == tiles.rend() || whole_blocks < 2 || copy.width < 2 || !is_contiguous(r, operand)) return std::nullopt;
  Stream stream{.cache = copy.cache, .blocks = blocks->loop, .repeats = {}};
  for (auto tile = blocks.base(); tile != tiles.end(); ++tile) {
    const Dependence dependence = operand.axes[static_cast<std::size_t>(tile->axis)];
    if (repeats_along(dependence)) stream.repeats.push_back({tile->loop, tile->count});
  }
  const std::int64_t row_bytes = copy.width * ir::bytes(operand.stage->dtypes.front());
  stream.step_bytes = copy.step_rows * row_bytes;
  std::int64_t block_bytes = row_bytes;
  for (std::size_t axis = r.rank(); axis < r.extents.size(); ++axis) block_bytes *= r.extents[axis];
  const std::int64_t repeated = tiles_of(stream);
  if (repeated == 1 || 2 * block_bytes > target.l2_bytes || lines_of(stream.step_bytes) > kMostLines * repeated)
    return std::nullopt;
  return stream;
}

std::int64_t steps_per_request(const Stream& stream, std::int64_t steps) {
  const std::int64_t tiles = tiles_of(stream);
  std::int64_t best = 1;
  for (std::int64_t d = 1; d <= steps && lines_of(d * stream.step_bytes) <= tiles; ++d) {
    if (steps % d == 0) best = d;
  }
  return best;
}

void prefetch_next_block(schedule::Schedule& s, const Stream& stream, schedule::Loop loop, std::int64_t steps) {
  const std::int64_t lines = lines_of(steps * stream.step_bytes);
  std::int64_t tiles = 1;
  std::vector<schedule::Turn> turns;  // in tiles; a loop that is not needed to reach all lines asks for the same again
  for (auto repeat = stream.repeats.rbegin(); repeat != stream.repeats.rend() && tiles < lines; ++repeat) {
    if (repeat->count > 1) turns.push_back({repeat->loop, tiles});
    tiles *= repeat->count;
  }
  const std::int64_t share = analysis::ceil_div(lines, tiles);
  for (schedule::Turn& turn : turns) turn.lines *= share;
  s.prefetch_ahead(stream.cache, loop, share, stream.blocks, turns);
}

}  // namespace temper::space
