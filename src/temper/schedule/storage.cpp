// Storage primitives: set_layout, set_scope, prepared.
#include <algorithm>

#include "temper/schedule/schedule.h"

namespace temper::schedule {

void Schedule::set_layout(std::string_view stage_name, const std::vector<LayoutDim>& layout) {
  const int s = require_stage(stage_name, true);
  const ir::Stage& definition = *(*this)[s].definition;
  if (is_output(s)) throw ScheduleError("OutputStage", "an output keeps the caller's layout", *this, s);
  // Per axis, from the innermost dimension outwards: divisors start at 1 and each modulus leads to the next divisor.
  std::vector<std::int64_t> next(definition.axes.size(), 1);
  std::vector<bool> open(definition.axes.size(), true);
  std::vector<LayoutDim> inner_first(layout.rbegin(), layout.rend());
  std::stable_sort(inner_first.begin(), inner_first.end(),
                   [](const LayoutDim& a, const LayoutDim& b) { return a.divisor < b.divisor; });
  std::string words;
  for (const LayoutDim& dim : layout) {
    if (dim.axis < 0 || static_cast<std::size_t>(dim.axis) >= definition.axes.size()) {
      throw ScheduleError("NotABijection",
                          "the layout names axis " + std::to_string(dim.axis) + ", the stage has " +
                              std::to_string(definition.axes.size()),
                          *this, s);
    }
    words += (words.empty() ? "" : ",") + definition.axes[static_cast<std::size_t>(dim.axis)].name() + "/" +
             std::to_string(dim.divisor) + "%" + std::to_string(dim.modulus) + "+" + std::to_string(dim.pad);
  }
  for (const LayoutDim& dim : inner_first) {
    const auto axis = static_cast<std::size_t>(dim.axis);
    if (!open[axis] || dim.divisor != next[axis] || dim.pad < 0 || dim.modulus < 0 || dim.modulus == 1) {
      throw ScheduleError("NotABijection", "axis '" + definition.axes[axis].name() + "' is not covered exactly once",
                          *this, s, -1, "divisors chain: [a/1%16] then [a/16]");
    }
    if (dim.modulus == 0) {
      open[axis] = false;
    } else {
      next[axis] = dim.divisor * dim.modulus;
    }
  }
  for (std::size_t axis = 0; axis < open.size(); ++axis) {
    if (open[axis])
      throw ScheduleError("NotABijection", "axis '" + definition.axes[axis].name() + "' has no outermost part", *this,
                          s);
  }
  record("set_layout", {std::string(stage_name), words});
  edit(s).layout = layout;
}

void Schedule::set_scope(std::string_view stage_name, Scope scope) {
  const int s = require_stage(stage_name, true);
  if (is_output(s)) throw ScheduleError("OutputStage", "an output lives in memory", *this, s, -1, "use cache_write");
  record("set_scope", {std::string(stage_name), std::string(to_string(scope))});
  edit(s).scope = scope;
}

void Schedule::prepared(std::string_view stage_name) {
  const int s = require_stage(stage_name, true);
  if (is_output(s)) throw ScheduleError("OutputStage", "an output cannot be prepared", *this, s);
  if ((*this)[s].compute.kind != PlacementKind::Root)
    throw ScheduleError("NotAtRoot", "a prepared stage is computed at root", *this, s);
  const auto require_constant = [&](auto&& self, int stage) -> void {
    for (int read : reads_of(*this, stage)) {
      const StageSchedule& source = (*this)[read];
      if (source.compute.kind == PlacementKind::Inline) {
        self(self, read);
      } else if (!source.prepared && !(source.is_placeholder() && source.definition->constant)) {
        throw ScheduleError("NotConstant",
                            "it reads '" + source.definition->name + "', which is neither constant nor prepared", *this,
                            s);
      }
    }
  };
  require_constant(require_constant, s);
  record("prepared", {std::string(stage_name)});
  edit(s).prepared = true;
}

}  // namespace temper::schedule
