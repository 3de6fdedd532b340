#include "temper/nest/build.h"

#include <algorithm>

#include "temper/nest/builder.h"

namespace temper::nest {

using schedule::Annotation;
using schedule::PlacementKind;
using schedule::ScheduleError;

Builder::Builder(const schedule::Schedule& schedule, const BuildOptions& options)
    : schedule_(schedule),
      options_(options),
      order_(schedule::topological_order(schedule)),
      storage_(schedule.stages().size(), -1) {
  for (const schedule::StageSchedule& stage : schedule.stages()) {
    program_.stages.push_back(stage.definition);
    program_.inlined.push_back(stage.compute.kind == PlacementKind::Inline);
  }
  program_.forms = stage_forms(schedule, program_.vars);
}

std::vector<std::int64_t> Builder::domain(int stage) const {
  std::vector<std::int64_t> out;
  for (const ir::Axis& axis : schedule_[stage].definition->axes) out.push_back(axis.extent().value());
  return out;
}

Program Builder::run() && {
  for (std::size_t i = 0; i < schedule_.stages().size(); ++i) {
    if (schedule_.stages()[i].is_placeholder()) program_.placeholders.push_back(static_cast<int>(i));
  }
  for (const std::string& output : schedule_.outputs()) program_.outputs.push_back(schedule_.stage(output));
  for (int s : order_) {
    const schedule::StageSchedule& stage = schedule_[s];
    if (!stage.is_placeholder() && stage.compute.kind != PlacementKind::Root) continue;
    if (stage.scope == schedule::Scope::Register) {
      throw ScheduleError("RegisterAtRoot", "a stage at root cannot live in registers", schedule_, s, -1,
                          "compute_at a loop of its consumer");
    }
    const StorageKind kind = stage.is_placeholder()
                                 ? (stage.definition->constant ? StorageKind::Constant : StorageKind::Input)
                             : schedule_.is_output(s) ? StorageKind::Output
                             : stage.prepared         ? StorageKind::Blob
                                                      : StorageKind::Workspace;
    std::vector<Range> box;
    for (std::int64_t extent : domain(s)) box.push_back({Affine(0), extent});
    storage_[static_cast<std::size_t>(s)] = add_storage(s, kind, box);
  }
  for (int s : order_) {
    if (!schedule_[s].is_placeholder() && schedule_[s].compute.kind == PlacementKind::Root) root_stage(s);
  }
  return std::move(program_);
}

void Builder::root_stage(int s) {
  std::vector<Range> box;
  for (std::int64_t extent : domain(s)) box.push_back({Affine(0), extent});
  StageState state = instantiate(s, box, std::vector<char>(box.size(), 0));
  Phase phase;
  phase.prepare = schedule_[s].prepared;
  phase.stage = s;
  nest(state, 0, phase.body);
  program_.phases.push_back(std::move(phase));
}

StageState Builder::instantiate(int s, const std::vector<Range>& box, const std::vector<char>& clamped) const {
  StageState state;
  state.stage = s;
  state.schedule = &schedule_[s];
  const schedule::StageSchedule& stage = *state.schedule;
  state.iters.resize(stage.iters.size());
  state.splits.resize(stage.splits.size());
  state.discharged.assign(program_.forms[static_cast<std::size_t>(s)].conditions.size(), 0);
  std::vector<BoxAxis> axes;
  for (std::size_t i = 0; i < box.size(); ++i) {
    axes.push_back({box[i].base, clamped[i] != 0});
    state.iters[i].extent = box[i].extent;
  }
  state.box = std::make_shared<const std::vector<BoxAxis>>(std::move(axes));
  for (std::size_t i = 0; i < stage.definition->reduce_axes.size(); ++i) {
    state.iters[box.size() + i].extent = stage.definition->reduce_axes[i].extent().value();
  }
  for (std::size_t i = 0; i < stage.iters.size(); ++i) {
    if (stage.iters[i].leaf && stage.iters[i].annotation == Annotation::Vectorized)
      state.vector_iter = static_cast<int>(i);
  }
  state.first_reduce = stage.order.size();
  for (std::size_t i = 0; i < stage.order.size(); ++i) {
    if (stage.iters[static_cast<std::size_t>(stage.order[i])].reduce) {
      state.first_reduce = i;
      break;
    }
  }
  state.resolve(schedule_);
  return state;
}

void Builder::nest(StageState& state, std::size_t depth, std::vector<Node>& out) {
  const schedule::StageSchedule& stage = *state.schedule;
  if (!stage.definition->is_reduction()) {
    if (depth == stage.order.size()) return statement(state, Statement::Kind::Define, out);
    return loop(state, depth, out);
  }
  const bool lane_partials = state.vector_iter >= 0 && stage.iters[static_cast<std::size_t>(state.vector_iter)].reduce;
  if (lane_partials && stage.scope != schedule::Scope::Register) {
    throw ScheduleError("MemoryPartials", "a vectorised reduce loop needs its stage in registers", schedule_,
                        state.stage, state.vector_iter, "cache_write the stage and set_scope it to register");
  }
  if (lane_partials && std::any_of(stage.splits.begin(), stage.splits.end(),
                                   [&](const schedule::Split& s) { return s.outer == state.vector_iter; })) {
    throw ScheduleError("VectorLanes", "the width of the lane partials is not constant", schedule_, state.stage,
                        state.vector_iter, "vectorise the innermost loop of the split");
  }
  const std::size_t first = std::min(state.first_reduce, stage.order.size());
  if (depth == first) {
    spatial_nest(state, depth, Statement::Kind::Init, out);
    if (depth == stage.order.size()) {
      statement(state, Statement::Kind::Update, out);
    } else {
      loop(state, depth, out);
    }
    if (lane_partials) spatial_nest(state, depth, Statement::Kind::Finish, out);
    return;
  }
  if (depth == stage.order.size()) return statement(state, Statement::Kind::Update, out);
  loop(state, depth, out);
}

void Builder::loop(StageState& state, std::size_t depth, std::vector<Node>& out) {
  const schedule::StageSchedule& stage = *state.schedule;
  const int iter = stage.order[depth];
  const schedule::Iter& it = stage.iters[static_cast<std::size_t>(iter)];
  const schedule::Fuse* fuse = stage.fuse_of(iter);
  if (it.annotation == Annotation::Parallel && (stage.compute.kind != PlacementKind::Root || depth != 0)) {
    throw ScheduleError("ParallelInside", "only the outermost loop of a stage at root can be parallel", schedule_,
                        state.stage, iter);
  }
  if (fuse == nullptr && it.annotation != Annotation::Parallel) return serial_loop(state, depth, iter, out);

  const std::vector<int> iters = fuse != nullptr ? fuse->parts : std::vector<int>{iter};
  FusedLoop fused;
  fused.kind = it.annotation;
  fused.reduce = it.reduce;
  for (int part : iters) {
    const std::int64_t extent = state[part].extent;
    if (extent < 0) {
      throw ScheduleError("RaggedFuse",
                          "the number of iterations of '" + stage.iters[static_cast<std::size_t>(part)].name +
                              "' varies, so it cannot be fused",
                          schedule_, state.stage, iter);
    }
    const Var var = program_.vars.add(stage.definition->name + "." + stage.iters[static_cast<std::size_t>(part)].name,
                                      {0, extent - 1});
    fused.components.push_back({var, extent});
  }
  component(state, depth, fused.components, iters, 0, fused.body);
  if (!fused.body.empty()) out.push_back({std::move(fused)});
}

namespace {

/// [begin, end) of a loop in which split sizes and border conditions are constant.
struct LoopSegment {
  std::int64_t begin, end;
  const SplitSegment* split;
};

}  // namespace

void Builder::component(StageState& state, std::size_t depth, const std::vector<FusedLoop::Component>& components,
                        const std::vector<int>& iters, std::size_t index, std::vector<Node>& out) {
  if (index == components.size()) return inside(state, depth, state.schedule->order[depth], out);
  const int iter = iters[index];
  const int split = state.pending_split(iter);
  std::vector<SplitSegment> splits;
  if (split >= 0) {
    const schedule::Split& s = state.schedule->splits[static_cast<std::size_t>(split)];
    if (s.tail == schedule::Tail::ShiftInwards &&
        state.schedule->iters[static_cast<std::size_t>(state.schedule->order[depth])].annotation ==
            Annotation::Parallel) {
      throw ScheduleError("ShiftInwardsParallel", "two threads would write the same elements", schedule_, state.stage,
                          iter, "use another tail");
    }
    splits = split_segments(state[s.parent].extent, s.factor, s.tail, s.inner == state.vector_iter);
  } else {
    splits = {{0, components[index].extent, 0, 0, 0, 0}};
  }
  Branch branch;
  branch.var = components[index].var;
  for (const SplitSegment& piece : splits) {
    std::vector<std::int64_t> cuts = border_cuts(state, iter, piece.begin, piece.end);
    for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
      const Var refined = program_.vars.add(program_.vars[branch.var].name, {cuts[c], cuts[c + 1] - 1});
      StageState inner = state;
      if (split >= 0) inner.apply(split, piece);
      inner.bind(iter, cuts[c + 1] - cuts[c] == 1 ? IterValue{-1, cuts[c]} : IterValue{refined});
      inner.resolve(schedule_);
      Branch::Segment segment{cuts[c], cuts[c + 1], refined, {}};
      component(inner, depth, components, iters, index + 1, segment.body);
      branch.segments.push_back(std::move(segment));
    }
  }
  out.push_back({std::move(branch)});
}

