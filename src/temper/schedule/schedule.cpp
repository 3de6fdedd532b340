#include "temper/schedule/schedule.h"

#include <algorithm>
#include <functional>
#include <unordered_set>

namespace temper::schedule {

std::string_view to_string(Tail tail) {
  static constexpr std::string_view kNames[] = {"peel", "mask", "balance", "round_up", "shift_inwards"};
  return kNames[static_cast<int>(tail)];
}
std::string_view to_string(Annotation annotation) {
  static constexpr std::string_view kNames[] = {"serial", "parallel", "vectorized", "unrolled"};
  return kNames[static_cast<int>(annotation)];
}
std::string_view to_string(Scope scope) {
  static constexpr std::string_view kNames[] = {"memory", "register"};
  return kNames[static_cast<int>(scope)];
}

const Split* StageSchedule::split_of(int iter) const {
  for (const Split& split : splits) {
    if (split.parent == iter) return &split;
  }
  return nullptr;
}

const Fuse* StageSchedule::fuse_of(int iter) const {
  for (const Fuse& fuse : fuses) {
    if (fuse.result == iter) return &fuse;
  }
  return nullptr;
}

int StageSchedule::find(std::string_view loop) const {
  for (std::size_t i = 0; i < iters.size(); ++i) {
    if (iters[i].name == loop) return static_cast<int>(i);
  }
  return -1;
}

namespace {

void print_stage(std::string& text, const Schedule& schedule, const StageSchedule& stage, int marked) {
  text += stage.definition->name;
  if (stage.compute.kind == PlacementKind::Inline) text += "  inline";
  if (stage.compute.kind == PlacementKind::At) {
    text += "  at " + schedule[stage.compute.loop.stage].definition->name + "." + schedule.name(stage.compute.loop);
  }
  if (stage.store_set && stage.store.kind == PlacementKind::At) {
    text += "  stored at " + schedule[stage.store.loop.stage].definition->name + "." + schedule.name(stage.store.loop);
  }
  if (stage.scope == Scope::Register) text += "  register";
  if (stage.prepared) text += "  prepared";
  if (!stage.layout.empty()) {
    text += "  layout";
    for (const LayoutDim& dim : stage.layout) {
      text += " [" + stage.definition->axes[static_cast<std::size_t>(dim.axis)].name();
      if (dim.divisor != 1) text += "/" + std::to_string(dim.divisor);
      if (dim.modulus != 0) text += "%" + std::to_string(dim.modulus);
      if (dim.pad != 0) text += "+" + std::to_string(dim.pad);
      text += "]";
    }
  }
  text += "\n";
  if (stage.is_placeholder() || stage.compute.kind == PlacementKind::Inline) return;
  std::string indent = "  ";
  for (int iter : stage.order) {
    const Iter& it = stage.iters[static_cast<std::size_t>(iter)];
    std::string line = indent + std::string(it.reduce ? "reduce " : "for ") + it.name;
    if (it.annotation != Annotation::Serial) line += "  " + std::string(to_string(it.annotation));
    text += line + "\n";
    if (iter == marked) text += indent + std::string(line.size() - indent.size(), '^') + "\n";
    indent += "  ";
  }
  for (const Prefetch& prefetch : stage.prefetches) {
    text += "  prefetch " + schedule[prefetch.source].definition->name + " " +
            stage.iters[static_cast<std::size_t>(prefetch.iter)].name;
    if (prefetch.lines == 0) {
      text += " + " + std::to_string(prefetch.distance) + "\n";
      continue;
    }
    text += ", " + std::to_string(prefetch.lines) + " lines of " + schedule.name(prefetch.ahead) + " + 1 from";
    for (const Turn& turn : prefetch.turns) text += " " + schedule.name(turn.loop) + "*" + std::to_string(turn.lines);
    text += prefetch.turns.empty() ? " 0\n" : "\n";
  }
  for (const Split& split : stage.splits) {
    const auto name = [&](int iter) { return stage.iters[static_cast<std::size_t>(iter)].name; };
    text += "  split " + name(split.parent) + " by " + std::to_string(split.factor) + " (" +
            std::string(to_string(split.tail)) + ")\n";
  }
}

}  // namespace

ScheduleError::ScheduleError(std::string rule, const std::string& message, const Schedule& schedule, int stage,
                             int iter, std::string hint)
    : Error(ErrorCode::InvalidArgument, rule + ": " + message,
            stage < 0 ? std::string()
                      : "stage " + schedule[stage].definition->name +
                            (iter < 0 ? std::string() : ", loop " + schedule.name(Loop{stage, iter})),
            std::move(hint)),
      rule_(std::move(rule)) {
  if (stage >= 0) print_stage(rendered_, schedule, schedule[stage], iter);
  rendered_ += what();
}

Schedule::Schedule(const ir::Compute& compute) : compute_(compute) {
  for (const ir::StagePtr& definition : compute.stages) {
    StageSchedule stage;
    stage.definition = definition;
    for (const ir::Axis& axis : definition->axes) stage.iters.push_back({axis.name(), false, true, Annotation::Serial});
    for (const ir::Axis& axis : definition->reduce_axes)
      stage.iters.push_back({axis.name(), true, true, Annotation::Serial});
    for (std::size_t i = 0; i < stage.iters.size(); ++i) stage.order.push_back(static_cast<int>(i));
    stages_.push_back(std::move(stage));
  }
  for (const ir::StagePtr& output : compute.outputs) outputs_.push_back(output->name);
}

int Schedule::stage(std::string_view name) const {
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    if (stages_[i].definition->name == name) return static_cast<int>(i);
  }
  std::string known;
  for (const StageSchedule& s : stages_) known += (known.empty() ? "" : ", ") + s.definition->name;
  throw ScheduleError("UnknownStage", "there is no stage '" + std::string(name) + "'", *this, -1, -1,
                      "stages: " + known);
}

