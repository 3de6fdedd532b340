// Where stages are computed and stored: scopes, boxes, storages; what is prefetched.
#include <algorithm>

#include "temper/nest/builder.h"
#include "temper/support/error.h"

namespace temper::nest {

using schedule::PlacementKind;
using schedule::ScheduleError;

std::size_t Builder::position_of(const schedule::StageSchedule& stage, int iter) const {
  for (std::size_t i = 0; i < stage.order.size(); ++i) {
    if (stage.order[i] == iter) return i;
    if (const schedule::Fuse* fuse = stage.fuse_of(stage.order[i])) {
      if (std::find(fuse->parts.begin(), fuse->parts.end(), iter) != fuse->parts.end()) return i;
    }
  }
  return stage.order.size();
}

bool Builder::in_scope(int s, const StageState& state, std::size_t position) const {
  const schedule::Placement& at = schedule_[s].compute;
  if (at.kind != PlacementKind::At) return false;
  if (at.loop.stage == state.stage) return position_of(*state.schedule, at.loop.iter) >= position;
  return in_scope(at.loop.stage, state, position);
}

namespace {

/// Extent that a split tree computes when its axis has `extent` elements: round_up tails compute more.
std::int64_t computed_extent(const schedule::StageSchedule& stage, int iter, std::int64_t extent) {
  const schedule::Split* split = stage.split_of(iter);
  if (split == nullptr) return extent;
  if (split->tail == schedule::Tail::RoundUp) return analysis::round_up(extent, split->factor);
  const std::int64_t rest = extent % split->factor;
  return rest == 0 ? extent : extent - rest + computed_extent(stage, split->inner, rest);
}

}  // namespace

std::vector<std::vector<Range>> Builder::scope_boxes(const StageState& state, std::size_t position) {
  std::vector<std::vector<Range>> boxes(schedule_.stages().size());
  boxes[static_cast<std::size_t>(state.stage)] = state.axis_ranges();
  for (auto s = order_.rbegin(); s != order_.rend(); ++s) {
    const auto consumer = static_cast<std::size_t>(*s);
    if (boxes[consumer].empty()) continue;
    const StageForms& forms = program_.forms[consumer];
    if (*s != state.stage) {
      const schedule::StageSchedule& stage = schedule_[*s];
      for (std::size_t i = 0; i < stage.definition->axes.size(); ++i) {
        boxes[consumer][i].extent = computed_extent(stage, static_cast<int>(i), boxes[consumer][i].extent);
      }
      for (const ir::Axis& axis : stage.definition->reduce_axes)
        boxes[consumer].push_back({Affine(0), axis.extent().value()});
    }
    for (const ReadForm& read : forms.reads) {
      if (!in_scope(read.producer, state, position)) continue;
      const std::vector<std::int64_t> full = domain(read.producer);
      std::vector<Range> box;
      for (std::size_t i = 0; i < full.size(); ++i) {
        Range range{Affine(0), full[i]};
        if (read.index[i]) range = box_of(*read.index[i], boxes[consumer], forms.axis_vars, program_.vars);
        if (range.extent > full[i]) range = {Affine(0), full[i]};
        box.push_back(std::move(range));
      }
      unite(boxes[static_cast<std::size_t>(read.producer)], box, full);
    }
  }
  return boxes;
}

void Builder::attached(StageState& state, std::size_t depth, int iter, std::vector<Node>& out) {
  const auto here = [&](const schedule::Placement& at) {
    if (at.kind != PlacementKind::At || at.loop.stage != state.stage) return false;
    return at.loop.iter == iter;
  };
  bool any = false;
  for (int s : order_) any = any || here(schedule_[s].store) || here(schedule_[s].compute);
  if (!any) return;
  if (state.in_lanes()) {
    throw ScheduleError(
        "AtVectorLoop", "a stage is computed or stored inside a vectorised loop", schedule_, state.stage, iter,
        "choose a loop outside '" + state.schedule->iters[static_cast<std::size_t>(state.vector_iter)].name + "'");
  }
  std::vector<std::vector<Range>> boxes = scope_boxes(state, depth);
  const auto clamp_needed = [&](int s) {
    std::vector<char> clamped;
    const std::vector<std::int64_t> full = domain(s);
    for (std::size_t i = 0; i < full.size(); ++i) {
      const Range& range = boxes[static_cast<std::size_t>(s)][i];
      const analysis::Interval r = program_.vars.range(range.base);
      const bool leaves = r.lo < 0 || r.hi + range.extent > full[i];
      clamped.push_back(leaves && !(schedule_[s].scope == schedule::Scope::Register && reads_stay_stored(s, i, boxes)));
    }
    return clamped;
  };
  for (int s : order_) {
    if (!here(schedule_[s].store)) continue;
    if (boxes[static_cast<std::size_t>(s)].empty()) {
      throw ScheduleError("UnreachableStage",
                          "nothing inside '" + schedule_.name({state.stage, iter}) + "' reads the stage", schedule_, s);
    }
    const StorageKind kind =
        schedule_[s].scope == schedule::Scope::Register ? StorageKind::Register : StorageKind::Local;
    std::vector<Range> box(boxes[static_cast<std::size_t>(s)].begin(),
                           boxes[static_cast<std::size_t>(s)].begin() + static_cast<std::ptrdiff_t>(domain(s).size()));
    const int storage = add_storage(s, kind, box);
    storage_[static_cast<std::size_t>(s)] = storage;
    out.push_back({Allocate{storage}});
  }
  for (int s : order_) {
    if (!here(schedule_[s].compute)) continue;
    if (boxes[static_cast<std::size_t>(s)].empty()) {
      throw ScheduleError("UnreachableStage",
                          "nothing inside '" + schedule_.name({state.stage, iter}) + "' reads the stage", schedule_, s);
    }
    if (storage_[static_cast<std::size_t>(s)] < 0) {
      throw ScheduleError("StoreInside", "the stage is computed outside the loop that it is stored at", schedule_, s,
                          -1, "store it at a loop outside the one it is computed at");
    }
    std::vector<Range> box(boxes[static_cast<std::size_t>(s)].begin(),
                           boxes[static_cast<std::size_t>(s)].begin() + static_cast<std::ptrdiff_t>(domain(s).size()));
    StageState inner = instantiate(s, box, clamp_needed(s));
    // Splits may compute past the box only where they round up; the storage has room for that.
    nest(inner, 0, out);
  }
}

bool Builder::reads_stay_stored(int s, std::size_t axis, const std::vector<std::vector<Range>>& boxes) {
  const StageForms& forms = program_.forms[static_cast<std::size_t>(s)];
  return std::all_of(forms.reads.begin(), forms.reads.end(), [&](const ReadForm& read) {
    const int storage = storage_[static_cast<std::size_t>(read.producer)];
    if (storage < 0) return false;
    const Storage& source = program_.storages[static_cast<std::size_t>(storage)];
    for (std::size_t i = 0; i < read.index.size(); ++i) {
      if (!read.index[i]) return false;
      if (!program_.vars.depends_on(*read.index[i], forms.axis_vars[axis])) continue;
      const Range range = box_of(*read.index[i], boxes[static_cast<std::size_t>(s)], forms.axis_vars, program_.vars);
      const analysis::Interval local = program_.vars.range(range.base - source.base[i]);
      if (local.lo < 0 || local.hi + range.extent > source.extents[i]) return false;
    }
    return true;
  });
}

int Builder::add_storage(int s, StorageKind kind, const std::vector<Range>& box) {
  const schedule::StageSchedule& stage = schedule_[s];
  Storage storage;
  storage.stage = s;
  storage.kind = kind;
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < box.size(); ++i) {
    storage.base.push_back(box[i].base);
    std::int64_t extent = box[i].extent;
    if (kind == StorageKind::Register || kind == StorageKind::Local || kind == StorageKind::Workspace)
      extent = computed_extent(stage, static_cast<int>(i), extent);
    storage.extents.push_back(extent);
  }
  if (stage.layout.empty()) {
    for (std::size_t i = 0; i < box.size(); ++i)
      storage.dims.push_back({static_cast<int>(i), 1, 0, storage.extents[i], 0});
  } else {
    if (kind == StorageKind::Register) {
      throw ScheduleError("RegisterLayout", "a stage in registers has no layout", schedule_, s);
    }
    for (const schedule::LayoutDim& dim : stage.layout) {
      const std::int64_t extent = storage.extents[static_cast<std::size_t>(dim.axis)];
      const std::int64_t blocks = analysis::ceil_div(extent, dim.divisor);
      storage.dims.push_back({dim.axis, dim.divisor, dim.modulus, dim.modulus == 0 ? blocks : dim.modulus, 0});
    }
    // Indices up to the end of the last block are owned.
    for (const schedule::LayoutDim& dim : stage.layout) {
      if (dim.modulus != 0) {
        std::int64_t& extent = storage.extents[static_cast<std::size_t>(dim.axis)];
        extent = analysis::round_up(extent, dim.divisor * dim.modulus);
      }
    }
  }
  std::int64_t stride = 1;
  for (std::size_t i = storage.dims.size(); i-- > 0;) {
    storage.dims[i].stride = stride;
    stride *= storage.dims[i].extent + (stage.layout.empty() ? 0 : stage.layout[i].pad);
  }
  storage.elements = stride;
  if (!stage.definition->strides.empty()) {
    // Memory of the caller, who has given it gaps: neither placeholders nor outputs have a layout.
    TEMPER_CHECK(stage.layout.empty(), "a stage has strides and a layout");
    for (std::size_t i = 0; i < storage.dims.size(); ++i) storage.dims[i].stride = stage.definition->strides[i];
    storage.elements = stage.definition->memory_elements();
  }
  for (std::size_t i = 0; i < stage.iters.size() && kind == StorageKind::Register; ++i) {
    if (!stage.iters[i].leaf || !stage.iters[i].reduce || stage.iters[i].annotation != schedule::Annotation::Vectorized)
      continue;
    storage.lane_partials = i < box.size() + stage.definition->reduce_axes.size() && i >= box.size()
                                ? static_cast<int>(stage.definition->reduce_axes[i - box.size()].extent().value())
                                : 0;
    for (const schedule::Split& split : stage.splits) {
      if (split.inner == static_cast<int>(i)) storage.lane_partials = static_cast<int>(split.factor);
    }
    storage.lane_partials = static_cast<int>(vector_width(storage.lane_partials));
  }
  program_.storages.push_back(std::move(storage));
  return static_cast<int>(program_.storages.size()) - 1;
}

