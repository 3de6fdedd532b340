// Loop primitives: split, fuse, reorder.
#include <algorithm>

#include "temper/schedule/schedule.h"

namespace temper::schedule {

namespace {

std::string join(const Schedule& schedule, const std::vector<Loop>& loops) {
  std::string text;
  for (const Loop& loop : loops) text += (text.empty() ? "" : ",") + schedule.name(loop);
  return text;
}

void replace_in_order(std::vector<int>& order, int from, const std::vector<int>& to) {
  auto at = std::find(order.begin(), order.end(), from);
  at = order.erase(at);
  order.insert(at, to.begin(), to.end());
}

}  // namespace

std::vector<Loop> Schedule::split(Loop loop, const std::vector<std::int64_t>& factors, Tail tail) {
  require_loop(loop, true);
  StageSchedule& stage = edit(loop.stage);
  if (factors.empty())
    throw ScheduleError("EmptyFactor", "a split needs at least one factor", *this, loop.stage, loop.iter);
  for (std::int64_t factor : factors) {
    if (factor < 1) {
      throw ScheduleError("EmptyFactor", "a factor must be at least 1, not " + std::to_string(factor), *this,
                          loop.stage, loop.iter);
    }
  }
  if (tail == Tail::ShiftInwards && stage.iters[static_cast<std::size_t>(loop.iter)].reduce &&
      !stage.definition->reducer->idempotent) {
    throw ScheduleError(
        "NotIdempotent",
        "shift_inwards takes some terms twice; reducer '" + stage.definition->reducer->name + "' is not idempotent",
        *this, loop.stage, loop.iter, "use another tail");
  }
  if (stage.fuse_of(loop.iter) != nullptr) {
    throw ScheduleError("NotALoop", "a fused loop cannot be split", *this, loop.stage, loop.iter,
                        "split first, then fuse");
  }
  std::string words;
  for (std::int64_t factor : factors) words += (words.empty() ? "" : "x") + std::to_string(factor);
  record("split", {stage.definition->name, name(loop), words, std::string(to_string(tail))});

  const std::string base = name(loop);
  const bool is_reduce = stage.iters[static_cast<std::size_t>(loop.iter)].reduce;
  const auto add = [&](std::string iter_name, bool leaf) {
    stage.iters.push_back({std::move(iter_name), is_reduce, leaf, Annotation::Serial});
    return static_cast<int>(stage.iters.size()) - 1;
  };
  std::vector<int> result;
  int parent = loop.iter;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    std::int64_t inner_size = 1;
    for (std::size_t j = i; j < factors.size(); ++j) inner_size *= factors[j];
    const bool last = i + 1 == factors.size();
    stage.iters[static_cast<std::size_t>(parent)].leaf = false;
    const int outer = add(base + "." + std::to_string(i), true);
    const int inner = add(last ? base + "." + std::to_string(i + 1) : base + ".r" + std::to_string(i + 1), last);
    stage.splits.push_back({parent, outer, inner, inner_size, tail});
    result.push_back(outer);
    if (last) result.push_back(inner);
    parent = inner;
  }
  replace_in_order(stage.order, loop.iter, result);
  std::vector<Loop> loops;
  for (int iter : result) loops.push_back({loop.stage, iter});
  return loops;
}

