#include "temper/space/tile_knobs.h"

#include <algorithm>
#include <numeric>

#include "temper/space/knob_values.h"

namespace temper::space {

namespace {

using Values = std::vector<std::int64_t>;

constexpr auto kVectorsRoundAll = static_cast<std::int64_t>(TileOrder::VectorsRoundAll);
constexpr auto kAsItIs = static_cast<std::int64_t>(TilePacking::AsItIs),
               kWhole = static_cast<std::int64_t>(TilePacking::Whole),
               kPanels = static_cast<std::int64_t>(TilePacking::Panels);

/// The values of a knob, and the one of an untuned kernel.
struct Options {
  Values values;
  std::int64_t usual;
};

/// What the constraints need to know of the windows.
struct Windows {
  std::int64_t last = 1;                                           ///< elements of the last one
  std::int64_t outer = 1;                                          ///< of all others together
  bool last_is_conditioned = false, rows_are_conditioned = false;  ///< by the borders of an input
};

Windows windows_of(const SingleReduction& r, const TileAxes& axes) {
  Windows out;
  if (axes.windows.empty()) return out;
  out.last = extent_of(r, static_cast<int>(axes.windows.back()));
  for (std::size_t i = 0; i + 1 < axes.windows.size(); ++i)
    out.outer *= extent_of(r, static_cast<int>(axes.windows[i]));
  out.last_is_conditioned = r.conditioned[axes.windows.back()];
  out.rows_are_conditioned = r.conditioned[axes.windows.front()] && axes.windows.size() > 1;
  return out;
}

std::int64_t inner_channels(const SingleReduction& r, const TileAxes& axes) {
  return axes.channels.empty() ? 1 : extent_of(r, static_cast<int>(axes.channels.back()));
}

/// Vector widths: the target's, half and a quarter of it, in elements of f32; never wider than needed by more than
/// half.
Values widths(const target::Target& target, std::int64_t extent) {
  const std::int64_t native = target.vector_bytes / 4;
  Values out;
  for (std::int64_t v = std::max<std::int64_t>(native / 4, 4); v <= native; v *= 2) {
    if (v < 2 * extent || out.empty()) out.push_back(v);
  }
  return out;
}

/// With two kinds of rows their order is open too. Where what is packed is the same along other axes, vectors may go
/// round them: a vector's part of it then stays in a cache.
Options orders(const target::Target& target, const SingleReduction& r, const TilePlan& plan, const TileAxes& axes) {
  const bool two_rows = plan.second_axis >= 0 && plan.row_axis >= 0;
  const bool any_rows = plan.second_axis >= 0 || plan.row_axis >= 0;
  Options out{two_rows ? Values{0, 1, 2, 3, 4} : any_rows ? Values{0, 1} : Values{0}, 0};
  if (plan.packed < 0 || plan.block_axis != plan.vector_axis) return out;
  const Operand& operand = r.operands[static_cast<std::size_t>(plan.packed)];
  if (std::any_of(axes.others.begin(), axes.others.end(), [&](int axis) {
        return extent_of(r, axis) > 1 && repeats_along(operand.axes[static_cast<std::size_t>(axis)]);
      })) {
    out.values.push_back(kVectorsRoundAll);
    if (operand.stage->constant && operand.stage->memory_elements() * 4 > target.l2_bytes) out.usual = kVectorsRoundAll;
  }
  return out;
}

Options packings(const SingleReduction& r, const TilePlan& plan, const TileAxes& axes) {
  if (plan.packed < 0) return {{kAsItIs}, kAsItIs};
  const Operand& operand = r.operands[static_cast<std::size_t>(plan.packed)];
  const bool along_vectors = plan.block_axis == plan.vector_axis;
  const bool contiguous = operand.unit_stride_axis == plan.block_axis || !along_vectors;
  Options out{{}, kAsItIs};
  if (contiguous) out.values.push_back(kAsItIs);
  if (!contiguous || operand.stage->constant) out.values.push_back(kWhole);
  out.usual = out.values.back();
  if (!operand.stage->constant && along_vectors) out.values.push_back(kPanels);
  // Panels of several matrices keep threads busy, whatever the size of one.
  const bool several =
      std::any_of(axes.others.begin(), axes.others.end(), [&](int axis) { return extent_of(r, axis) > 1; });
  if (!contiguous && out.values.back() == kPanels && several) out.usual = kPanels;
  return out;
}

Values row_blocks(const SingleReduction& r, const TilePlan& plan, const TileAxes& axes) {
  Values out{0};
  if (plan.row_axis < 0 || !axes.windows.empty()) return out;
  for (const std::int64_t b : {32, 64, 128, 256, 512}) {
    if (b < extent_of(r, plan.row_axis)) out.push_back(b);
  }
  return out;
}

/// Rows whose operands repeat: a tile holds whole periods, so that each of its rows always has the same operand.
std::int64_t row_period(const SingleReduction& r, const TilePlan& plan) {
  std::int64_t period = 1;
  for (const Operand& operand : r.operands) {
    if (plan.row_axis >= 0 && operand.axes[static_cast<std::size_t>(plan.row_axis)] == Dependence::Periodic)
      period = std::lcm(period, operand.divisor[static_cast<std::size_t>(plan.row_axis)]);
  }
  return period;
}

/// Of registers, and of the code that unrolled loops become.
void limit_size(Knobs& knobs, const target::Target& target, const SingleReduction& r, const TilePlan& plan,
                const TileAxes& axes, const Windows& windows) {
  knobs.require("vectors cover the axis", {"vector", "vectors"},
                [e = extent_of(r, plan.vector_axis)](auto k) { return (k[1] - 1) * k[0] < e; });
  knobs.require("register file", {"vectors", "rows", "second"},
                [registers = std::int64_t{target.vector_registers}](auto k) {
                  return k[0] * k[1] * k[2] + k[0] + 1 <= registers;
                });
  knobs.require("instructions a block", {"vectors", "rows", "second", "unroll", "kw", "kh"}, [windows](auto k) {
    return k[0] * k[1] * k[2] * k[3] * (k[4] > 0 ? windows.last : 1) * (k[5] > 0 ? windows.outer : 1) <= 1024;
  });
  // Every segment of the rows, of the vectors and of the kernel's borders gets a body of its own.
  knobs.require(
      "instructions in all bodies", {"vector", "vectors", "rows", "second", "unroll", "kw", "kh"},
      [windows, inner = inner_channels(r, axes), row_extent = extent_of(r, plan.row_axis),
       second_extent = extent_of(r, plan.second_axis), vector_extent = extent_of(r, plan.vector_axis)](auto k) {
        const std::int64_t row_bodies = std::min<std::int64_t>(
            (row_extent % k[2] != 0 ? 2 : 1) + (windows.last_is_conditioned ? 2 : 0), (row_extent + k[2] - 1) / k[2]);
        const std::int64_t second_bodies =
            (second_extent % k[3] != 0 ? 2 : 1) + (windows.rows_are_conditioned && k[6] > 0 ? 2 : 0);
        const std::int64_t vector_bodies = vector_extent % (k[0] * k[1]) != 0 && vector_extent > k[0] * k[1] ? 2 : 1;
        const std::int64_t block_size = k[1] * k[2] * k[3] * ((inner % k[4] != 0 ? 1 : 0) + k[4]) *
                                        (k[5] > 0 ? windows.last : 1) * (k[6] > 0 ? windows.outer : 1);
        return row_bodies * second_bodies * vector_bodies * block_size <= 2048;
      });
}

/// A tile stays within a group of each operand that is shared by groups.
void limit_to_groups(Knobs& knobs, const SingleReduction& r, const TilePlan& plan) {
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
}

}  // namespace

bool vectors_outermost(TileOrder order) {
  return order == TileOrder::VectorsSecondRows || order == TileOrder::VectorsRowsSecond ||
         order == TileOrder::VectorsRoundAll;
}

TileChoice choose_tile(Knobs& knobs, const target::Target& target, const SingleReduction& r, const TilePlan& plan,
                       const TileAxes& axes) {
  const Windows windows = windows_of(r, axes);
  const std::int64_t inner = inner_channels(r, axes), native = target.vector_bytes / 4;
  const std::int64_t period = row_period(r, plan);
  TileChoice out;
  out.vector = knobs.choice("vector", widths(target, extent_of(r, plan.vector_axis)), native);
  out.vectors = knobs.choice("vectors", range_up_to((extent_of(r, plan.vector_axis) + 3) / 4, 8), 2);
  out.rows = knobs.choice("rows", range_up_to(extent_of(r, plan.row_axis), 28), 6);
  Values seconds{1};
  if (plan.second_axis >= 0) seconds = up_to(extent_of(r, plan.second_axis), {1, 2, 3, 4, 6, 8});
  out.second = knobs.choice("second", seconds, 1);
  Values unrolls = up_to(inner, {1, 2, 4, 8});
  if (inner < 8 && unrolls.back() != inner) unrolls.push_back(inner);  // few channels are unrolled whole
  out.unroll = knobs.choice("unroll", unrolls, 1);
  out.kw = static_cast<WindowLoop>(knobs.choice("kw",
                                                axes.windows.empty()          ? Values{0}
                                                : windows.last_is_conditioned ? Values{1, 2}
                                                                              : Values{0, 1, 2},
                                                1));
  out.unrolls_outer_windows =
      knobs.choice("kh", windows.outer > 1 && windows.outer <= 9 ? Values{0, 1} : Values{0}, 0) == 1;
  const Options order = orders(target, r, plan, axes);
  out.order = static_cast<TileOrder>(knobs.choice("order", order.values, order.usual));
  out.balances_rows =
      knobs.choice("tail", extent_of(r, plan.row_axis) > 1 && period == 1 ? Values{0, 1} : Values{0}, 1) == 1;
  const Values blocks = row_blocks(r, plan, axes);
  out.block = knobs.choice("block", blocks, 0);
  const Options packing = packings(r, plan, axes);
  out.packing = static_cast<TilePacking>(knobs.choice("pack", packing.values, packing.usual));
  out.holds_inputs = knobs.choice("hold", plan.held >= 0 ? Values{0, 1} : Values{0}, 0) == 1;

  limit_size(knobs, target, r, plan, axes, windows);
  if (plan.second_axis >= 0 && std::any_of(r.conditioned.begin(), r.conditioned.end(), [](bool b) { return b; })) {
    // With two rows of pixels at once the kernel's rows differ per pixel, so they cannot be loop bounds.
    knobs.require("border rows", {"second", "kh"},
                  [windows](auto k) { return k[0] == 1 || k[1] == 1 || windows.outer == 1; });
  }
  if (packing.values.back() == kPanels && axes.others.empty()) {
    knobs.require("a loop outside of the rows that share a panel", {"pack", "order"},
                  [](auto k) { return k[0] != kPanels || vectors_outermost(static_cast<TileOrder>(k[1])); });
  }
  if (blocks.size() > 1)
    knobs.require("rows in a block", {"rows", "block"}, [](auto k) { return k[1] == 0 || k[0] <= k[1]; });
  limit_to_groups(knobs, r, plan);
  if (period > 1) knobs.require("rows hold whole periods", {"rows"}, [period](auto k) { return k[0] % period == 0; });
  if (plan.held >= 0) {
    // Registers are read at constant places.
    knobs.require("held inputs under an unrolled kernel", {"hold", "kw", "kh"}, [windows](auto k) {
      return k[0] == 0 || ((windows.last == 1 || k[1] > 0) && (windows.outer == 1 || k[2] > 0));
    });
  }
  return out;
}

}  // namespace temper::space
