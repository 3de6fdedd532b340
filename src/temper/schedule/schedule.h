// A schedule says how a compute definition is carried out, as data attached to each stage: the loop list, the order and
// annotations of the loops, where the stage is computed, where and in which layout it is stored.
//
// Every primitive checks its precondition, edits that data and appends itself to the trace. A primitive that fails
// throws `ScheduleError` and leaves the schedule as it was. Primitives are grouped in one file per family:
//   loops.cpp (split, fuse, reorder), annotations.cpp (parallel, vectorize, unroll, prefetch…), placement.cpp
//   (compute_at, …), stages.cpp (cache_read, cache_write, rfactor, fuse_axes), storage.cpp (set_layout, set_scope,
//   prepared).
// `trace.h` names them all in one table.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "temper/ir/compute.h"
#include "temper/support/error.h"

namespace temper::schedule {

/// What happens to the last iteration of a split that does not divide.
enum class Tail : std::uint8_t {
  Peel,          ///< a shorter last iteration with a body of its own
  Mask,          ///< as Peel, but a vectorised inner loop keeps its width and masks the lanes past the end
  Balance,       ///< two sizes that differ by one: 127 by 6 is 17 x 6 + 5 x 5
  RoundUp,       ///< compute past the end, into padding of registers or a padded layout
  ShiftInwards,  ///< the last iteration moves back to end at the extent; some elements are computed twice
};
std::string_view to_string(Tail tail);

enum class Annotation : std::uint8_t { Serial, Parallel, Vectorized, Unrolled };
std::string_view to_string(Annotation annotation);

/// Where the elements of a stage live.
enum class Scope : std::uint8_t {
  Memory,    ///< an array
  Register,  ///< SSA values; every index is constant after unrolling
};
std::string_view to_string(Scope scope);

/// A loop of a stage; stays valid for the life of the schedule.
struct Loop {
  int stage = -1;
  int iter = -1;
  bool operator==(const Loop&) const = default;
};

struct Iter {
  std::string name;  ///< path: `m`; `m.0`, `m.1` after a split; unique within the stage
  bool reduce = false;
  bool leaf = true;  ///< in the loop list (not split or fused away)
  Annotation annotation = Annotation::Serial;
};
struct Split {
  int parent, outer, inner;
  std::int64_t factor;
  Tail tail;
};
struct Fuse {
  int result;
  std::vector<int> parts;  ///< outermost first
};
/// Whose turn it is: an iteration of `loop` begins `lines` cache lines after the one before.
struct Turn {
  Loop loop;
  std::int64_t lines;
  bool operator==(const Turn&) const = default;
};
/// In each iteration of `iter` the cache lines of `source` that the iteration `distance` later reads are asked for; of
/// `ahead`, where that is a loop, and then only `lines` of them, which the `turns` tell.
struct Prefetch {
  int source;
  int iter;
  std::int64_t distance;
  Loop ahead;
  std::int64_t lines = 0;
  std::vector<Turn> turns;
};

/// One storage dimension: floor(index[axis] / divisor), modulo `modulus` unless that is 0. Outermost first.
struct LayoutDim {
  int axis = 0;
  std::int64_t divisor = 1;
  std::int64_t modulus = 0;
  std::int64_t pad = 0;  ///< elements added to the dimension's extent, never read
  bool operator==(const LayoutDim&) const = default;
};

enum class PlacementKind : std::uint8_t { Root, Inline, At };
struct Placement {
  PlacementKind kind = PlacementKind::Root;
  Loop loop;  ///< At only
};

struct StageSchedule {
  ir::StagePtr definition;
  std::vector<Iter> iters;    ///< the spatial axes, then the reduce axes, then results of splits and fuses
  std::vector<Split> splits;  ///< in the order they were made
  std::vector<Fuse> fuses;
  std::vector<Prefetch> prefetches;
  std::vector<int> order;    ///< leaf iters, outermost first
  Placement compute, store;  ///< `store` equals `compute` unless store_at was used
  bool store_set = false;
  Scope scope = Scope::Memory;
  std::vector<LayoutDim> layout;  ///< empty: row-major
  bool prepared = false;
  bool is_placeholder() const { return definition->kind == ir::StageKind::Placeholder; }
  const Split* split_of(int iter) const;
  const Fuse* fuse_of(int iter) const;
  /// Iter of the named loop, -1 when there is none.
  int find(std::string_view loop) const;
};

/// One applied primitive; `args` are the words of its line in the text form.
struct Step {
  std::string primitive;
  std::vector<std::string> args;
  bool operator==(const Step&) const = default;
};
using Trace = std::vector<Step>;

class Schedule;

/// A primitive's precondition does not hold. `rule` is its stable name, e.g. "AnnotatedLoop".
class ScheduleError : public Error {
 public:
  ScheduleError(std::string rule, const std::string& message, const Schedule& schedule, int stage, int iter = -1,
                std::string hint = {});
  const std::string& rule() const { return rule_; }
  /// The stage's loops with the culprit underlined, then the message.
  const std::string& render() const { return rendered_; }

