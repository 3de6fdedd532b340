// Border peeling: where a loop is cut so that conditions, and choices of `select`, are constant in each piece.
#include <algorithm>

#include "temper/nest/builder.h"

namespace temper::nest {

using schedule::Annotation;

bool Builder::bounded_by_loop(int s, const Condition& condition) const {
  // A reduce axis that stays a serial loop turns the condition into its bounds; then no cut is needed.
  const schedule::StageSchedule& stage = schedule_[s];
  const StageForms& forms = program_.forms[static_cast<std::size_t>(s)];
  const std::size_t axes = stage.definition->axes.size();
  for (std::size_t r = axes; r < forms.axis_vars.size(); ++r) {
    const schedule::Iter& iter = stage.iters[r];
    if (iter.leaf && iter.annotation == Annotation::Serial && !condition.equality &&
        program_.vars.depends_on(condition.form, forms.axis_vars[r]))
      return true;
  }
  return false;
}

std::vector<std::int64_t> Builder::border_cuts(const StageState& state, int iter, std::int64_t begin,
                                               std::int64_t end) {
  std::vector<std::int64_t> cuts{begin, end};
  if (end - begin < 2) return cuts;
  bool any = false;
  for (const StageForms& forms : program_.forms) any = any || !forms.conditions.empty() || !forms.choices.empty();
  if (!any) return cuts;

  const std::size_t position = position_of(*state.schedule, iter);
  StageState probe = state;
  const Var var = program_.vars.add("cut", {begin, end - 1});
  if (const int split = probe.pending_split(iter); split >= 0) {
    const schedule::Split& s = probe.schedule->splits[static_cast<std::size_t>(split)];
    for (const SplitSegment& piece :
         split_segments(probe[s.parent].extent, s.factor, s.tail, s.inner == probe.vector_iter)) {
      if (piece.begin <= begin && begin < piece.end) probe.apply(split, piece);
    }
  }
  probe.bind(iter, {var});
  probe.resolve(schedule_);
  const std::vector<std::vector<Range>> boxes = scope_boxes(probe, position);
  const auto cut_at = [&](const Condition& condition, std::size_t s) {
    const Range box = box_of(condition.form, boxes[s], program_.forms[s].axis_vars, program_.vars);
    const std::int64_t a = box.base.coefficient(var);
    if (a == 0 || box.base.terms.size() != 1) return;
    // The condition is a*L + c + o >= 0 for o in [0, extent): all false below, all true above a border interval of L.
    const std::int64_t c = box.base.constant, spread = box.extent - 1;
    std::int64_t first, last;
    if (a > 0) {
      first = analysis::ceil_div(-(c + spread), a);
      last = analysis::ceil_div(-c, a) - 1;
    } else {
      first = analysis::floor_div(c, -a) + 1;
      last = analysis::floor_div(c + spread, -a);
    }
    const std::int64_t from = std::clamp(first, begin, end), to = std::clamp(last + 1, begin, end);
    cuts.push_back(from);
    cuts.push_back(to);
    if (to - from <= options_.max_border_cuts) {
      for (std::int64_t at = from; at < to; ++at) cuts.push_back(at);
    }
  };
  for (std::size_t s = 0; s < boxes.size(); ++s) {
    if (boxes[s].empty()) continue;
    const StageForms& forms = program_.forms[s];
    for (const Condition& condition : forms.conditions) {
      if (!condition.equality && !bounded_by_loop(static_cast<int>(s), condition)) cut_at(condition, s);
    }
    // Cut for a choice of a stage computed inside, the loop would repeat everything else that is in it.
    if (static_cast<int>(s) != state.stage) continue;
    for (const Condition& choice : forms.choices) cut_at(choice, s);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

}  // namespace temper::nest