Loop Schedule::loop(std::string_view stage_name, std::string_view name) const {
  const int s = stage(stage_name);
  const int iter = (*this)[s].find(name);
  if (iter < 0) throw ScheduleError("UnknownLoop", "there is no loop '" + std::string(name) + "'", *this, s);
  return {s, iter};
}

std::vector<Loop> Schedule::loops(std::string_view stage_name) const {
  const int s = stage(stage_name);
  std::vector<Loop> out;
  for (int iter : (*this)[s].order) out.push_back({s, iter});
  return out;
}

bool Schedule::is_output(int stage) const {
  return std::find(outputs_.begin(), outputs_.end(), (*this)[stage].definition->name) != outputs_.end();
}

int Schedule::require_stage(std::string_view name, bool computed) const {
  const int s = stage(name);
  if (computed && (*this)[s].is_placeholder())
    throw ScheduleError("Placeholder", "the stage is an input, it is not computed", *this, s);
  return s;
}

void Schedule::require_loop(Loop loop, bool serial) const {
  if (loop.stage < 0 || static_cast<std::size_t>(loop.stage) >= stages_.size() || loop.iter < 0 ||
      static_cast<std::size_t>(loop.iter) >= (*this)[loop.stage].iters.size()) {
    throw ScheduleError("NotALoop", "the loop does not belong to this schedule", *this, -1);
  }
  const Iter& iter = (*this)[loop.stage].iters[static_cast<std::size_t>(loop.iter)];
  if ((*this)[loop.stage].is_placeholder())
    throw ScheduleError("Placeholder", "the stage is an input, it has no loops", *this, loop.stage);
  if (!iter.leaf) {
    throw ScheduleError("NotALoop", "'" + iter.name + "' was split or fused; it is no loop any more", *this, loop.stage,
                        loop.iter, "use the loops that came of it");
  }
  if (serial && iter.annotation != Annotation::Serial) {
    throw ScheduleError("AnnotatedLoop", "'" + iter.name + "' is already " + std::string(to_string(iter.annotation)),
                        *this, loop.stage, loop.iter, "apply splits, fuses and orders before annotations");
  }
  const std::vector<Prefetch>& prefetches = (*this)[loop.stage].prefetches;
  if (serial &&
      std::any_of(prefetches.begin(), prefetches.end(), [&](const Prefetch& p) { return p.iter == loop.iter; })) {
    throw ScheduleError("AnnotatedLoop", "'" + iter.name + "' prefetches already", *this, loop.stage, loop.iter,
                        "prefetch last");
  }
}

std::string print(const Schedule& schedule) {
  std::string text;
  for (const StageSchedule& stage : schedule.stages()) print_stage(text, schedule, stage, -1);
  return text;
}

namespace {

/// Stages that `expr` reads, in order of first read. Nodes that are shared are seen once.
void collect_reads(const ir::Expr& expr, std::unordered_set<const ir::ExprNode*>& seen,
                   const std::function<void(const ir::Stage&)>& visit) {
  if (expr->args.empty() && expr->kind != ir::ExprKind::Load) return;
  if (!seen.insert(expr.get()).second) return;
  if (expr->kind == ir::ExprKind::Load) visit(*expr->stage);
  for (const ir::Expr& arg : expr->args) collect_reads(arg, seen, visit);
}

}  // namespace

std::vector<int> reads_of(const Schedule& schedule, int stage) {
  std::vector<int> out;
  const auto visit = [&](const ir::Stage& read) {
    for (std::size_t i = 0; i < schedule.stages().size(); ++i) {
      if (schedule.stages()[i].definition.get() == &read) {
        if (std::find(out.begin(), out.end(), static_cast<int>(i)) == out.end()) out.push_back(static_cast<int>(i));
        return;
      }
    }
    TEMPER_CHECK(false, "a stage reads a stage that is not in the schedule: " + read.name);
  };
  const ir::Stage& definition = *schedule[stage].definition;
  std::unordered_set<const ir::ExprNode*> seen;
  for (const auto* list : {&definition.body, &definition.init, &definition.where}) {
    for (const ir::Expr& expr : *list) collect_reads(expr, seen, visit);
  }
  return out;
}

bool reads_inside(const Schedule& schedule, int stage, int source) {
  const std::function<bool(int)> reads = [&](int reader) {
    for (const int read : reads_of(schedule, reader)) {
      if (read == source) return true;
      const StageSchedule& producer = schedule[read];
      const bool inside = producer.compute.kind == PlacementKind::Inline ||
                          (producer.compute.kind == PlacementKind::At && producer.compute.loop.stage == stage);
      if (inside && !producer.definition->is_reduction() && reads(read)) return true;
    }
    return false;
  };
  return reads(stage);
}

std::vector<int> topological_order(const Schedule& schedule) {
  std::vector<int> out;
  std::vector<bool> seen(schedule.stages().size(), false);
  const std::function<void(int)> visit = [&](int stage) {
    if (seen[static_cast<std::size_t>(stage)]) return;
    seen[static_cast<std::size_t>(stage)] = true;
    for (int read : reads_of(schedule, stage)) visit(read);
    out.push_back(stage);
  };
  for (std::size_t i = 0; i < seen.size(); ++i) visit(static_cast<int>(i));
  return out;
}

}  // namespace temper::schedule
