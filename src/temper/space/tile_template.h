// The register-tile template: one reduction computed in registers, tile by tile, into its output. It serves dense and
// grouped convolutions, matrix products, depthwise convolutions and pooling alike: what differs is which axis becomes
// vectors, which becomes rows of the tile, and which operand is packed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "temper/space/structure.h"
#include "temper/space/template.h"

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

void apply_tile(schedule::Schedule& s, Knobs& knobs, const target::Target& target, const SingleReduction& r,
                const TilePlan& plan);

}  // namespace temper::space
