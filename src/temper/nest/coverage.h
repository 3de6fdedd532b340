// Sets of elements that a nest writes, as boxes whose corners are affine forms of the open loops. Closing a loop turns
// the box of one iteration into the box of all of them; boxes side by side become one.
#pragma once

#include <vector>

#include "temper/nest/program.h"

namespace temper::nest {

/// `count` copies of a box along an axis, `step` apart, with gaps between: an inner loop of the split is still open.
struct Stride {
  std::size_t axis;
  std::int64_t step, count;
  bool operator==(const Stride&) const = default;
};

struct WriteBox {
  std::vector<Affine> lo;
  std::vector<std::int64_t> extent;
  std::vector<Stride> strides;  ///< empty: the box is whole
  bool repeated = false;        ///< some element is written more than once
  bool complete = true;         ///< false: initialised, its reduction still pending
};

/// Least and greatest value of a form. Sharper than `VarSpace::range` where floor divisions of related operands meet.
analysis::Interval range_of(const Affine& form, const VarSpace& vars);

/// What happened to a box when a loop was closed.
enum class Closed {
  Tiled,     ///< the iterations write disjoint elements
  Repeated,  ///< some elements are written by several iterations
  Torn       ///< neither can be said; the box is no longer of use
};
/// Replaces `box` by the union over `var` in [begin, end).
Closed close(WriteBox& box, Var var, std::int64_t begin, std::int64_t end, const VarSpace& vars);

/// Merges boxes from `first` on that make up a box together. Returns whether two of them overlapped.
bool merge(std::vector<WriteBox>& boxes, std::size_t first);

/// A box of axis offsets: [lo, hi) per axis.
struct Cell {
  std::vector<std::int64_t> lo, hi;
};
/// Parts of `whole` that none of `parts` covers, as cells of the grid that the parts' faces make.
std::vector<Cell> uncovered(const Cell& whole, const std::vector<Cell>& parts);
/// Whether two of the cells overlap.
bool overlapping(const std::vector<Cell>& cells);

}  // namespace temper::nest
