#include "temper/space/tile_plan.h"

#include <algorithm>

namespace temper::space {

namespace {

bool absent(Dependence d) { return d == Dependence::None; }
bool shared_along(Dependence d) { return d == Dependence::None || d == Dependence::Blocked; }

/// The last spatial axis, apart from `not_this`, for which `accept` holds and that has more than one element; else any
/// that it accepts.
template <class Accept>
int last_axis(const SingleReduction& r, int not_this, Accept&& accept) {
  int fallback = -1;
  for (int a = static_cast<int>(r.rank()) - 1; a >= 0; --a) {
    if (a == not_this || !accept(static_cast<std::size_t>(a))) continue;
    if (r.extents[static_cast<std::size_t>(a)] > 1) return a;
    if (fallback < 0) fallback = a;
  }
  return fallback;
}

/// Whether every index of the operand is one axis (or the only element of an axis), so that a layout can reorder them.
/// What is packed once may have other indices: they stay outermost.
bool packable(const Operand& operand) {
  for (std::size_t i = 0; i < operand.direct.size(); ++i) {
    if (operand.direct[i] < 0 && operand.stage->axes[i].extent().value() != 1 && !operand.stage->constant) return false;
  }
  return true;
}

int second_of(const SingleReduction& r, const TilePlan& plan, std::size_t varying_operand) {
  for (int a = static_cast<int>(r.rank()) - 1; a >= 0; --a) {
    if (a == plan.vector_axis || a == plan.row_axis || r.extents[static_cast<std::size_t>(a)] < 2) continue;
    bool others_absent = true;
    for (std::size_t o = 0; o < r.operands.size(); ++o) {
      others_absent =
          others_absent && (o == varying_operand || absent(r.operands[o].axes[static_cast<std::size_t>(a)]));
    }
    if (others_absent && r.operands[varying_operand].axes[static_cast<std::size_t>(a)] != Dependence::None) return a;
  }
  return -1;
}

}  // namespace

std::optional<TilePlan> channels_plan(const SingleReduction& r) {
  if (r.operands.size() != 2) return std::nullopt;
  const int last = static_cast<int>(r.rank()) - 1;
  for (int v = last; v >= 0; --v) {
    if (r.extents[static_cast<std::size_t>(v)] < 2 && v != last) continue;
    for (int w = 0; w < 2; ++w) {
      const Operand& weights = r.operands[static_cast<std::size_t>(w)];
      const Operand& input = r.operands[static_cast<std::size_t>(1 - w)];
      const auto at = static_cast<std::size_t>(v);
      if (weights.axes[at] != Dependence::Direct || !shared_along(input.axes[at])) continue;
      if (!packable(weights)) continue;
      TilePlan plan;
      plan.vector_axis = v;
      plan.packed = w;
      plan.block_axis = v;
      plan.row_axis =
          last_axis(r, v, [&](std::size_t a) { return repeats_along(weights.axes[a]) && !absent(input.axes[a]); });
      // The output's last axis is stored in vectors: it is the vector axis itself, or the rows turned by a transpose.
      if (v != last && plan.row_axis != last) continue;
      plan.second_axis = second_of(r, plan, static_cast<std::size_t>(1 - w));
      return plan;
    }
  }
  return std::nullopt;
}

std::optional<TilePlan> pixels_plan(const SingleReduction& r) {
  if (r.operands.size() != 2) return std::nullopt;
  const int last = static_cast<int>(r.rank()) - 1;
  for (int w = 0; w < 2; ++w) {
    const Operand& weights = r.operands[static_cast<std::size_t>(w)];
    const Operand& input = r.operands[static_cast<std::size_t>(1 - w)];
    if (input.near_axis != last || !absent(weights.axes[static_cast<std::size_t>(last)])) continue;
    if (!packable(weights)) continue;
    TilePlan plan;
    plan.vector_axis = last;
    plan.row_axis = last_axis(
        r, last, [&](std::size_t a) { return weights.axes[a] == Dependence::Direct && shared_along(input.axes[a]); });
    if (plan.row_axis < 0) continue;
    plan.packed = w;
    plan.block_axis = plan.row_axis;
    plan.second_axis = -1;
    return plan;
  }
  return std::nullopt;
}

std::optional<TilePlan> window_plan(const SingleReduction& r) {
  const int last = static_cast<int>(r.rank()) - 1;
  const auto at = static_cast<std::size_t>(last);
  if (r.operands.empty() || r.operands.size() > 2) return std::nullopt;
  int contiguous = -1;
  for (std::size_t o = 0; o < r.operands.size(); ++o) {
    if (r.operands[o].near_axis == last && (contiguous < 0 || !r.operands[o].stage->constant))
      contiguous = static_cast<int>(o);
  }
  if (contiguous < 0) return std::nullopt;
  TilePlan plan;
  plan.vector_axis = last;
  for (std::size_t o = 0; o < r.operands.size(); ++o) {
    if (static_cast<int>(o) == contiguous) continue;
    const Dependence d = r.operands[o].axes[at];
    const bool plain = packable(r.operands[o]);
    if (d != Dependence::None && d != Dependence::Direct) return std::nullopt;
    if (d == Dependence::Direct && plain) {
      plan.packed = static_cast<int>(o);
      plan.block_axis = last;
    } else if (d == Dependence::Direct && r.operands[o].unit_stride_axis != last) {
      return std::nullopt;
    }
  }
  plan.row_axis = last_axis(
      r, last, [&](std::size_t a) { return !absent(r.operands[static_cast<std::size_t>(contiguous)].axes[a]); });
  if (plan.row_axis >= 0) plan.second_axis = second_of(r, plan, static_cast<std::size_t>(contiguous));
  // Where nothing but a window is reduced, lanes of neighbouring outputs are other lanes of the same inputs.
  if (r.operands[static_cast<std::size_t>(contiguous)].direct.back() != last &&
      std::all_of(r.window.begin(), r.window.end(), [](bool w) { return w; }))
    plan.held = contiguous;
  return plan;
}

TileAxes tile_axes(const SingleReduction& r, const TilePlan& plan) {
  TileAxes out;
  const std::size_t rank = r.rank();
  for (std::size_t i = 0; i < r.window.size(); ++i) {
    const std::size_t axis = rank + i;
    if (r.extents[axis] == 1 && r.window.size() != 1) {
      out.unit_reduce.push_back(axis);
    } else {
      (r.window[i] ? out.windows : out.channels).push_back(axis);
    }
  }
  for (int axis = 0; axis < static_cast<int>(rank); ++axis) {
    if (axis != plan.vector_axis && axis != plan.row_axis && axis != plan.second_axis) out.others.push_back(axis);
  }
  return out;
}

std::int64_t extent_of(const SingleReduction& r, int axis) {
  return axis < 0 ? 1 : r.extents[static_cast<std::size_t>(axis)];
}

bool repeats_along(Dependence d) { return d == Dependence::None || d == Dependence::Periodic; }

}  // namespace temper::space
