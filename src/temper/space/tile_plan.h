// Designs of the register-tile template: which axis of a reduction becomes vectors, which becomes rows of the tile, and
// which operand is packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "temper/space/structure.h"

namespace temper::space {

/// The part of each axis in one design.
struct TilePlan {
  int vector_axis = -1;  ///< becomes vectors of the accumulators
  int row_axis = -1;     ///< unrolled rows of the tile; -1: none
  int second_axis = -1;  ///< a second unrolled axis outside the rows; -1: none
  int packed = -1;       ///< operand that may be packed along the vector axis (or the row axis); -1: none
  int block_axis = -1;   ///< axis whose blocks the packed operand is laid out in
  int held = -1;         ///< operand whose part of a tile may be kept in registers; -1: none
};

/// Vectors run along an axis of which one operand (weights) depends directly and the others not at all.
std::optional<TilePlan> channels_plan(const SingleReduction& r);
/// Vectors run along the output's last axis, contiguous in an input; weights are broadcast and their axis is the rows.
std::optional<TilePlan> pixels_plan(const SingleReduction& r);
/// Vectors run along the output's last axis, on which every operand depends directly or not at all; no operand is
/// shared along it.
std::optional<TilePlan> window_plan(const SingleReduction& r);

/// The axes that a plan does not name.
struct TileAxes {
  std::vector<std::size_t> windows;      ///< reduced, and added to a spatial axis
  std::vector<std::size_t> channels;     ///< the other reduced ones; the last is the inner product's
  std::vector<std::size_t> unit_reduce;  ///< reduced, of one element: no thought is needed
  std::vector<int> others;               ///< of the output
};
TileAxes tile_axes(const SingleReduction& r, const TilePlan& plan);

/// Elements along an axis of a plan; 1 where it has none.
std::int64_t extent_of(const SingleReduction& r, int axis);
/// Whether what an operand reads is the same, or the same again, along the axis.
bool repeats_along(Dependence d);

}  // namespace temper::space
