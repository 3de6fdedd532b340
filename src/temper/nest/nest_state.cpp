#include "temper/nest/nest_state.h"

#include <bit>

namespace temper::nest {

using analysis::ceil_div;
using schedule::Tail;

std::vector<SplitSegment> split_segments(std::int64_t extent, std::int64_t factor, Tail tail, bool inner_is_vector) {
  const std::int64_t whole = extent / factor, rest = extent % factor;
  std::vector<SplitSegment> out;
  if (rest == 0) return {{0, whole, factor, 0, factor, factor}};
  switch (tail) {
    case Tail::Peel:
    case Tail::Mask: {
      if (whole > 0) out.push_back({0, whole, factor, 0, factor, factor});
      out.push_back({whole, whole + 1, factor, 0, rest, tail == Tail::Mask && inner_is_vector ? factor : rest});
      return out;
    }
    case Tail::Balance: {
      const std::int64_t count = ceil_div(extent, factor), small = extent / count, large = extent % count;
      if (large > 0) out.push_back({0, large, small + 1, 0, small + 1, small + 1});
      out.push_back({large, count, small, large, small, small});
      return out;
    }
    case Tail::RoundUp: return {{0, ceil_div(extent, factor), factor, 0, factor, factor}};
    case Tail::ShiftInwards: {
      if (whole == 0) return {{0, 1, extent, 0, extent, extent}};
      out.push_back({0, whole, factor, 0, factor, factor});
      out.push_back({whole, whole + 1, factor, extent - factor - whole * factor, factor, factor});
      return out;
    }
  }
  return out;
}

std::int64_t vector_width(std::int64_t iterations) {
  if (iterations > 16) return analysis::round_up(iterations, 16);
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(iterations)));
}

void StageState::bind(int iter, IterValue value) {
  (*this)[iter].bound = true;
  (*this)[iter].value = value;
}

void StageState::apply(int split, const SplitSegment& segment) {
  splits[static_cast<std::size_t>(split)] = {true, segment.scale, segment.offset};
  Iter& inner = (*this)[schedule->splits[static_cast<std::size_t>(split)].inner];
  inner.extent = segment.inner_extent;
  inner.lanes = segment.inner_lanes;
}

void StageState::resolve(const schedule::Schedule& all) {
  for (std::size_t i = 0; i < schedule->splits.size(); ++i) {
    const schedule::Split& s = schedule->splits[i];
    const std::int64_t parent = (*this)[s.parent].extent;
    if (splits[i].resolved || parent < 0 || (*this)[s.outer].extent >= 0) continue;
    const bool vector_inner = s.inner == vector_iter;
    const std::vector<SplitSegment> segments = split_segments(parent, s.factor, s.tail, vector_inner);
    (*this)[s.outer].extent = segments.back().end;
    if (segments.size() == 1) {
      apply(static_cast<int>(i), segments[0]);
    } else if (schedule->split_of(s.outer) != nullptr) {
      throw schedule::ScheduleError(
          "RaggedSplit",
          "'" + schedule->iters[static_cast<std::size_t>(s.outer)].name +
              "' counts blocks of two sizes, so it cannot be split again",
          all, stage, s.outer, "choose a factor that divides " + std::to_string(parent) + ", or the tail round_up");
    }
  }
}

int StageState::pending_split(int iter) const {
  for (std::size_t i = 0; i < schedule->splits.size(); ++i) {
    const schedule::Split& s = schedule->splits[i];
    if (!splits[i].resolved && s.outer == iter && (*this)[s.parent].extent >= 0) return static_cast<int>(i);
  }
  return -1;
}

Range StageState::range(int iter) const {
  const Iter& state = (*this)[iter];
  if (state.bound) return {state.value.form(), 1};
  for (std::size_t i = 0; i < schedule->splits.size(); ++i) {
    const schedule::Split& s = schedule->splits[i];
    if (s.parent != iter) continue;
    const Split& split = splits[i];
    if (!split.resolved) break;
    Range out = range(s.outer);
    const Range inner = range(s.inner);
    out.base *= split.scale;
    out.base += inner.base;
    out.base.constant += split.offset;
    out.extent = (out.extent - 1) * split.scale + inner.extent;
    return out;
  }
  return {Affine(0), state.extent};
}

std::vector<Range> StageState::axis_ranges() const {
  const std::size_t axes = axis_count(), total = axes + schedule->definition->reduce_axes.size();
  std::vector<Range> out;
  out.reserve(total);
  for (std::size_t i = 0; i < total; ++i) {
    out.push_back(range(static_cast<int>(i)));
    if (i < axes) out.back().base += (*box)[i].base;
  }
  return out;
}

}  // namespace temper::nest
