// Annotation primitives: parallel, vectorize, unroll, prefetch, prefetch_ahead.
#include <algorithm>

#include "temper/schedule/schedule.h"

namespace temper::schedule {

void Schedule::parallel(Loop loop) {
  require_loop(loop, true);
  StageSchedule& stage = edit(loop.stage);
  Iter& iter = stage.iters[static_cast<std::size_t>(loop.iter)];
  if (iter.reduce)
    throw ScheduleError("ReduceLoop", "iterations of a reduce loop depend on each other", *this, loop.stage, loop.iter,
                        "use rfactor");
  if (stage.order.front() != loop.iter) {
    throw ScheduleError("NotOutermost", "only the outermost loop can be parallel", *this, loop.stage, loop.iter,
                        "fuse or reorder it outwards");
  }
  record("parallel", {stage.definition->name, iter.name});
  iter.annotation = Annotation::Parallel;
}

void Schedule::vectorize(Loop loop) {
  require_loop(loop, true);
  StageSchedule& stage = edit(loop.stage);
  Iter& iter = stage.iters[static_cast<std::size_t>(loop.iter)];
  for (std::size_t i = 0; i < stage.iters.size(); ++i) {
    if (stage.iters[i].annotation == Annotation::Vectorized) {
      throw ScheduleError("TwoVectorLoops", "'" + stage.iters[i].name + "' is vectorised already", *this, loop.stage,
                          loop.iter);
    }
  }
  if (stage.fuse_of(loop.iter) != nullptr)
    throw ScheduleError("NotALoop", "a fused loop cannot be vectorised", *this, loop.stage, loop.iter);
  if (iter.reduce) {
    const ir::Reducer& reducer = *stage.definition->reducer;
    if (!reducer.associative || !reducer.commutative) {
      throw ScheduleError("NotAssociative",
                          "lane partials need an associative and commutative reducer; '" + reducer.name + "' is not",
                          *this, loop.stage, loop.iter);
    }
  }
  record("vectorize", {stage.definition->name, iter.name});
  iter.annotation = Annotation::Vectorized;
}

void Schedule::unroll(Loop loop) {
  require_loop(loop, true);
  StageSchedule& stage = edit(loop.stage);
  if (stage.fuse_of(loop.iter) != nullptr)
    throw ScheduleError("NotALoop", "a fused loop cannot be unrolled", *this, loop.stage, loop.iter);
  record("unroll", {stage.definition->name, name(loop)});
  stage.iters[static_cast<std::size_t>(loop.iter)].annotation = Annotation::Unrolled;
}

int Schedule::require_prefetchable(std::string_view source_name, Loop loop) const {
  const int source = stage(source_name);
  require_loop(loop, false);
  const StageSchedule& stage = (*this)[loop.stage];
  const Iter& iter = stage.iters[static_cast<std::size_t>(loop.iter)];
  if (iter.annotation != Annotation::Serial) {
    throw ScheduleError("AnnotatedLoop", "'" + iter.name + "' is already " + std::string(to_string(iter.annotation)),
                        *this, loop.stage, loop.iter, "prefetch in a serial loop");
  }
  if (stage.fuse_of(loop.iter) != nullptr)
    throw ScheduleError("NotALoop", "a fused loop cannot prefetch", *this, loop.stage, loop.iter);
  if (!reads_inside(*this, loop.stage, source)) {
    throw ScheduleError("NotAConsumer",
                        "'" + stage.definition->name + "' does not read '" + std::string(source_name) + "'", *this,
                        loop.stage);
  }
  for (const Prefetch& other : stage.prefetches) {
    if (other.source == source && other.iter == loop.iter) {
      throw ScheduleError("TwoPrefetches", "'" + std::string(source_name) + "' is prefetched here already", *this,
                          loop.stage, loop.iter);
    }
  }
  return source;
}

void Schedule::prefetch(std::string_view source_name, Loop loop, std::int64_t distance) {
  const int source = require_prefetchable(source_name, loop);
  if (distance < 1) {
    throw ScheduleError("EmptyDistance", "the distance must be at least 1, not " + std::to_string(distance), *this,
                        loop.stage, loop.iter);
  }
  StageSchedule& stage = edit(loop.stage);
  record("prefetch", {std::string(source_name), stage.definition->name, name(loop), std::to_string(distance)});
  stage.prefetches.push_back({.source = source, .iter = loop.iter, .distance = distance, .ahead = {}, .turns = {}});
}

void Schedule::prefetch_ahead(std::string_view source_name, Loop loop, std::int64_t lines, Loop ahead,
                              const std::vector<Turn>& turns) {
  const int source = require_prefetchable(source_name, loop);
  const auto known = [&](Loop outer) {
    return outer.stage >= 0 && static_cast<std::size_t>(outer.stage) < stages_.size() && outer.iter >= 0 &&
           static_cast<std::size_t>(outer.iter) < (*this)[outer.stage].iters.size() && outer.stage == ahead.stage;
  };
  if (!known(ahead) || !std::ranges::all_of(turns, known, &Turn::loop))
    throw ScheduleError("NotALoop", "the loops outside do not belong to one stage of this schedule", *this, loop.stage,
                        loop.iter);
  if (lines < 1 || std::ranges::any_of(turns, [](const Turn& turn) { return turn.lines < 1; })) {
    throw ScheduleError("EmptyShare", "a share must be at least one cache line", *this, loop.stage, loop.iter);
  }
  std::string words;
  for (const Turn& turn : turns)
    words += (words.empty() ? "" : ",") + name(turn.loop) + "*" + std::to_string(turn.lines);
  StageSchedule& stage = edit(loop.stage);
  record("prefetch_ahead", {std::string(source_name), stage.definition->name, name(loop), std::to_string(lines),
                            (*this)[ahead.stage].definition->name, name(ahead), words.empty() ? "-" : words});
  stage.prefetches.push_back(
      {.source = source, .iter = loop.iter, .distance = 1, .ahead = ahead, .lines = lines, .turns = turns});
}

}  // namespace temper::schedule
