// Task extraction: a graph as a list of steps, each an instance of one of a few distinct tasks.
//
//   Graph (types, layouts) ─fuse─► groups ─► steps, each with its task; equal keys share one
//
// A task's definition may see its operands under other shapes than the graph does, with the same bytes: axes that are
// only used together are collapsed. A 1x1 convolution of stride 1 in NHWC is a matrix product, elementwise work is
// one-dimensional where no operand broadcasts, softmax and layer norm are rows and columns. So the layers of a model
// and `--op` SPECs share tasks, and more layers share one.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "temper/graph/graph.h"
#include "temper/ops/workload.h"
#include "temper/record/record.h"

namespace temper::graph {

/// One distinct piece of work.
struct Task {
  record::TaskKey key;
  ops::Workload work;                 ///< definition, alternatives, FLOPs, tolerance
  std::vector<std::string> operands;  ///< placeholders of the definition, in the order that steps bind them
  int count = 0;                      ///< number of steps
};

/// One execution of a task.
struct Step {
  int task = 0;
  std::string name;                ///< of the group's first node
  std::vector<std::string> nodes;  ///< names of the model's nodes that it computes; none for an added transpose
  std::vector<ValueId> operands;   ///< as `Task::operands`
  std::vector<ValueId> outputs;    ///< as `compute.outputs`
};

/// `value` is the bytes of `of` under another shape.
struct View {
  ValueId value = kAbsent;
  ValueId of = kAbsent;
};

/// `value` lies inside of `whole`, from its element `offset` on: whoever computes or reads it works there. A
/// concatenation whose inputs are parts of it needs no step, and neither does a slice that is a part of its input.
struct Part {
  ValueId value = kAbsent;  ///< has a storage of its own otherwise: it is the value of no `View`
  ValueId whole = kAbsent;
  std::int64_t offset = 0;
  /// A step computes the value, or parts of its own are computed; `whole` is there when all such parts of it are.
  /// Otherwise it is there when `whole` is.
  bool computed = false;
};

struct Program {
  Graph graph;  ///< values, inputs and outputs; its nodes are those that the steps and views were made from
  std::vector<Task> tasks;
  std::vector<Step> steps;  ///< in order of execution
  std::vector<View> views;  ///< in an order such that `of` is defined before `value`
  std::vector<Part> parts;  ///< each value at most once
};

/// Requires inferred shapes. `use_parts` false: every concatenation and slice is a step that copies. Throws what the
/// operators' definitions throw, with the node as the place.
Program extract_tasks(Graph graph, bool fuse_nodes = true, bool use_parts = true);

/// The value behind all views, and itself for a value that is none.
ValueId storage_of(const Program& program, ValueId id);

/// The part that a value is, views followed; null for one that is none.
const Part* part_of(const Program& program, ValueId id);

/// Where a value lies, views and parts followed: from element `offset` of `owner` on, which is neither.
struct Location {
  ValueId owner = kAbsent;
  std::int64_t offset = 0;
};
Location location_of(const Program& program, ValueId id);

/// Whether all of a value is there once the storages in `written` are.
bool is_there(const Program& program, ValueId id, const std::set<ValueId>& written);

}  // namespace temper::graph
