// Primitives that add or rewrite definitions: cache_read, cache_write, rfactor, fuse_axes.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "temper/schedule/schedule.h"

namespace temper::schedule {

namespace {

using StageMap = std::map<const ir::Stage*, ir::StagePtr>;
using AxisMap = std::map<const ir::AxisNode*, ir::Expr>;

/// Reads of `stage` have one index, first * extent + second, for the two at `place` and `place + 1`.
struct MergedIndex {
  const ir::Stage* stage;
  std::ptrdiff_t place;
  std::int64_t extent;
};

/// Rebuilds expressions with other stages, axes and indices; shares what does not change, and what was shared.
class Rewriter {
 public:
  Rewriter(const StageMap& stages, const AxisMap& axes, const MergedIndex* merged = nullptr)
      : stages_(stages), axes_(axes), merged_(merged) {}

  ir::Expr operator()(const ir::Expr& expr) {
    if (expr->kind == ir::ExprKind::Var) {
      const auto found = axes_.find(expr->axis.get());
      return found == axes_.end() ? expr : found->second;
    }
    if (expr->args.empty() && expr->kind != ir::ExprKind::Load) return expr;
    const auto known = done_.find(expr.get());
    if (known != done_.end()) return known->second;
    ir::Expr out = rebuilt(expr);
    done_.emplace(expr.get(), out);
    return out;
  }

 private:
  ir::Expr rebuilt(const ir::Expr& expr) {
    std::vector<ir::Expr> args;  // empty while nothing changes
    for (std::size_t i = 0; i < expr->args.size(); ++i) {
      ir::Expr arg = (*this)(expr->args[i]);
      if (args.empty() && arg.get() != expr->args[i].get()) args = expr->args;
      if (!args.empty()) args[i] = std::move(arg);
    }
    const bool changed = !args.empty();
    const auto found = expr->kind == ir::ExprKind::Load ? stages_.find(expr->stage.get()) : stages_.end();
    if (!changed && found == stages_.end()) return expr;
    auto node = std::make_shared<ir::ExprNode>(*expr);
    if (changed) node->args = std::move(args);
    if (found != stages_.end()) node->stage = found->second;
    if (found != stages_.end() && merged_ != nullptr && found->first == merged_->stage) {
      const auto first = node->args.begin() + merged_->place;
      *first = *first * ir::Expr(merged_->extent) + *(first + 1);
      node->args.erase(first + 1);
    }
    return ir::Expr(std::move(node));
  }