 private:
  std::string rule_, rendered_;
};

class Schedule {
 public:
  /// Every stage is at root with one serial loop per axis, in definition order.
  explicit Schedule(const ir::Compute& compute);

  /// Stages keep their index for the life of the schedule; new ones are appended (see `topological_order`).
  const std::vector<StageSchedule>& stages() const { return stages_; }
  const StageSchedule& operator[](int stage) const { return stages_[static_cast<std::size_t>(stage)]; }
  /// The definition that the schedule started from.
  const ir::Compute& definition() const { return compute_; }
  const std::vector<std::string>& outputs() const { return outputs_; }
  const Trace& trace() const { return trace_; }
  /// Throws ScheduleError UnknownStage / UnknownLoop.
  int stage(std::string_view name) const;
  Loop loop(std::string_view stage, std::string_view name) const;
  /// Every leaf loop of a stage, outermost first.
  std::vector<Loop> loops(std::string_view stage) const;
  bool is_output(int stage) const;
  const std::string& name(Loop loop) const {
    return (*this)[loop.stage].iters[static_cast<std::size_t>(loop.iter)].name;
  }

  /// Splits `loop` into nested loops, outermost first; `factors` are the extents of the inner ones. The product may
  /// exceed the extent.
  ///   for i in 10:                for i.0 in 3:
  ///     A[i] = f(i)       →         for i.1 in 4:
  ///                                   if i.0*4 + i.1 < 10: A[i.0*4 + i.1] = f(i.0*4 + i.1)
  /// Requires: `loop` is a serial leaf loop, not fused; a reduce loop shifts inwards only under an idempotent reducer.
  /// Errors: NotALoop, AnnotatedLoop, EmptyFactor, NotIdempotent.
  std::vector<Loop> split(Loop loop, const std::vector<std::int64_t>& factors, Tail tail = Tail::Peel);

  /// Fuses loops that are adjacent in the loop list into one, outermost first.
  ///   for i in 4:                 for f in 12:
  ///     for j in 3:       →         i, j = f / 3, f % 3
  /// Requires: serial leaf loops of one stage, adjacent, in order, all spatial or all reduce. Errors: NotALoop,
  /// AnnotatedLoop, NotAdjacent, MixedReduce.
  Loop fuse(const std::vector<Loop>& loops);

  /// Puts the listed loops in this order, in the places that they take now.
  /// Requires: distinct leaf loops of one stage; swapping two reduce loops needs a commutative reducer; the outer loop
  /// of a split stays outside its inner loop. Errors: NotALoop, DuplicateLoop, NotCommutative, InnerBeforeOuter.
  void reorder(const std::vector<Loop>& loops);