namespace {

/// What the loop's variable stands for: a number where there is one iteration, whatever the bounds.
IterValue value_of(const Loop& loop) {
  const bool single = loop.end - loop.begin == 1 && loop.lanes <= 1 && loop.lower.empty() && loop.upper.empty();
  return single ? IterValue{-1, loop.begin} : IterValue{loop.var};
}

}  // namespace

void Builder::serial_loop(StageState& state, std::size_t depth, int iter, std::vector<Node>& out) {
  const schedule::StageSchedule& stage = *state.schedule;
  const schedule::Iter& it = stage.iters[static_cast<std::size_t>(iter)];
  const int split = state.pending_split(iter);
  std::vector<SplitSegment> splits;
  if (split >= 0) {
    const schedule::Split& s = stage.splits[static_cast<std::size_t>(split)];
    splits = split_segments(state[s.parent].extent, s.factor, s.tail, s.inner == state.vector_iter);
  } else {
    TEMPER_CHECK(state[iter].extent >= 0, "a loop is built before its size is known: " + it.name);
    splits = {{0, state[iter].extent, 0, 0, 0, 0}};
  }
  const bool cut = !it.reduce && it.annotation == Annotation::Serial;
  for (const SplitSegment& piece : splits) {
    std::vector<std::int64_t> cuts{piece.begin, piece.end};
    if (cut) cuts = border_cuts(state, iter, piece.begin, piece.end);
    for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
      Loop node;
      node.kind = it.annotation;
      node.begin = cuts[c];
      node.end = cuts[c + 1];
      node.reduce = it.reduce;
      node.var = program_.vars.add(stage.definition->name + "." + it.name, {node.begin, node.end - 1});
      if (it.annotation == Annotation::Vectorized) set_lanes(state, iter, node);
      StageState inner = state;
      if (split >= 0) inner.apply(split, piece);
      inner.bind(iter, {node.var});
      inner.resolve(schedule_);
      if (it.reduce && it.annotation == Annotation::Serial && !bound_reduce_loop(inner, iter, node)) continue;
      inner.bind(iter, value_of(node));
      inside(inner, depth, iter, node.body);
      if (!node.body.empty()) out.push_back({std::move(node)});
    }
  }
}

