#include "temper/space/tile_stream.h"

namespace temper::space {

namespace {

constexpr std::int64_t kLineBytes = 64;
constexpr std::int64_t kMostLines = 32;

std::int64_t lines_of(std::int64_t bytes) { return (bytes + kLineBytes - 1) / kLineBytes; }

std::int64_t tiles_of(const Stream& stream) {
  std::int64_t tiles = 1;
  for (const Stream::Repeat& repeat : stream.repeats) tiles *= repeat.count;
  return tiles;
}

}  // namespace

bool is_streamed(const Stream& stream, const target::Target& target) {
  const std::int64_t tiles = tiles_of(stream);
  return tiles > 1 && 2 * stream.block_bytes <= target.l2_bytes && lines_of(stream.step_bytes) <= kMostLines * tiles;
}

std::int64_t steps_per_request(const Stream& stream, std::int64_t steps) {
  const std::int64_t tiles = tiles_of(stream);
  std::int64_t best = 1;
  for (std::int64_t d = 1; d <= steps; ++d) {
    if (steps % d == 0 && lines_of(d * stream.step_bytes) <= tiles) best = d;
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
  const std::int64_t share = (lines + tiles - 1) / tiles;
  for (schedule::Turn& turn : turns) turn.lines *= share;
  s.prefetch_ahead(stream.cache, loop, share, stream.blocks, turns);
}

}  // namespace temper::space
