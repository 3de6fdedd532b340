#include "temper/space/row_template.h"

#include <algorithm>

namespace temper::space {

using schedule::Loop;
using schedule::Scope;
using schedule::Tail;

void apply_rows(schedule::Schedule& s, Knobs& knobs, const target::Target& target, const RowReductions& r) {
  const std::int64_t native = target.vector_bytes / 4;
  std::vector<std::int64_t> lanes;
  for (std::int64_t v = std::max<std::int64_t>(native / 2, 4); v <= std::min<std::int64_t>(4 * native, 64); v *= 2) {
    if (v < 2 * r.columns || lanes.empty()) lanes.push_back(v);
  }
  // Wide vectors are several registers: independent partial results that hide the latency of the reducer.
  std::vector<std::int64_t> reduce_lanes;
  for (const std::string& reduction : r.reductions)
    reduce_lanes.push_back(knobs.choice(reduction + "_lanes", lanes, native));
  const std::int64_t store_lanes = r.has_columns ? knobs.choice("store_lanes", lanes, native) : 1;
  const std::int64_t store_unroll = r.has_columns ? knobs.choice("store_unroll", {1, 2, 4}, 1) : 1;
  const std::int64_t reduce_unroll = knobs.choice("reduce_unroll", {1, 2, 4}, 1);
  const std::int64_t keep = r.shared.empty() ? 0 : knobs.choice("keep", {0, 1}, 1);
  if (knobs.declaring()) return;

  for (const std::string& stage : r.inlined) s.compute_inline(stage);
  const std::string out = r.output->name;
  const std::vector<Loop> axes = s.loops(out);
  const std::vector<Loop> rows(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(r.row_axes));
  if (r.has_columns) {
    const std::vector<Loop> parts = s.split(axes.back(), {store_unroll, store_lanes}, Tail::Mask);
    s.vectorize(parts[2]);
    s.unroll(parts[1]);
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
    const std::vector<Loop> loops = s.loops(stage);
    for (std::size_t a = 0; a < r.row_axes; ++a) s.unroll(loops[a]);
    const std::vector<Loop> parts = s.split(loops.back(), {reduce_unroll, reduce_lanes[i]}, Tail::Mask);
    s.vectorize(parts[2]);
    s.unroll(parts[1]);
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
}

}  // namespace temper::space
