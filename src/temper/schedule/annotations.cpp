// Annotation primitives: parallel, vectorize, unroll, prefetch.
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

void Schedule::prefetch(std::string_view source_name, Loop loop, std::int64_t distance) {
  const int source = stage(source_name);
  require_loop(loop, false);
  StageSchedule& stage = edit(loop.stage);
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
  if (distance < 1) {
    throw ScheduleError("EmptyDistance", "the distance must be at least 1, not " + std::to_string(distance), *this,
                        loop.stage, loop.iter);
  }
  for (const Prefetch& other : stage.prefetches) {
    if (other.source == source && other.iter == loop.iter) {
      throw ScheduleError("TwoPrefetches", "'" + std::string(source_name) + "' is prefetched here already", *this,
                          loop.stage, loop.iter);
    }
  }
  record("prefetch", {std::string(source_name), stage.definition->name, iter.name, std::to_string(distance)});
  stage.prefetches.push_back({source, loop.iter, distance});
}

}  // namespace temper::schedule