void Builder::add_reads(const StageState& host, int iter, int reader, const std::vector<Range>& axes,
                        AheadReads& ahead) {
  const StageForms& forms = program_.forms[static_cast<std::size_t>(reader)];
  for (const ReadForm& read : forms.reads) {
    const schedule::StageSchedule& producer = schedule_[read.producer];
    const schedule::Placement& place = producer.compute;
    const bool inside = place.kind == schedule::PlacementKind::At && place.loop.stage == host.stage &&
                        (place.loop.iter == iter || !host[place.loop.iter].bound) &&
                        !producer.definition->is_reduction();
    if (read.producer != ahead.source && !inside) continue;
    std::vector<Range> part;
    for (const std::optional<Affine>& index : read.index) {
      if (index) part.push_back(box_of(*index, axes, forms.axis_vars, program_.vars));
    }
    if (part.size() < read.index.size()) {
      ahead.opaque = ahead.opaque || read.producer == ahead.source ||
                     schedule::reads_inside(schedule_, read.producer, ahead.source);
    } else if (read.producer == ahead.source) {
      ahead.found = true;
      unite(ahead.box, part, domain(ahead.source));
    } else {
      add_reads(host, iter, read.producer, part, ahead);
    }
  }
}

std::optional<IterValue> Builder::value_outside(schedule::Loop loop) const {
  for (auto state = outside_.rbegin(); state != outside_.rend(); ++state) {
    const StageState& host = **state;
    if (host.stage == loop.stage && host[loop.iter].bound) return host[loop.iter].value;
  }
  return std::nullopt;
}

