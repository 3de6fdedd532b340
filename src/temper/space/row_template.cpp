#include "temper/space/row_template.h"

#include <algorithm>
#include <span>

namespace temper::space {

using schedule::Loop;
using schedule::Scope;
using schedule::Tail;

namespace {

/// Divisors of the last row axis.
std::vector<std::int64_t> rows_together(const RowReductions& r) {
  std::vector<std::int64_t> out{1};
  if (r.row_axes == 0) return out;
  const std::int64_t extent = r.output->shape()[r.row_axes - 1];
  for (const std::int64_t v : {2, 4}) {
    if (extent % v == 0) out.push_back(v);
  }
  return out;
}

/// Inputs with a number for each element of the rows.
std::vector<int> whole_inputs(const schedule::Schedule& s, const RowReductions& r) {
  std::vector<int> out;
  for (std::size_t i = 0; i < s.stages().size(); ++i) {
    const ir::Stage& stage = *s.stages()[i].definition;
    if (!s.stages()[i].is_placeholder() || stage.axes.size() != r.row_axes + 1) continue;
    bool whole = stage.shape().back() == r.columns;
    for (std::size_t a = 0; a < r.row_axes; ++a) whole = whole && stage.shape()[a] == r.output->shape()[a];
    if (whole) out.push_back(static_cast<int>(i));
  }
  return out;
}

/// The widest of `lanes` that a row fills and that leaves registers to what is computed beside it.
std::int64_t default_lanes(std::span<const std::int64_t> lanes, std::int64_t columns, const target::Target& target) {
  const std::int64_t native = target.vector_bytes / 4, most = (target.vector_registers >= 32 ? 4 : 2) * native;
  std::int64_t widest = native;
  for (const std::int64_t v : lanes) {
    if (v <= std::min(columns, most)) widest = std::max(widest, v);
  }
  return widest;
}

/// A loop over the columns of a row, and how many of them an iteration takes.
struct ColumnLoop {
  Loop loop;
  std::int64_t step;
};

/// Prefetches what lies `elements` later, in the last of the loops that reads the input.
void ask_ahead(schedule::Schedule& s, int input, const std::vector<ColumnLoop>& loops, std::int64_t elements) {
  for (auto columns = loops.rbegin(); columns != loops.rend(); ++columns) {
    if (!schedule::reads_inside(s, columns->loop.stage, input)) continue;
    const std::int64_t distance = (elements + columns->step - 1) / columns->step;
    s.prefetch(s.stages()[static_cast<std::size_t>(input)].definition->name, columns->loop, distance);
    return;
  }
}

}  // namespace

void apply_rows(schedule::Schedule& s, Knobs& knobs, const target::Target& target, const RowReductions& r) {
  const std::int64_t native = target.vector_bytes / 4;
  std::vector<std::int64_t> lanes;
  for (std::int64_t v = std::max<std::int64_t>(native / 2, 4); v <= std::min<std::int64_t>(4 * native, 64); v *= 2) {
    if (v < 2 * r.columns || lanes.empty()) lanes.push_back(v);
  }
  // Wide vectors are several registers: independent partial results that hide the latency of the reducer.
  const std::int64_t wide = default_lanes(lanes, r.columns, target);
  std::vector<std::int64_t> reduce_lanes;
  for (const std::string& reduction : r.reductions)
    reduce_lanes.push_back(knobs.choice(reduction + "_lanes", lanes, wide));
  const std::int64_t store_lanes = r.has_columns ? knobs.choice("store_lanes", lanes, wide) : 1;
  const std::int64_t store_unroll = r.has_columns ? knobs.choice("store_unroll", {1, 2, 4}, 1) : 1;
  const std::int64_t reduce_unroll = knobs.choice("reduce_unroll", {1, 2, 4}, 1);
  // Rows whose reductions follow one another: the end of one, a chain of dependent operations, overlaps with the next.
  const std::vector<std::int64_t> groups = rows_together(r);
  const std::int64_t together = knobs.choice("rows", groups, groups.size() > 1 ? 2 : 1);
  const std::int64_t keep = r.shared.empty() ? 0 : knobs.choice("keep", {0, 1}, 1);
  // The input of the next rows is asked for while these are computed: it comes while the arithmetic units are busy.
  const std::vector<int> inputs = whole_inputs(s, r);
  const std::int64_t ahead = inputs.empty() ? 0 : knobs.choice("ahead", {0, 1}, 1);
  if (knobs.declaring()) return;

  for (const std::string& stage : r.inlined) s.compute_inline(stage);
  const std::string out = r.output->name;
  const std::vector<Loop> axes = s.loops(out);
  std::vector<Loop> rows(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(r.row_axes));
  if (together > 1) {
    const std::vector<Loop> parts = s.split(rows.back(), {together}, Tail::Mask);
    rows.back() = parts[0];
    s.unroll(parts[1]);
  }
  std::vector<ColumnLoop> loops;  // the output's first
  if (r.has_columns) {
    const std::vector<Loop> parts = s.split(axes.back(), {store_unroll, store_lanes}, Tail::Mask);
    s.vectorize(parts[2]);
    s.unroll(parts[1]);
    loops.push_back({parts[0], store_unroll * store_lanes});
  }
  const Loop row = s.fuse(rows);
  s.parallel(row);
  for (const std::string& stage : r.per_row) {
    s.compute_at(stage, row);
    s.set_scope(stage, Scope::Register);
    for (const Loop& loop : s.loops(stage)) s.unroll(loop);
  }
  for (std::size_t i = 0; i < r.reductions.size(); ++i) {
    const std::string& stage = r.reductions[i];
    s.compute_at(stage, row);
    s.set_scope(stage, Scope::Register);
    const std::vector<Loop> own = s.loops(stage);
    for (std::size_t a = 0; a < r.row_axes; ++a) s.unroll(own[a]);
    const std::vector<Loop> parts = s.split(own.back(), {reduce_unroll, reduce_lanes[i]}, Tail::Mask);
    s.vectorize(parts[2]);
    s.unroll(parts[1]);
    loops.push_back({parts[0], reduce_unroll * reduce_lanes[i]});
    for (std::size_t k = 0; k < r.shared.size(); ++k) {
      if (r.sharer[k] != stage) continue;
      if (keep == 0) {
        s.compute_inline(r.shared[k]);
        continue;
      }
      s.compute_at(r.shared[k], parts[0]);
      s.store_at(r.shared[k], row);
      const std::vector<Loop> columns = s.loops(r.shared[k]);
      for (std::size_t a = 0; a < r.row_axes; ++a) s.unroll(columns[a]);
      const std::vector<Loop> pieces = s.split(columns.back(), {reduce_lanes[i]}, Tail::Mask);
      s.vectorize(pieces[1]);
      s.unroll(pieces[0]);
    }
  }
  if (ahead == 1) {
    if (r.has_columns) std::rotate(loops.begin(), loops.begin() + 1, loops.end());
    for (const int input : inputs) ask_ahead(s, input, loops, together * r.columns);
  }
}

}  // namespace temper::space