void Builder::set_lanes(const StageState& state, int iter, Loop& loop) {
  const std::int64_t lanes = state[iter].lanes;
  loop.lanes = static_cast<int>(vector_width(lanes > 0 ? lanes : loop.end));
  if (loop.begin > 0) {
    throw ScheduleError("VectorLanes", "the iterations of a vectorised loop are not all alike", schedule_, state.stage,
                        iter, "vectorise the innermost loop of the split");
  }
  if (loop.lanes > 64) {
    throw ScheduleError("VectorLanes",
                        "a vector of " + std::to_string(loop.lanes) + " lanes is too wide; the limit is 64", schedule_,
                        state.stage, iter, "split the loop first");
  }
}

void Builder::inside(StageState& state, std::size_t depth, int iter, std::vector<Node>& out) {
  const std::vector<int> before = storage_;
  prefetch(state, iter, out);
  outside_.push_back(&state);
  attached(state, depth, iter, out);
  nest(state, depth + 1, out);
  outside_.pop_back();
  storage_ = before;
}

bool Builder::bound_reduce_loop(StageState& state, int iter, Loop& node) {
  const StageForms& forms = program_.forms[static_cast<std::size_t>(state.stage)];
  if (static_cast<std::size_t>(iter) >= state.axis_count() + state.schedule->definition->reduce_axes.size())
    return true;
  const std::vector<Range> ranges = state.axis_ranges();
  const Var lanes = state.in_lanes() ? state[state.vector_iter].value.var : -1;
  for (std::size_t c = 0; c < forms.conditions.size(); ++c) {
    const Condition& condition = forms.conditions[c];
    if (condition.equality || state.discharged[c]) continue;
    if (!program_.vars.depends_on(condition.form, forms.axis_vars[static_cast<std::size_t>(iter)])) continue;
    const Range box = box_of(condition.form, ranges, forms.axis_vars, program_.vars);
    const std::int64_t a = box.base.coefficient(node.var);
    if (box.extent != 1 || a == 0) continue;
    const Affine rest = box.base - Affine::of(node.var, a);
    if (program_.vars.depends_on(rest, node.var)) continue;
    // A bound is one for all lanes; a condition that differs between them stays a mask.
    if (lanes >= 0 && program_.vars.depends_on(rest, lanes)) continue;
    state.discharged[c] = 1;
    if (a > 0) {
      Bound bound{rest * -1, a};
      const analysis::Interval r = program_.vars.range(bound.numerator);
      node.begin = std::max(node.begin, analysis::ceil_div(r.lo, a));
      if (analysis::ceil_div(r.hi, a) > node.begin) node.lower.push_back(std::move(bound));
    } else {
      Bound bound{rest, -a};
      const analysis::Interval r = program_.vars.range(bound.numerator);
      node.end = std::min(node.end, analysis::floor_div(r.hi, -a) + 1);
      if (analysis::floor_div(r.lo, -a) + 1 < node.end) node.upper.push_back(std::move(bound));
    }
  }
  if (node.begin >= node.end) return false;
  // The loop variable's range follows the constant part of its bounds.
  const Var narrowed = program_.vars.add(program_.vars[node.var].name, {node.begin, node.end - 1});
  node.var = narrowed;
  return true;
}

