// Placement primitives: compute_at, compute_inline, compute_root, store_at.
#include <algorithm>

#include "temper/schedule/schedule.h"

namespace temper::schedule {

namespace {

/// Whether `consumer` reads `producer`, directly or through other stages.
bool reaches(const Schedule& schedule, int consumer, int producer) {
  std::vector<bool> seen(schedule.stages().size(), false);
  const auto visit = [&](auto&& self, int stage) -> bool {
    if (seen[static_cast<std::size_t>(stage)]) return false;
    seen[static_cast<std::size_t>(stage)] = true;
    for (int read : reads_of(schedule, stage)) {
      if (read == producer || self(self, read)) return true;
    }
    return false;
  };
  return visit(visit, consumer);
}

}  // namespace

void Schedule::compute_at(std::string_view stage_name, Loop loop) {
  const int s = require_stage(stage_name, true);
  require_loop(loop, false);
  if (is_output(s)) throw ScheduleError("OutputStage", "an output is always computed at root", *this, s);
  if ((*this)[s].prepared) throw ScheduleError("NotAtRoot", "a prepared stage is computed at root", *this, s);
  if (loop.stage == s || !reaches(*this, loop.stage, s)) {
    throw ScheduleError(
        "NotAConsumer",
        "'" + (*this)[loop.stage].definition->name + "' does not read '" + std::string(stage_name) + "'", *this, s);
  }
  record("compute_at", {std::string(stage_name), (*this)[loop.stage].definition->name, name(loop)});
  edit(s).compute = {PlacementKind::At, loop};
  if (!(*this)[s].store_set) edit(s).store = edit(s).compute;
}

void Schedule::compute_inline(std::string_view stage_name) {
  const int s = require_stage(stage_name, true);
  if (is_output(s)) throw ScheduleError("OutputStage", "an output cannot be inlined", *this, s);
  if ((*this)[s].prepared) throw ScheduleError("NotAtRoot", "a prepared stage is computed at root", *this, s);
  if ((*this)[s].definition->is_reduction())
    throw ScheduleError("ReductionStage", "a reduction cannot be inlined", *this, s, -1, "use compute_at");
  if ((*this)[s].definition->dtypes.size() != 1)
    throw ScheduleError("TupleStage", "a tuple-valued stage cannot be inlined", *this, s);
  record("compute_inline", {std::string(stage_name)});
  edit(s).compute = edit(s).store = {PlacementKind::Inline, {}};
}

void Schedule::compute_root(std::string_view stage_name) {
  const int s = require_stage(stage_name, true);
  record("compute_root", {std::string(stage_name)});
  edit(s).compute = edit(s).store = {};
  edit(s).store_set = false;
}

void Schedule::store_at(std::string_view stage_name, Loop loop) {
  const int s = require_stage(stage_name, true);
  require_loop(loop, false);
  if (is_output(s)) throw ScheduleError("OutputStage", "an output is stored for the caller", *this, s);
  if ((*this)[s].compute.kind != PlacementKind::At) {
    throw ScheduleError("NotComputedAt", "store_at needs a stage that is computed inside a loop", *this, s, -1,
                        "call compute_at first");
  }
  record("store_at", {std::string(stage_name), (*this)[loop.stage].definition->name, name(loop)});
  edit(s).store = {PlacementKind::At, loop};
  edit(s).store_set = true;
}

}  // namespace temper::schedule
