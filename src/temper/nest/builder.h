// The recursive construction behind `build`. One instance builds one program.
#pragma once

#include "temper/nest/build.h"
#include "temper/nest/nest_state.h"

namespace temper::nest {

class Builder {
 public:
  Builder(const schedule::Schedule& schedule, const BuildOptions& options);
  Program run() &&;

 private:
  // build.cpp: nests, loops, statements
  void root_stage(int stage);
  StageState instantiate(int stage, const std::vector<Range>& box, const std::vector<char>& clamped) const;
  void nest(StageState& state, std::size_t depth, std::vector<Node>& out);
  void loop(StageState& state, std::size_t depth, std::vector<Node>& out);
  void serial_loop(StageState& state, std::size_t depth, int iter, std::vector<Node>& out);
  void component(StageState& state, std::size_t depth, const std::vector<FusedLoop::Component>& components,
                 const std::vector<int>& iters, std::size_t index, std::vector<Node>& out);
  /// Gives a vectorised loop its width. Throws ScheduleError VectorLanes.
  void set_lanes(const StageState& state, int iter, Loop& loop);
  /// The value of a loop that stands outside of the one being built; nothing when none such does.
  std::optional<IterValue> value_outside(schedule::Loop loop) const;
  /// What iteration `iter` asks for ahead of its reads.
  void prefetch(const StageState& state, int iter, std::vector<Node>& out);
  /// What is read of one source in an iteration.
  struct AheadReads {
    int source;
    std::vector<Range> box;
    bool found = false, opaque = false;
  };
  /// Adds what `reader` reads of it over `axes`, itself and through elementwise stages that are computed inside loop
  /// `iter` of `host`.
  void add_reads(const StageState& host, int iter, int reader, const std::vector<Range>& axes, AheadReads& ahead);
  void inside(StageState& state, std::size_t depth, int iter, std::vector<Node>& out);
  void spatial_nest(StageState& state, std::size_t depth, Statement::Kind kind, std::vector<Node>& out);
  void statement(StageState& state, Statement::Kind kind, std::vector<Node>& out);
  /// Shrinks `loop` (a reduce loop over a whole axis) to the conditions that it alone decides. Returns false when no
  /// iteration is left.
  bool bound_reduce_loop(StageState& state, int iter, Loop& loop);

  // partition.cpp
  /// Cuts [begin, end) of the loop bound to `iter` where a border condition of a stage inside changes.
  std::vector<std::int64_t> border_cuts(const StageState& state, int iter, std::int64_t begin, std::int64_t end);
  bool bounded_by_loop(int stage, const Condition& condition) const;

  // placement.cpp
  /// Whether `stage` is computed inside `loop` of the stage being built (at it or further inside).
  bool in_scope(int stage, const StageState& state, std::size_t position) const;
  /// Boxes of every stage in scope, by stage; empty vectors elsewhere. The state's own ranges are at [state.stage].
  std::vector<std::vector<Range>> scope_boxes(const StageState& state, std::size_t position);
  void attached(StageState& state, std::size_t depth, int iter, std::vector<Node>& out);
  /// Whether everything that the box of `stage` reads because of `axis` is stored, also where the box leaves the domain
  /// along it (into padding).
  bool reads_stay_stored(int stage, std::size_t axis, const std::vector<std::vector<Range>>& boxes);
  int add_storage(int stage, StorageKind kind, const std::vector<Range>& box);
  std::size_t position_of(const schedule::StageSchedule& stage, int iter) const;
  std::vector<std::int64_t> domain(int stage) const;

  const schedule::Schedule& schedule_;
  /// The loops that what is being built stands in: a state for each loop, outermost first.
  std::vector<const StageState*> outside_;
  const BuildOptions options_;
  Program program_;
  std::vector<int> order_;    ///< topological
  std::vector<int> storage_;  ///< current storage per stage, -1 when none
};

}  // namespace temper::nest