Loop Schedule::fuse(const std::vector<Loop>& loops) {
  if (loops.empty()) throw ScheduleError("NotALoop", "fuse needs at least one loop", *this, -1);
  for (const Loop& loop : loops) require_loop(loop, true);
  StageSchedule& stage = edit(loops[0].stage);
  std::string fused_name;
  std::vector<int> parts;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const Iter& iter = stage.iters[static_cast<std::size_t>(loops[i].iter)];
    if (loops[i].stage != loops[0].stage)
      throw ScheduleError("NotAdjacent", "the loops belong to different stages", *this, loops[i].stage, loops[i].iter);
    if (stage.fuse_of(loops[i].iter) != nullptr) {
      throw ScheduleError("NotALoop", "a fused loop cannot be fused again", *this, loops[i].stage, loops[i].iter,
                          "fuse all loops at once");
    }
    if (iter.reduce != stage.iters[static_cast<std::size_t>(loops[0].iter)].reduce) {
      throw ScheduleError("MixedReduce", "a reduce loop cannot be fused with a spatial one", *this, loops[i].stage,
                          loops[i].iter);
    }
    if (i > 0) {
      const auto before = std::find(stage.order.begin(), stage.order.end(), loops[i - 1].iter);
      if (before + 1 == stage.order.end() || *(before + 1) != loops[i].iter) {
        throw ScheduleError("NotAdjacent", "'" + iter.name + "' does not follow '" + name(loops[i - 1]) + "'", *this,
                            loops[i].stage, loops[i].iter, "reorder first");
      }
    }
    fused_name += (fused_name.empty() ? "" : "*") + iter.name;
    parts.push_back(loops[i].iter);
  }
  record("fuse", {stage.definition->name, join(*this, loops)});
  if (loops.size() == 1) return loops[0];
  const bool is_reduce = stage.iters[static_cast<std::size_t>(parts[0])].reduce;
  stage.iters.push_back({fused_name, is_reduce, true, Annotation::Serial});
  const int result = static_cast<int>(stage.iters.size()) - 1;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    stage.iters[static_cast<std::size_t>(parts[i])].leaf = false;
    if (i == 0) {
      replace_in_order(stage.order, parts[i], {result});
    } else {
      replace_in_order(stage.order, parts[i], {});
    }
  }
  stage.fuses.push_back({result, parts});
  return {loops[0].stage, result};
}

void Schedule::reorder(const std::vector<Loop>& loops) {
  if (loops.empty()) return;
  for (const Loop& loop : loops) require_loop(loop, false);
  StageSchedule& stage = edit(loops[0].stage);
  std::vector<std::size_t> places;
  for (const Loop& loop : loops) {
    if (loop.stage != loops[0].stage)
      throw ScheduleError("NotALoop", "the loops belong to different stages", *this, loop.stage, loop.iter);
    const auto place =
        static_cast<std::size_t>(std::find(stage.order.begin(), stage.order.end(), loop.iter) - stage.order.begin());
    if (std::find(places.begin(), places.end(), place) != places.end()) {
      throw ScheduleError("DuplicateLoop", "'" + name(loop) + "' is listed twice", *this, loop.stage, loop.iter);
    }
    places.push_back(place);
  }
  std::sort(places.begin(), places.end());
  std::vector<int> order = stage.order;
  for (std::size_t i = 0; i < loops.size(); ++i) order[places[i]] = loops[i].iter;

  const auto position = [&](int iter) {
    // A fused or split iter stands where its outermost leaf stands.
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (order[i] == iter) return static_cast<int>(i);
      if (const Fuse* fuse = stage.fuse_of(order[i]);
          fuse != nullptr && std::find(fuse->parts.begin(), fuse->parts.end(), iter) != fuse->parts.end()) {
        return static_cast<int>(i);
      }
    }
    return -1;
  };
  const auto outermost = [&](int iter) {
    int best = static_cast<int>(order.size());
    std::vector<int> pending{iter};
    while (!pending.empty()) {
      const int current = pending.back();
      pending.pop_back();
      if (const Split* split = stage.split_of(current)) {
        pending.push_back(split->outer);
        pending.push_back(split->inner);
      } else if (const int at = position(current); at >= 0) {
        best = std::min(best, at);
      }
    }
    return best;
  };
  for (const Split& split : stage.splits) {
    if (outermost(split.inner) < outermost(split.outer)) {
      throw ScheduleError("InnerBeforeOuter",
                          "'" + stage.iters[static_cast<std::size_t>(split.outer)].name + "' must stay outside '" +
                              stage.iters[static_cast<std::size_t>(split.inner)].name + "'",
                          *this, loops[0].stage, split.outer);
    }
  }
  if (stage.definition->is_reduction() && !stage.definition->reducer->commutative) {
    const auto reduces = [&](const std::vector<int>& list) {
      std::vector<int> out;
      for (int iter : list) {
        if (stage.iters[static_cast<std::size_t>(iter)].reduce) out.push_back(iter);
      }
      return out;
    };
    if (reduces(order) != reduces(stage.order)) {
      throw ScheduleError(
          "NotCommutative",
          "reducer '" + stage.definition->reducer->name + "' is not commutative; its reduce loops keep their order",
          *this, loops[0].stage, loops[0].iter);
    }
  }
  record("reorder", {stage.definition->name, join(*this, loops)});
  stage.order = std::move(order);
}

}  // namespace temper::schedule