void Builder::spatial_nest(StageState& state, std::size_t depth, Statement::Kind kind, std::vector<Node>& out) {
  const schedule::StageSchedule& stage = *state.schedule;
  if (depth == stage.order.size()) return statement(state, kind, out);
  const int iter = stage.order[depth];
  const schedule::Iter& it = stage.iters[static_cast<std::size_t>(iter)];
  if (it.reduce) return spatial_nest(state, depth + 1, kind, out);
  if (stage.fuse_of(iter) != nullptr) {
    throw ScheduleError("FusedInsideReduce", "a fused loop stands inside a reduce loop", schedule_, state.stage, iter,
                        "reorder it outwards, or leave its loops apart");
  }
  const int split = state.pending_split(iter);
  std::vector<SplitSegment> splits{{0, state[iter].extent, 0, 0, 0, 0}};
  if (split >= 0) {
    const schedule::Split& s = stage.splits[static_cast<std::size_t>(split)];
    splits = split_segments(state[s.parent].extent, s.factor, s.tail, s.inner == state.vector_iter);
  }
  for (const SplitSegment& piece : splits) {
    Loop node;
    node.kind = it.annotation;
    node.begin = piece.begin;
    node.end = piece.end;
    node.var = program_.vars.add(stage.definition->name + "." + it.name, {node.begin, node.end - 1});
    if (it.annotation == Annotation::Vectorized) set_lanes(state, iter, node);
    StageState inner = state;
    if (split >= 0) inner.apply(split, piece);
    inner.bind(iter, value_of(node));
    inner.resolve(schedule_);
    spatial_nest(inner, depth + 1, kind, node.body);
    if (!node.body.empty()) out.push_back({std::move(node)});
  }
}