void Builder::prefetch(const StageState& state, int iter, std::vector<Node>& out) {
  for (const schedule::Prefetch& p : state.schedule->prefetches) {
    if (p.iter != iter) continue;
    const auto refuse = [&](const char* rule, const std::string& what) {
      throw ScheduleError(rule, "'" + schedule_[p.source].definition->name + "' " + what, schedule_, state.stage, iter);
    };
    if (state.in_lanes()) refuse("AtVectorLoop", "is prefetched inside a vectorised loop");
    const int storage = storage_[static_cast<std::size_t>(p.source)];
    if (storage < 0) refuse("UnreachableStage", "is not stored outside of the loop that prefetches it");
    if (program_.storages[static_cast<std::size_t>(storage)].kind == StorageKind::Register)
      refuse("RegisterStage", "lives in registers, which need no prefetch");
    AheadReads ahead{p.source, {}};
    add_reads(state, iter, state.stage, state.axis_ranges(), ahead);
    if (ahead.opaque) refuse("OpaqueIndex", "is read at indices that are not known ahead");
    if (!ahead.found) refuse("NotAConsumer", "is not read any more");
    Prefetch node{.storage = storage, .base = {}, .extent = {}, .first = {}, .lines = p.lines};
    IterValue value = state[iter].value;
    if (p.lines > 0) {
      const auto outside = [&](schedule::Loop loop) {
        const std::optional<IterValue> found = value_outside(loop);
        if (!found) refuse("NotOutside", "is dealt out by a loop that is not outside: " + schedule_.name(loop));
        return *found;
      };
      value = outside(p.ahead);
      for (const schedule::Turn& turn : p.turns) node.first.add_scaled(outside(turn.loop).form(), turn.lines);
    }
    if (value.is_constant()) continue;  // one iteration: there is none later in this segment
    const Var var = value.var;
    const Affine later = value.form() + Affine(p.distance);
    bool moves = false;
    for (Range& range : ahead.box) {
      node.base.push_back(program_.vars.substitute(range.base, [&](Var v) { return v == var ? &later : nullptr; }));
      moves = moves || !(node.base.back() == range.base);
      node.extent.push_back(range.extent);
    }
    if (moves) out.push_back({std::move(node)});
  }
}

}  // namespace temper::nest
