#include "temper/space/tile_template.h"

#include <algorithm>
#include <numeric>

#include "temper/analysis/affine.h"
#include "temper/space/knob_values.h"
#include "temper/space/tile_packing.h"
#include "temper/space/tile_stream.h"

namespace temper::space {

using schedule::Loop;
using schedule::Schedule;
using schedule::Scope;
using schedule::Tail;

namespace {

bool absent(Dependence d) { return d == Dependence::None; }
bool shared_along(Dependence d) { return d == Dependence::None || d == Dependence::Blocked; }
bool repeats_along(Dependence d) { return d == Dependence::None || d == Dependence::Periodic; }

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

namespace {

/// Of `order`: the loop over vectors stands outside of all others.
constexpr std::int64_t kVectorsRoundAll = 5;

/// Vector widths: the target's, half and a quarter of it, in elements of f32; never wider than needed by more than
/// half.
std::vector<std::int64_t> widths(const target::Target& target, std::int64_t extent) {
  const std::int64_t native = target.vector_bytes / 4;
  std::vector<std::int64_t> out;
  for (std::int64_t v = std::max<std::int64_t>(native / 4, 4); v <= native; v *= 2) {
    if (v < 2 * extent || out.empty()) out.push_back(v);
  }
  return out;
}

}  // namespace

void apply_tile(Schedule& s, Knobs& knobs, const target::Target& target, const SingleReduction& r,
                const TilePlan& plan) {
  const auto extent = [&](int axis) { return axis < 0 ? std::int64_t{1} : r.extents[static_cast<std::size_t>(axis)]; };
  const std::size_t rank = r.rank();
  const int last = static_cast<int>(rank) - 1;
  const std::int64_t native = target.vector_bytes / 4;
  const std::int64_t registers = target.vector_registers;

  // Reduce axes: windows (added to a spatial axis) and the rest, whose last one is the inner product's axis.
  std::vector<std::size_t> windows, channels;
  for (std::size_t i = 0; i < r.window.size(); ++i) {
    if (extent(static_cast<int>(rank + i)) > 1 || r.window.size() == 1)
      (r.window[i] ? windows : channels).push_back(rank + i);
  }
  std::vector<std::size_t> unit_reduce;  // axes of one element need no thought
  for (std::size_t i = 0; i < r.window.size(); ++i) {
    if (extent(static_cast<int>(rank + i)) == 1 && r.window.size() != 1) unit_reduce.push_back(rank + i);
  }
  const bool has_kw = !windows.empty();
  const std::int64_t kw = has_kw ? extent(static_cast<int>(windows.back())) : 1;
  std::int64_t outer_window = 1;
  for (std::size_t i = 0; i + 1 < windows.size(); ++i) outer_window *= extent(static_cast<int>(windows[i]));
  const bool kw_conditioned = has_kw && r.conditioned[windows.back()];
  const std::int64_t inner = channels.empty() ? 1 : extent(static_cast<int>(channels.back()));
  std::vector<int> other_axes;  // of the output, not of the tile
  for (int axis = 0; axis <= last; ++axis) {
    if (axis != plan.vector_axis && axis != plan.row_axis && axis != plan.second_axis) other_axes.push_back(axis);
  }

  const std::int64_t v = knobs.choice("vector", widths(target, extent(plan.vector_axis)), native);
  const std::int64_t nv = knobs.choice("vectors", range_up_to((extent(plan.vector_axis) + 3) / 4, 8), 2);
  const std::int64_t rows = knobs.choice("rows", range_up_to(extent(plan.row_axis), 28), 6);
  std::vector<std::int64_t> seconds{1};
  if (plan.second_axis >= 0) seconds = up_to(extent(plan.second_axis), {1, 2, 3, 4, 6, 8});
  const std::int64_t second = knobs.choice("second", seconds, 1);
  std::vector<std::int64_t> unrolls = up_to(inner, {1, 2, 4, 8});
  if (inner < 8 && unrolls.back() != inner) unrolls.push_back(inner);  // few channels are unrolled whole
  const std::int64_t unroll = knobs.choice("unroll", unrolls, 1);
  const std::int64_t kw_mode = knobs.choice("kw",
                                            !has_kw          ? std::vector<std::int64_t>{0}
                                            : kw_conditioned ? std::vector<std::int64_t>{1, 2}
                                                             : std::vector<std::int64_t>{0, 1, 2},
                                            1);
  const std::int64_t kh_unroll = knobs.choice(
      "kh", outer_window > 1 && outer_window <= 9 ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{0}, 0);
  // Who is outermost: vectors, or rows of either kind; with two kinds of rows their order is open too.
  const bool two_rows = plan.second_axis >= 0 && plan.row_axis >= 0;
  const bool any_rows = plan.second_axis >= 0 || plan.row_axis >= 0;
  std::vector<std::int64_t> orders = two_rows   ? std::vector<std::int64_t>{0, 1, 2, 3, 4}
                                     : any_rows ? std::vector<std::int64_t>{0, 1}
                                                : std::vector<std::int64_t>{0};
  // Other axes stand outside of all these. Where what is packed is the same along them, vectors may go round them too:
  // a vector's part of it then stays in a cache.
  std::int64_t default_order = 0;
  if (plan.packed >= 0 && plan.block_axis == plan.vector_axis) {
    const Operand& operand = r.operands[static_cast<std::size_t>(plan.packed)];
    if (std::any_of(other_axes.begin(), other_axes.end(), [&](int axis) {
          return extent(axis) > 1 && repeats_along(operand.axes[static_cast<std::size_t>(axis)]);
        })) {
      orders.push_back(kVectorsRoundAll);
      if (operand.stage->constant && operand.stage->memory_elements() * 4 > target.l2_bytes)
        default_order = kVectorsRoundAll;
    }
  }
  const std::int64_t order = knobs.choice("order", orders, default_order);
  // Rows whose operands repeat: a tile holds whole periods, so that each of its rows always has the same operand.
  std::int64_t period = 1;
  for (const Operand& operand : r.operands) {
    if (plan.row_axis >= 0 && operand.axes[static_cast<std::size_t>(plan.row_axis)] == Dependence::Periodic)
      period = std::lcm(period, operand.divisor[static_cast<std::size_t>(plan.row_axis)]);
  }
  const std::int64_t balance = knobs.choice(
      "tail", extent(plan.row_axis) > 1 && period == 1 ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{0},
      1);
  std::vector<std::int64_t> blocks{0};
  if (plan.row_axis >= 0 && windows.empty()) {
    for (std::int64_t b : {32, 64, 128, 256, 512}) {
      if (b < extent(plan.row_axis)) blocks.push_back(b);
    }
  }
  const std::int64_t block = knobs.choice("block", blocks, 0);
  // 1: the whole operand ahead of the loops; 2: what rows share, inside of the loops that are outside of the rows.
  constexpr std::int64_t kWhole = 1, kPanels = 2;
  std::vector<std::int64_t> packs{0};
  std::int64_t pack_default = 0;
  if (plan.packed >= 0) {
    const Operand& operand = r.operands[static_cast<std::size_t>(plan.packed)];
    const bool along_vectors = plan.block_axis == plan.vector_axis;
    const bool contiguous = operand.unit_stride_axis == plan.block_axis || !along_vectors;
    packs.clear();
    if (contiguous) packs.push_back(0);
    if (!contiguous || operand.stage->constant) packs.push_back(kWhole);
    pack_default = packs.back();
    if (!operand.stage->constant && along_vectors) packs.push_back(kPanels);
    // Panels of several matrices keep threads busy, whatever the size of one.
    const bool several = std::any_of(other_axes.begin(), other_axes.end(), [&](int axis) { return extent(axis) > 1; });
    if (!contiguous && packs.back() == kPanels && several) pack_default = kPanels;
  }
  const std::int64_t pack_knob = knobs.choice("pack", packs, pack_default);
  const std::int64_t hold =
      knobs.choice("hold", plan.held >= 0 ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{0}, 0);

  knobs.require("vectors cover the axis", {"vector", "vectors"},
                [e = extent(plan.vector_axis)](auto k) { return (k[1] - 1) * k[0] < e; });
  knobs.require("register file", {"vectors", "rows", "second"},
                [registers](auto k) { return k[0] * k[1] * k[2] + k[0] + 1 <= registers; });
  knobs.require("instructions a block", {"vectors", "rows", "second", "unroll", "kw", "kh"},
                [kw, outer_window](auto k) {
                  return k[0] * k[1] * k[2] * k[3] * (k[4] > 0 ? kw : 1) * (k[5] > 0 ? outer_window : 1) <= 1024;
                });
  // Every segment of the rows, of the vectors and of the kernel's borders gets a body of its own.
  const bool bordered = kw_conditioned,
             border_rows = !windows.empty() && r.conditioned[windows.front()] && windows.size() > 1;
  knobs.require(
      "instructions in all bodies", {"vector", "vectors", "rows", "second", "unroll", "kw", "kh"},
      [=, row_extent = extent(plan.row_axis), second_extent = extent(plan.second_axis),
       vector_extent = extent(plan.vector_axis)](auto k) {
        const std::int64_t row_bodies = std::min<std::int64_t>((row_extent % k[2] != 0 ? 2 : 1) + (bordered ? 2 : 0),
                                                               (row_extent + k[2] - 1) / k[2]);
        const std::int64_t second_bodies = (second_extent % k[3] != 0 ? 2 : 1) + (border_rows && k[6] > 0 ? 2 : 0);
        const std::int64_t vector_bodies = vector_extent % (k[0] * k[1]) != 0 && vector_extent > k[0] * k[1] ? 2 : 1;
        const std::int64_t block_size = k[1] * k[2] * k[3] * ((inner % k[4] != 0 ? 1 : 0) + k[4]) *
                                        (k[5] > 0 ? kw : 1) * (k[6] > 0 ? outer_window : 1);
        return row_bodies * second_bodies * vector_bodies * block_size <= 2048;
      });
  if (plan.second_axis >= 0 && std::any_of(r.conditioned.begin(), r.conditioned.end(), [](bool b) { return b; })) {
    // With two rows of pixels at once the kernel's rows differ per pixel, so they cannot be loop bounds.
    knobs.require("border rows", {"second", "kh"},
                  [outer_window](auto k) { return k[0] == 1 || k[1] == 1 || outer_window == 1; });
  }
  const auto vectors_outermost = [](std::int64_t of_order) {
    return of_order == 0 || of_order == 4 || of_order == kVectorsRoundAll;
  };
  if (packs.back() == kPanels && other_axes.empty()) {
    knobs.require("a loop outside of the rows that share a panel", {"pack", "order"},
                  [=](auto k) { return k[0] != kPanels || vectors_outermost(k[1]); });
  }
  if (blocks.size() > 1) {
    knobs.require("rows in a block", {"rows", "block"}, [](auto k) { return k[1] == 0 || k[0] <= k[1]; });
  }
  for (const Operand& operand : r.operands) {
    const auto group_along = [&](int axis) {
      const auto at = static_cast<std::size_t>(axis);
      return operand.axes[at] == Dependence::Blocked ? operand.divisor[at] : 0;
    };
    const std::int64_t group = group_along(plan.vector_axis);
    if (group > 0)
      knobs.require("vectors stay within a group", {"vector", "vectors"},
                    [group](auto k) { return group % (k[0] * k[1]) == 0; });
    if (plan.row_axis >= 0) {
      const std::int64_t row_group = group_along(plan.row_axis);
      if (row_group > 0)
        knobs.require("rows stay within a group", {"rows"}, [row_group](auto k) { return row_group % k[0] == 0; });
    }
  }
  if (period > 1) knobs.require("rows hold whole periods", {"rows"}, [period](auto k) { return k[0] % period == 0; });
  if (plan.held >= 0) {
    // Registers are read at constant places.
    knobs.require("held inputs under an unrolled kernel", {"hold", "kw", "kh"},
                  [=](auto k) { return k[0] == 0 || ((kw == 1 || k[1] > 0) && (outer_window == 1 || k[2] > 0)); });
  }
  if (knobs.declaring()) return;

  for (const std::string& stage : r.elementwise) s.compute_inline(stage);
  const std::string out = r.output->name;
  const std::string local = r.reduction == r.output ? s.cache_write(out) : r.reduction->name;
  const bool turned = plan.vector_axis != last && nv * v > 1;

  const bool padded = plan.packed >= 0 && pack_knob == kWhole && plan.block_axis == plan.vector_axis &&
                      r.operands[static_cast<std::size_t>(plan.packed)].stage->constant;
  std::string panel, packed_once;
  if (plan.packed >= 0 && pack_knob != 0) {
    Packing packing{plan.block_axis, plan.block_axis == plan.vector_axis ? nv * v : rows, {}, pack_knob == kPanels};
    if (packing.panel && !vectors_outermost(order)) packing.width = extent(plan.vector_axis);
    for (std::size_t w = 0; w + 1 < windows.size(); ++w) packing.reduce_order.push_back(windows[w]);
    if (kw_mode == 2 && has_kw) packing.reduce_order.push_back(windows.back());
    packing.reduce_order.insert(packing.reduce_order.end(), channels.begin(), channels.end());
    if (kw_mode != 2 && has_kw) packing.reduce_order.push_back(windows.back());
    const std::string copy = pack(s, target, r.operands[static_cast<std::size_t>(plan.packed)], local, packing);
    if (packing.panel) panel = copy;
    if (r.operands[static_cast<std::size_t>(plan.packed)].stage->constant) packed_once = copy;
  }

  // The output: outer loops in parallel, then the tile.
  const std::vector<Loop> axes = s.loops(out);
  const Tail row_tail = balance == 1 ? Tail::Balance : Tail::Peel;
  std::vector<Loop> row_outer, row_tile;
  if (plan.row_axis >= 0) {
    Loop row = axes[static_cast<std::size_t>(plan.row_axis)];
    if (block > 0) {
      const std::vector<Loop> parts = s.split(row, {block}, Tail::Peel);
      row_outer.push_back(parts[0]);
      row = parts[1];
    }
    const std::vector<Loop> parts = s.split(row, {rows}, row_tail);
    row_outer.push_back(parts[0]);
    row_tile.push_back(parts[1]);
  }
  std::vector<Loop> second_outer, second_tile;
  if (plan.second_axis >= 0) {
    if (second > 1) {
      const std::vector<Loop> parts = s.split(axes[static_cast<std::size_t>(plan.second_axis)], {second}, Tail::Peel);
      second_outer.push_back(parts[0]);
      second_tile.push_back(parts[1]);
    } else {
      second_outer.push_back(axes[static_cast<std::size_t>(plan.second_axis)]);
    }
  }
  const Loop vector_loop = axes[static_cast<std::size_t>(plan.vector_axis)];
  std::vector<Loop> vector_parts;  // outer, then the tile's
  if (turned) {
    vector_parts = s.split(vector_loop, {nv * v}, Tail::Peel);
  } else {
    vector_parts = s.split(vector_loop, {nv, v}, Tail::Mask);
  }
  std::vector<Loop> others;
  for (const int axis : other_axes) others.push_back(axes[static_cast<std::size_t>(axis)]);
  std::vector<Loop> outer = others, serial;
  const auto append = [](std::vector<Loop>& to, const std::vector<Loop>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  std::vector<Loop> row_parallel = row_outer;
  if (block > 0) {
    serial.push_back(row_outer[1]);
    row_parallel = {row_outer[0]};
  }
  switch (order) {
    case kVectorsRoundAll:
      outer.insert(outer.begin(), vector_parts[0]);
      append(outer, second_outer);
      append(outer, row_parallel);
      break;
    case 0:
      outer.push_back(vector_parts[0]);
      append(outer, second_outer);
      append(outer, row_parallel);
      break;
    case 1:
      append(outer, second_outer);
      append(outer, row_parallel);
      outer.push_back(vector_parts[0]);
      break;
    case 2:
      append(outer, second_outer);
      outer.push_back(vector_parts[0]);
      append(outer, row_parallel);
      break;
    case 3:
      append(outer, row_parallel);
      append(outer, second_outer);
      outer.push_back(vector_parts[0]);
      break;
    default:
      outer.push_back(vector_parts[0]);
      append(outer, row_parallel);
      append(outer, second_outer);
      break;
  }
  if (!panel.empty()) {
    // What shares a panel follows it.
    const auto rows_begin = outer.begin() + std::ssize(others) + (vectors_outermost(order) ? 1 : 0);
    serial.insert(serial.begin(), rows_begin, outer.end());
    outer.erase(rows_begin, outer.end());
  }
  std::vector<Loop> all = outer;
  append(all, serial);
  const std::vector<Loop> tiles = all;
  append(all, second_tile);
  std::vector<Loop> unrolled = second_tile;
  Loop lanes{};
  if (turned) {
    // Rows become lanes when the tile is stored.
    const std::vector<Loop> turned_rows = s.split(row_tile[0], {v}, Tail::Mask);
    all.push_back(vector_parts[1]);
    unrolled.push_back(vector_parts[1]);
    append(all, turned_rows);
    unrolled.push_back(turned_rows[0]);
    lanes = turned_rows[1];
  } else {
    append(all, row_tile);
    append(unrolled, row_tile);
    all.push_back(vector_parts[1]);
    unrolled.push_back(vector_parts[1]);
    all.push_back(vector_parts[2]);
    lanes = vector_parts[2];
  }
  s.reorder(all);
  const Loop tile_loop = s.fuse(outer);
  s.vectorize(lanes);
  for (const Loop& loop : unrolled) s.unroll(loop);
  s.parallel(tile_loop);
  s.compute_at(local, serial.empty() ? tile_loop : serial.back());
  s.set_scope(local, Scope::Register);
  if (!panel.empty()) s.compute_at(panel, tile_loop);

  if (hold == 1) {
    const std::string held = s.cache_read(r.operands[static_cast<std::size_t>(plan.held)].stage->name, local);
    s.compute_at(held, serial.empty() ? tile_loop : serial.back());
    s.set_scope(held, Scope::Register);
    const std::vector<Loop> places = s.loops(held);
    const std::vector<Loop> parts = s.split(places.back(), {native}, Tail::Mask);
    for (std::size_t i = 0; i + 1 < places.size(); ++i) s.unroll(places[i]);
    s.unroll(parts[0]);
    s.vectorize(parts[1]);
  }

  std::optional<Stream> stream;
  if (!packed_once.empty() && !channels.empty()) {
    std::vector<TileLoop> tile_loops;
    for (const Loop& loop : tiles) {
      TileLoop tile{loop, -1, 1};
      if (loop == vector_parts[0]) {
        tile = {loop, plan.vector_axis, analysis::ceil_div(extent(plan.vector_axis), nv * v)};
      } else if (!second_outer.empty() && loop == second_outer[0]) {
        tile = {loop, plan.second_axis, analysis::ceil_div(extent(plan.second_axis), second)};
      } else if (!row_outer.empty() && loop == row_outer.back()) {
        tile = {loop, plan.row_axis, analysis::ceil_div(block > 0 ? block : extent(plan.row_axis), rows)};
      } else if (block > 0 && loop == row_outer[0]) {
        tile = {loop, plan.row_axis, analysis::ceil_div(extent(plan.row_axis), block)};
      } else {
        const auto other = std::find(others.begin(), others.end(), loop);
        const int axis = other_axes[static_cast<std::size_t>(other - others.begin())];
        tile = {loop, axis, extent(axis)};
      }
      tile_loops.push_back(tile);
    }
    const BlockedCopy copy{packed_once, plan.block_axis, plan.block_axis == plan.vector_axis ? nv * v : rows,
                           unroll * (kw_mode == 2 ? 1 : kw)};
    stream = stream_of(r, r.operands[static_cast<std::size_t>(plan.packed)], copy, tile_loops, target);
  }

  // The reduction, over the tile.
  std::vector<Loop> inner_axes = s.loops(local);
  const std::vector<Loop> local_vector =
      s.split(inner_axes[static_cast<std::size_t>(plan.vector_axis)], {v}, padded ? Tail::RoundUp : Tail::Mask);
  std::vector<Loop> nest, to_unroll;
  for (std::size_t axis : unit_reduce) nest.push_back(inner_axes[axis]);
  for (std::size_t i = 0; i + 1 < windows.size(); ++i) {
    nest.push_back(inner_axes[windows[i]]);
    if (kh_unroll == 1) to_unroll.push_back(inner_axes[windows[i]]);
  }
  const auto add_kw = [&] {
    if (!has_kw) return;
    nest.push_back(inner_axes[windows.back()]);
    if (kw_mode > 0) to_unroll.push_back(inner_axes[windows.back()]);
  };
  if (kw_mode == 2 || channels.empty()) add_kw();
  std::vector<Loop> tail_channel;
  for (std::size_t i = 0; i + 1 < channels.size(); ++i) nest.push_back(inner_axes[channels[i]]);
  Loop request_loop{};
  std::int64_t steps = 1;  // of the innermost channels in an iteration of it
  if (!channels.empty()) {
    if (stream) steps = steps_per_request(*stream, inner / unroll);
    std::vector<std::int64_t> factors;
    if (steps > 1) factors.push_back(steps);
    if (unroll > 1) factors.push_back(unroll);
    const Loop axis = inner_axes[channels.back()];
    const std::vector<Loop> parts = factors.empty() ? std::vector<Loop>{axis} : s.split(axis, factors, Tail::Peel);
    request_loop = parts.front();
    nest.insert(nest.end(), parts.begin(), parts.end() - (unroll > 1 ? 1 : 0));
    if (unroll > 1) {
      tail_channel.push_back(parts.back());
      to_unroll.push_back(parts.back());
    }
  }
  if (kw_mode != 2 && !channels.empty()) add_kw();
  append(nest, tail_channel);
  for (std::size_t a = 0; a < rank; ++a) {
    const int axis = static_cast<int>(a);
    if (axis == plan.vector_axis) continue;
    nest.push_back(inner_axes[a]);
    to_unroll.push_back(inner_axes[a]);
  }
  append(nest, local_vector);
  to_unroll.push_back(local_vector[0]);
  s.reorder(nest);
  s.vectorize(local_vector[1]);
  for (const Loop& loop : to_unroll) s.unroll(loop);
  if (stream) prefetch_next_block(s, *stream, request_loop, steps);
}

}  // namespace temper::space
