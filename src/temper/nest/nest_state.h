// The loops of one instance of a stage while its nest is built: what is bound, and the sizes in the current segment.
#pragma once

#include <vector>

#include "temper/nest/boxes.h"

namespace temper::nest {

/// A range of a split's outer loop in which the inner loop has one size: parent = outer * scale + offset + inner.
struct SplitSegment {
  std::int64_t begin, end;
  std::int64_t scale, offset;
  std::int64_t inner_extent;
  std::int64_t inner_lanes;  ///< width when the inner loop is vectorised
};

/// Segments of a split of `extent` iterations by `factor`; see schedule::Tail.
std::vector<SplitSegment> split_segments(std::int64_t extent, std::int64_t factor, schedule::Tail tail,
                                         bool inner_is_vector);

/// Lanes for `iterations` of a vectorised loop: a power of two up to 16, then a multiple of 16. Other widths cost more
/// than masked lanes.
std::int64_t vector_width(std::int64_t iterations);

struct StageState {
  int stage = -1;
  const schedule::StageSchedule* schedule = nullptr;
  std::vector<Affine> base;                 ///< per spatial axis, of the box being computed
  std::vector<std::int64_t> extent;         ///< per iter; -1 while unknown
  std::vector<std::int64_t> lanes;          ///< per iter; 0: as the extent
  std::vector<char> bound;                  ///< per iter
  std::vector<Affine> value;                ///< per iter, when bound
  std::vector<char> resolved;               ///< per split: scale and offset are known
  std::vector<std::int64_t> scale, offset;  ///< per split
  std::vector<char> discharged;             ///< per condition: holds because of loop bounds
  std::vector<char> clamped;                ///< per spatial axis: the box may leave the domain, so statements check it
  std::size_t first_reduce = 0;  ///< position in the order of the outermost reduce loop; order size when none
  int vector_iter = -1;          ///< iter of the vectorised loop

  std::size_t axis_count() const { return schedule->definition->axes.size(); }
  /// Applies every split whose sizes follow from what is known. Throws ScheduleError RaggedSplit.
  void resolve(const schedule::Schedule& all);
  /// Values that an iter takes, given what is bound.
  Range range(int iter) const;
  /// Ranges of every axis, spatial ones moved by the base, then the reduce axes.
  std::vector<Range> axis_ranges() const;
  /// The pending split whose outer loop is `iter`; -1 when its sizes are constant.
  int pending_split(int iter) const;
  void apply(int split, const SplitSegment& segment);
};

}  // namespace temper::nest
