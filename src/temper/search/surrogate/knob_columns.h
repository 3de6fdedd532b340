// Candidates as rows of levels, for models that look at knobs alone: one column for each knob name of a space, so that
// designs share what they have in common, and one for the design itself where there are several.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "temper/search/space.h"

namespace temper::search {

/// A knob's values over all designs that have it.
struct KnobColumn {
  std::string name;
  /// Level → where it lies in [0, 1]. Numbers in rising order lie by their logarithm (the size counts for negative ones
  /// and 1 is added, so that 0 has a place); others are evenly spaced in the order that the designs list them in. The
  /// last level of an optional column, and the levels of the column of designs, have no place: NaN.
  std::vector<double> positions;
  bool optional = false;  ///< some design lacks the knob: its level there is the last one
};

class KnobColumns {
 public:
  /// The space is not kept. Columns whose value never differs are left out.
  explicit KnobColumns(const Space& space);

  std::span<const KnobColumn> columns() const { return columns_; }
  std::size_t size() const { return columns_.size(); }
  /// The level of a valid candidate in each column.
  std::vector<std::uint16_t> levels(const Candidate& candidate) const;

 private:
  std::vector<KnobColumn> columns_;
  /// design → column → levels by value index; a single one where the design lacks the knob.
  std::vector<std::vector<std::vector<std::uint16_t>>> level_of_;
  /// design → column → position of the knob in the design; -1: the design lacks it.
  std::vector<std::vector<int>> knob_of_;
};

}  // namespace temper::search
