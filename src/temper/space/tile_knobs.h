// The knobs of the register-tile template and what they must keep to. Enumerators stand in the order of the knobs'
// values, which records hold.
#pragma once

#include <cstdint>
#include <vector>

#include "temper/space/template.h"
#include "temper/space/tile_plan.h"

namespace temper::space {

/// Who is outermost of the loops over tiles. Axes that the tile has no part of stand outside of all of them.
enum class TileOrder : std::uint8_t {
  VectorsSecondRows,
  SecondRowsVectors,
  SecondVectorsRows,
  RowsSecondVectors,
  VectorsRowsSecond,
  VectorsRoundAll,  ///< outside of those axes too; then second, rows
};
/// Whether vectors stand outside of rows of either kind.
bool vectors_outermost(TileOrder order);

/// How the packed operand is read.
enum class TilePacking : std::uint8_t {
  AsItIs,
  Whole,   ///< a copy of all of it, ahead of the loops
  Panels,  ///< a copy of what rows share, inside of the loops that are outside of the rows
};

/// How the last axis of a window is walked.
enum class WindowLoop : std::uint8_t {
  Loop,
  UnrolledInside,   ///< of the channels
  UnrolledOutside,  ///< of the channels
};

/// The value of every knob.
struct TileChoice {
  std::int64_t vector = 1;   ///< elements of a vector
  std::int64_t vectors = 1;  ///< of a row of the tile
  std::int64_t rows = 1;
  std::int64_t second = 1;  ///< rows of the second kind
  std::int64_t unroll = 1;  ///< of the innermost channels
  WindowLoop kw = WindowLoop::Loop;
  bool unrolls_outer_windows = false;
  TileOrder order = TileOrder::VectorsSecondRows;
  bool balances_rows = false;  ///< else the last tile is the smaller one
  std::int64_t block = 0;      ///< rows in a block that other loops go round; 0: no blocks
  TilePacking packing = TilePacking::AsItIs;
  bool holds_inputs = false;  ///< in registers

  std::int64_t width() const { return vectors * vector; }
};

/// Declares the knobs of a plan and their constraints, or reads a candidate's values.
TileChoice choose_tile(Knobs& knobs, const target::Target& target, const SingleReduction& r, const TilePlan& plan,
                       const TileAxes& axes);

}  // namespace temper::space