  /// Runs the iterations of an outermost spatial loop on many threads.
  /// Requires: a spatial loop with nothing but parallel loops outside it. Errors: NotALoop, AnnotatedLoop, ReduceLoop,
  /// NotOutermost.
  void parallel(Loop loop);
  /// Makes the loop the lanes of vectors. A reduce loop gives lane partials and a horizontal reduction at the end.
  /// Requires: the stage has no other vectorised loop; a reduce loop needs an associative and commutative reducer.
  /// Errors: NotALoop, AnnotatedLoop, TwoVectorLoops, NotAssociative.
  void vectorize(Loop loop);
  /// Replaces the loop by copies of its body. Errors: NotALoop, AnnotatedLoop.
  void unroll(Loop loop);
  /// Asks for the part of `source` that the iteration `distance` later reads. Changes no result.
  ///   for i in 10:                for i in 10:
  ///     C[i] = f(A[i])    →         prefetch A[i + 2]
  ///                                 C[i] = f(A[i])
  /// Requires: a serial loop, not fused, of a stage that reads `source` (see `reads_inside`); once for each source. The
  /// loop then stays as it is. Errors: UnknownStage, NotALoop, AnnotatedLoop, NotAConsumer, EmptyDistance,
  /// TwoPrefetches.
  void prefetch(std::string_view source, Loop loop, std::int64_t distance);
  /// Asks for what the next iteration of `ahead`, a loop outside, reads of `source`, and deals it out: each iteration
  /// of `loop` asks for `lines` cache lines of what it would read there, counted in memory from the first element on.
  /// The loops of `turns`, between `ahead` and `loop`, say with which line it begins. Changes no result.
  ///   for n in 8:                 for n in 8:
  ///     for m in 4:                 for m in 4:
  ///       for k in 16:       →        for k in 16:
  ///         … B[n, k, 0:64]             prefetch line m of B[n + 1, k, 0:64]     (one line, turn m*1)
  ///                                     … B[n, k, 0:64]
  /// Where one iteration of `ahead` is a segment of its own (one whole block before a shorter last one), nothing is
  /// asked for there. Requires: as `prefetch`, but for the distance; `ahead` and the turns are loops of one stage, or
  /// parts of a fused one, and stand outside of `loop` (checked when the nest is built: NotOutside). Errors:
  /// UnknownStage, NotALoop, AnnotatedLoop, NotAConsumer, EmptyShare, TwoPrefetches.
  void prefetch_ahead(std::string_view source, Loop loop, std::int64_t lines, Loop ahead,
                      const std::vector<Turn>& turns);

  /// Computes `stage` inside `loop` of a consumer, just before the loops inside it, for the box that is read there.
  /// Requires: `stage` is no output and no placeholder; `loop` belongs to a stage that reads it, directly or not; not
  /// inlined, not prepared. Errors: OutputStage, Placeholder, NotAConsumer, NotALoop, NotAtRoot.
  void compute_at(std::string_view stage, Loop loop);
  /// Replaces reads of `stage` by its definition. Requires: not a reduction, no output, one component, not prepared.
  /// Errors: OutputStage, Placeholder, ReductionStage, TupleStage, NotAtRoot.
  void compute_inline(std::string_view stage);
  void compute_root(std::string_view stage);
  /// Keeps the elements of `stage` from this (outer) loop on, while they are computed at `compute_at`.
  /// Requires: a loop outside the place where the stage is computed. Errors: OutputStage, Placeholder, NotComputedAt,
  /// NotALoop.
  void store_at(std::string_view stage, Loop loop);

