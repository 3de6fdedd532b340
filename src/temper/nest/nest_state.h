// The loops of one instance of a stage while its nest is built: what is bound, and the sizes in the current segment.
#pragma once

#include <memory>
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

/// The value of a bound iter: a loop's variable, or a number where there is one iteration.
struct IterValue {
  Var var = -1;  ///< -1: `number`
  std::int64_t number = 0;
  bool is_constant() const { return var < 0; }
  Affine form() const { return is_constant() ? Affine(number) : Affine::of(var); }
};

/// One spatial axis of the box being computed.
struct BoxAxis {
  Affine base;
  bool clamped = false;  ///< the box may leave the domain, so statements check it
};

/// Copied for each piece of a loop that is cut, so it owns little memory.
struct StageState {
  struct Iter {
    std::int64_t extent = -1;  ///< -1 while unknown
    std::int64_t lanes = 0;    ///< 0: as the extent
    bool bound = false;
    IterValue value;  ///< when bound
  };
  struct Split {
    bool resolved = false;  ///< scale and offset are known
    std::int64_t scale = 0, offset = 0;
  };

  int stage = -1;
  const schedule::StageSchedule* schedule = nullptr;
  std::shared_ptr<const std::vector<BoxAxis>> box;
  std::vector<Iter> iters;
  std::vector<Split> splits;
  std::vector<char> discharged;  ///< per condition: holds because of loop bounds
  std::size_t first_reduce = 0;  ///< position in the order of the outermost reduce loop; order size when none
  int vector_iter = -1;          ///< iter of the vectorised loop

  std::size_t axis_count() const { return box->size(); }
  Iter& operator[](int iter) { return iters[static_cast<std::size_t>(iter)]; }
  const Iter& operator[](int iter) const { return iters[static_cast<std::size_t>(iter)]; }
  void bind(int iter, IterValue value);
  /// The loops being built are inside of the vectorised one.
  bool in_lanes() const { return vector_iter >= 0 && (*this)[vector_iter].bound; }
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