  const StageMap& stages_;
  const AxisMap& axes_;
  const MergedIndex* merged_;
  std::unordered_map<const ir::ExprNode*, ir::Expr> done_;
};

bool rewrite_all(std::vector<ir::Expr>& list, const StageMap& stages, const AxisMap& axes,
                 const MergedIndex* merged = nullptr) {
  Rewriter rewrite(stages, axes, merged);
  std::vector<ir::Expr> out;  // the old expressions live while the rewriter knows them by address
  bool changed = false;
  for (const ir::Expr& expr : list) {
    out.push_back(rewrite(expr));
    changed = changed || out.back().get() != expr.get();
  }
  list = std::move(out);
  return changed;
}

/// Copy of `definition` that reads other stages; null when nothing changes.
ir::StagePtr redirected(const ir::StagePtr& definition, const StageMap& stages, const MergedIndex* merged = nullptr) {
  auto copy = std::make_shared<ir::Stage>(*definition);
  bool changed = rewrite_all(copy->body, stages, {}, merged);
  changed = rewrite_all(copy->init, stages, {}, merged) || changed;
  changed = rewrite_all(copy->where, stages, {}, merged) || changed;
  return changed ? ir::StagePtr(std::move(copy)) : nullptr;
}

std::vector<ir::Axis> fresh_axes(const std::vector<ir::Axis>& axes) {
  std::vector<ir::Axis> out;
  for (const ir::Axis& axis : axes) out.emplace_back(axis.name(), axis.extent());
  return out;
}

std::vector<ir::Expr> loads(const ir::StagePtr& source, const std::vector<ir::Axis>& axes) {
  std::vector<ir::Expr> index(axes.begin(), axes.end());
  std::vector<ir::Expr> out;
  for (std::size_t c = 0; c < source->dtypes.size(); ++c)
    out.push_back(ir::Tensor(source, static_cast<int>(c)).at(index));
  return out;
}

/// Nothing but its definition says how the stage is computed, and no other stage is computed inside its loops or asks
/// for what they read later.
bool untouched(const Schedule& schedule, int index) {
  const StageSchedule& stage = schedule[index];
  const auto is_inside = [&](const StageSchedule& other) {
    const auto here = [&](const Placement& place) {
      return place.kind == PlacementKind::At && place.loop.stage == index;
    };
    const auto awaits = [&](const Prefetch& prefetch) { return prefetch.ahead.stage == index; };
    return here(other.compute) || here(other.store) || std::ranges::any_of(other.prefetches, awaits);
  };
  if (std::any_of(schedule.stages().begin(), schedule.stages().end(), is_inside)) return false;
  return stage.splits.empty() && stage.fuses.empty() && stage.prefetches.empty() &&
         stage.compute.kind == PlacementKind::Root && !stage.prepared &&
         std::all_of(stage.iters.begin(), stage.iters.end(),
                     [](const Iter& iter) { return iter.annotation == Annotation::Serial; });
}

}  // namespace

int Schedule::add_stage(ir::StagePtr definition) {
  for (const StageSchedule& stage : stages_) {
    if (stage.definition->name == definition->name) {
      throw ScheduleError("DuplicateStage", "there is already a stage '" + definition->name + "'", *this, -1);
    }
  }
  StageSchedule stage;
  for (const ir::Axis& axis : definition->axes) stage.iters.push_back({axis.name(), false, true, Annotation::Serial});
  for (const ir::Axis& axis : definition->reduce_axes)
    stage.iters.push_back({axis.name(), true, true, Annotation::Serial});
  for (std::size_t i = 0; i < stage.iters.size(); ++i) stage.order.push_back(static_cast<int>(i));
  stage.definition = std::move(definition);
  stages_.push_back(std::move(stage));
  return static_cast<int>(stages_.size()) - 1;
}

void Schedule::redefine(int stage, ir::StagePtr definition) { redefine(stage, std::move(definition), -1, 1); }

void Schedule::redefine(int stage, ir::StagePtr definition, std::ptrdiff_t place, std::int64_t extent) {
  const std::vector<int> order = topological_order(*this);
  // Replaced definitions stay alive until the end, so that no new one takes the address of an old one.
  std::vector<ir::StagePtr> replaced{(*this)[stage].definition};
  StageMap changed{{replaced.front().get(), definition}};
  const MergedIndex merged{replaced.front().get(), place, extent};
  edit(stage).definition = std::move(definition);
  // Readers of a redefined stage are redefined in turn, in topological order: definitions are immutable.
  for (const int i : order) {
    StageSchedule& reader = edit(i);
    if (ir::StagePtr now = redirected(reader.definition, changed, place < 0 ? nullptr : &merged)) {
      changed[reader.definition.get()] = now;
      replaced.push_back(reader.definition);
      reader.definition = std::move(now);
    }
  }
}

std::string Schedule::cache_read(std::string_view source_name, std::string_view consumer_name) {
  const int source = stage(source_name);
  const int consumer = require_stage(consumer_name, true);
  const std::vector<int> reads = reads_of(*this, consumer);
  if (std::find(reads.begin(), reads.end(), source) == reads.end()) {
    throw ScheduleError("NotAConsumer",
                        "'" + std::string(consumer_name) + "' does not read '" + std::string(source_name) + "'", *this,
                        consumer);
  }
  const ir::StagePtr original = (*this)[source].definition;
  auto copy = std::make_shared<ir::Stage>();
  copy->name = original->name + "_cache";
  copy->axes = fresh_axes(original->axes);
  copy->dtypes = original->dtypes;
  copy->body = loads(original, copy->axes);
  const std::string new_name = copy->name;
  const ir::StagePtr cache = copy;
  add_stage(cache);
  record("cache_read", {std::string(source_name), std::string(consumer_name)});
  redefine(consumer, redirected((*this)[consumer].definition, {{original.get(), cache}}));
  return new_name;
}

std::string Schedule::cache_write(std::string_view stage_name) {
  const int s = require_stage(stage_name, true);
  if (!untouched(*this, s)) {
    throw ScheduleError("AlreadyScheduled", "cache_write needs untouched loops", *this, s, -1,
                        "call it before the stage's other primitives");
  }
  const ir::StagePtr original = (*this)[s].definition;
  auto local = std::make_shared<ir::Stage>(*original);
  local->name = original->name + "_local";
  local->strides.clear();
  const std::string new_name = local->name;
  const ir::StagePtr local_stage = local;
  add_stage(local_stage);
  record("cache_write", {std::string(stage_name)});

  auto copy = std::make_shared<ir::Stage>();
  copy->name = original->name;
  copy->strides = original->strides;
  copy->axes = fresh_axes(original->axes);
  copy->dtypes = original->dtypes;
  copy->body = loads(local_stage, copy->axes);
  redefine(s, copy);
  StageSchedule& stage = edit(s);
  stage.iters.clear();
  stage.order.clear();
  for (const ir::Axis& axis : copy->axes) {
    stage.order.push_back(static_cast<int>(stage.iters.size()));
    stage.iters.push_back({axis.name(), false, true, Annotation::Serial});
  }
  return new_name;
}

std::string Schedule::rfactor(std::string_view stage_name, std::string_view axis_name, std::int64_t factor) {
  const int s = require_stage(stage_name, true);
  const ir::StagePtr original = (*this)[s].definition;
  if (!original->is_reduction()) throw ScheduleError("NotAReduceAxis", "the stage is no reduction", *this, s);
  const auto axis = std::find_if(original->reduce_axes.begin(), original->reduce_axes.end(),
                                 [&](const ir::Axis& a) { return a.name() == axis_name; });
  if (axis == original->reduce_axes.end()) {
    throw ScheduleError("NotAReduceAxis", "'" + std::string(axis_name) + "' is no reduce axis", *this, s);
  }
  if (!original->reducer->associative) {
    throw ScheduleError("NotAssociative", "reducer '" + original->reducer->name + "' is not associative", *this, s);
  }
  if (original->reduce_axes.size() > 1 && !original->reducer->commutative) {
    throw ScheduleError(
        "NotCommutative",
        "blocks of one of several reduce axes reorder the terms; '" + original->reducer->name + "' is not commutative",
        *this, s);
  }
  if (factor < 1)
    throw ScheduleError("EmptyFactor", "a factor must be at least 1, not " + std::to_string(factor), *this, s);
  if (!untouched(*this, s)) throw ScheduleError("AlreadyScheduled", "rfactor needs untouched loops", *this, s);

  const std::int64_t extent = axis->extent().value();
  const std::int64_t blocks = (extent + factor - 1) / factor;
  auto partial = std::make_shared<ir::Stage>();
  partial->name = original->name + "_rf";
  partial->dtypes = original->dtypes;
  partial->reducer = original->reducer;
  const ir::Axis block(std::string(axis_name) + "_block", blocks);
  partial->axes = fresh_axes(original->axes);
  AxisMap axes;
  for (std::size_t i = 0; i < original->axes.size(); ++i) axes[original->axes[i].get()] = partial->axes[i];
  partial->axes.insert(partial->axes.begin(), block);
  for (const ir::Axis& r : original->reduce_axes) {
    const bool cut = r == *axis;
    partial->reduce_axes.emplace_back(r.name(), cut ? ir::Extent(std::min(factor, extent)) : r.extent(), true);
    axes[r.get()] = cut ? ir::Expr(block) * ir::Expr(factor) + ir::Expr(partial->reduce_axes.back())
                        : ir::Expr(partial->reduce_axes.back());
  }
  partial->body = original->body;
  partial->where = original->where;
  rewrite_all(partial->body, {}, axes);
  rewrite_all(partial->where, {}, axes);
  if (extent % factor != 0) partial->where.push_back(axes[axis->get()] < ir::Expr(extent));
  const std::string new_name = partial->name;
  const ir::StagePtr partial_stage = partial;
  add_stage(partial_stage);
  record("rfactor", {std::string(stage_name), std::string(axis_name), std::to_string(factor)});

  auto total = std::make_shared<ir::Stage>(*original);
  const ir::Axis over(std::string(axis_name) + "_block", blocks, true);
  total->reduce_axes = {over};
  total->where.clear();
  std::vector<ir::Expr> index{over};
  index.insert(index.end(), original->axes.begin(), original->axes.end());
  total->body.clear();
  for (std::size_t c = 0; c < original->dtypes.size(); ++c)
    total->body.push_back(ir::Tensor(partial_stage, static_cast<int>(c)).at(index));
  redefine(s, total);
  StageSchedule& stage = edit(s);
  stage.iters.resize(original->axes.size());
  stage.iters.push_back({over.name(), true, true, Annotation::Serial});
  stage.order.clear();
  for (std::size_t i = 0; i < stage.iters.size(); ++i) stage.order.push_back(static_cast<int>(i));
  return new_name;
}

Loop Schedule::fuse_axes(std::string_view stage_name, std::string_view outer, std::string_view inner) {
  const int s = require_stage(stage_name, true);
  const ir::StagePtr original = (*this)[s].definition;
  const auto find = [&](std::string_view name) {
    const int at = (*this)[s].find(name);
    const auto axes = original->axes.size() + original->reduce_axes.size();
    if (at < 0 || static_cast<std::size_t>(at) >= axes)
      throw ScheduleError("UnknownAxis", "'" + std::string(name) + "' is no axis", *this, s);
    return static_cast<std::size_t>(at);
  };
  const std::size_t first = find(outer), second = find(inner), rank = original->axes.size();
  if ((first < rank) != (second < rank))
    throw ScheduleError("MixedReduce", "a reduce axis cannot be fused with a spatial one", *this, s);
  if (second != first + 1) {
    throw ScheduleError("NotAdjacent", "'" + std::string(inner) + "' does not follow '" + std::string(outer) + "'",
                        *this, s, -1, "axes are fused in the order of the definition");
  }
  if (!untouched(*this, s) || !(*this)[s].layout.empty()) {
    throw ScheduleError("AlreadyScheduled", "fuse_axes needs untouched loops and no layout", *this, s, -1,
                        "call it before the stage's other primitives");
  }
  const bool has_strides = first < rank && !original->strides.empty();
  if (has_strides && original->strides[first] != original->strides[second] * original->axes[second].extent().value()) {
    throw ScheduleError("Gaps", "steps along '" + std::string(outer) + "' pass over memory that is not the stage's",
                        *this, s);
  }
  const std::string name = std::string(outer) + "_" + std::string(inner);
  if ((*this)[s].find(name) >= 0)
    throw ScheduleError("DuplicateAxis", "there is already an axis '" + name + "'", *this, s);
  record("fuse_axes", {std::string(stage_name), std::string(outer), std::string(inner)});

  auto fused = std::make_shared<ir::Stage>(*original);
  const bool spatial = first < rank;
  std::vector<ir::Axis>& axes = spatial ? fused->axes : fused->reduce_axes;
  const auto at = axes.begin() + static_cast<std::ptrdiff_t>(spatial ? first : first - rank);
  const std::int64_t extent = (at + 1)->extent().value();
  const ir::Axis axis(name, at->extent().value() * extent, !spatial);
  const AxisMap apart{{at->get(), ir::floor_div(axis, ir::Expr(extent))},
                      {(at + 1)->get(), ir::mod(axis, ir::Expr(extent))}};
  *at = axis;
  axes.erase(at + 1);
  if (has_strides) fused->strides.erase(fused->strides.begin() + static_cast<std::ptrdiff_t>(first));
  for (auto* list : {&fused->body, &fused->init, &fused->where}) rewrite_all(*list, {}, apart);
  redefine(s, fused, spatial ? static_cast<std::ptrdiff_t>(first) : -1, extent);
  StageSchedule& stage = edit(s);
  stage.iters.erase(stage.iters.begin() + static_cast<std::ptrdiff_t>(second));
  stage.iters[first].name = name;
  stage.order.pop_back();
  return {s, static_cast<int>(first)};
}

}  // namespace temper::schedule