  /// Inserts a copy of `source` that `consumer` reads instead. Returns the new stage's name, `source_cache`.
  ///   C[i] = f(A[i])    →    A_cache[i] = A[i];  C[i] = f(A_cache[i])
  /// Requires: `consumer` reads `source`; no stage has the new name. Errors: NotAConsumer, UnknownStage, Placeholder,
  /// DuplicateStage.
  std::string cache_read(std::string_view source, std::string_view consumer);
  /// Computes `stage` into a new stage `stage_local` first; `stage` becomes a copy of it.
  ///   C[i] = f(i)       →    C_local[i] = f(i);  C[i] = C_local[i]
  /// Requires: `stage` has untouched loops; no stage has the new name. Errors: Placeholder, AlreadyScheduled,
  /// DuplicateStage.
  std::string cache_write(std::string_view stage);
  /// Cuts a reduce axis into blocks of `factor`: a new stage `stage_rf` reduces each block (its first spatial axis
  /// counts the blocks) and `stage` reduces the blocks. Requires: untouched loops; an associative reducer, commutative
  /// where there are several reduce axes. Errors: NotAReduceAxis, NotAssociative, NotCommutative, AlreadyScheduled,
  /// EmptyFactor, Placeholder, DuplicateStage.
  std::string rfactor(std::string_view stage, std::string_view axis, std::int64_t factor);

  /// Makes two neighbouring axes of the definition one, named `outer_inner`. Elements keep their row-major places, so
  /// an output keeps its memory; boxes on the new axis are exact, unlike those of fused loops.
  ///   for i in 4:                   for i_j in 12:
  ///     for j in 3:           →       C[i_j] = f(i_j / 3, i_j % 3)
  ///       C[i, j] = f(i, j)
  /// Requires: untouched loops, no layout; both axes spatial or both reduce, next to each other, without gaps between
  /// them in an output's memory. Returns the new loop. Errors: Placeholder, UnknownAxis, MixedReduce, NotAdjacent,
  /// Gaps, AlreadyScheduled, DuplicateAxis.
  Loop fuse_axes(std::string_view stage, std::string_view outer, std::string_view inner);

  /// Stores the elements in this order; a bijection from indices to storage, up to padding. Loops are not affected.
  /// Requires: every axis covered exactly: divisors chain from 1 (see LayoutDim). Errors: OutputStage, Placeholder,
  /// NotABijection.
  void set_layout(std::string_view stage, const std::vector<LayoutDim>& layout);
  void set_scope(std::string_view stage, Scope scope);
  /// Computes the stage once, when the constants are known. Requires: reads constants and prepared stages only, through
  /// inlined stages too; at root; no output. Errors: NotConstant, OutputStage, Placeholder, NotAtRoot.
  void prepared(std::string_view stage);

 private:
  StageSchedule& edit(int stage) { return stages_[static_cast<std::size_t>(stage)]; }
  int require_stage(std::string_view name, bool computed) const;
  void require_loop(Loop loop, bool serial) const;
  /// Requires what `prefetch` does of its loop, and that its stage reads the source, whose index it returns.
  int require_prefetchable(std::string_view source_name, Loop loop) const;
  int add_stage(ir::StagePtr definition);
  /// Gives `stage` a new definition with the same axes; whoever reads the old one reads the new one.
  void redefine(int stage, ir::StagePtr definition);
  /// The same where the axes at `place` and behind it have become one and the second had this extent; `place` -1: none.
  void redefine(int stage, ir::StagePtr definition, std::ptrdiff_t place, std::int64_t extent);
  void record(std::string primitive, std::vector<std::string> args) {
    trace_.push_back({std::move(primitive), std::move(args)});
  }

  ir::Compute compute_;
  std::vector<StageSchedule> stages_;
  std::vector<std::string> outputs_;
  Trace trace_;
};

/// The loops of every stage, for people.
std::string print(const Schedule& schedule);

/// Indices (into `schedule.stages()`) of the stages that `stage` reads, each once, in order of first read.
std::vector<int> reads_of(const Schedule& schedule, int stage);
/// Whether `stage` reads `source`, itself or through elementwise stages that are inlined or computed in its loops.
bool reads_inside(const Schedule& schedule, int stage, int source);
/// Every stage after the stages that it reads.
std::vector<int> topological_order(const Schedule& schedule);

}  // namespace temper::schedule