void Builder::statement(StageState& state, Statement::Kind kind, std::vector<Node>& out) {
  const StageForms& forms = program_.forms[static_cast<std::size_t>(state.stage)];
  Statement s;
  s.kind = kind;
  s.stage = state.stage;
  s.storage = storage_[static_cast<std::size_t>(state.stage)];
  TEMPER_CHECK(s.storage >= 0, "a stage has no storage where it is computed: " + state.schedule->definition->name);
  std::vector<Range> ranges;
  const std::size_t axes = state.axis_count();
  if (kind == Statement::Kind::Init || kind == Statement::Kind::Finish) {
    for (std::size_t i = 0; i < axes; ++i) {
      ranges.push_back(state.range(static_cast<int>(i)));
      ranges.back().base += (*state.box)[i].base;
    }
  } else {
    ranges = state.axis_ranges();
  }
  for (std::size_t i = 0; i < axes; ++i) {
    if (!(*state.box)[i].clamped) continue;
    const std::int64_t extent = state.schedule->definition->axes[i].extent().value();
    for (Condition condition :
         {Condition{ranges[i].base, false}, Condition{Affine(extent - 1) - ranges[i].base, false}}) {
      const std::optional<bool> truth = analysis::decide(condition, program_.vars);
      if (truth == false) return;
      if (!truth) s.conditions.push_back(std::move(condition));
    }
  }
  // Reduce loops that round up run past the last term.
  for (std::size_t i = axes; i < ranges.size(); ++i) {
    const std::int64_t extent = state.schedule->definition->reduce_axes[i - axes].extent().value();
    Condition condition{Affine(extent - 1) - ranges[i].base, false};
    const std::optional<bool> truth = analysis::decide(condition, program_.vars);
    if (truth == false) return;
    if (!truth) s.conditions.push_back(std::move(condition));
  }
  if (kind == Statement::Kind::Update || kind == Statement::Kind::Define) {
    for (std::size_t c = 0; c < forms.conditions.size(); ++c) {
      if (state.discharged[c]) continue;
      Condition condition{box_of(forms.conditions[c].form, ranges, forms.axis_vars, program_.vars).base,
                          forms.conditions[c].equality};
      const std::optional<bool> truth = analysis::decide(condition, program_.vars);
      if (truth == false) return;
      if (!truth) s.conditions.push_back(std::move(condition));
    }
    s.opaque = forms.opaque;
    if (++program_.bodies > options_.max_bodies) {
      throw ScheduleError("TooManyBodies",
                          "partition gives more than " + std::to_string(options_.max_bodies) + " bodies", schedule_,
                          state.stage, -1, "choose factors that divide, or another tail");
    }
  }
  const bool initial = kind == Statement::Kind::Init || kind == Statement::Kind::Finish;
  for (int producer : initial ? forms.init_producers : forms.producers) {
    const int storage = storage_[static_cast<std::size_t>(producer)];
    if (storage < 0) {
      throw ScheduleError("UnreachableStage",
                          "'" + schedule_[producer].definition->name + "' is not computed before '" +
                              state.schedule->definition->name + "' reads it",
                          schedule_, producer, -1, "compute it at a loop that encloses every reader, or use store_at");
    }
    s.reads.emplace_back(producer, storage);
  }
  for (Range& range : ranges) s.axes.push_back(std::move(range.base));
  out.push_back({std::move(s)});
}

Program build(const schedule::Schedule& schedule, const BuildOptions& options) {
  return Builder(schedule, options).run();
}

}  // namespace temper::nest
