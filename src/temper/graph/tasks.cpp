#include "temper/graph/tasks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "temper/graph/definition.h"
#include "temper/graph/fusion.h"
#include "temper/graph/workloads.h"
#include "temper/support/error.h"

namespace temper::graph {
namespace {

/// The task of that key, added when it is new.
int task_number(Program& program, std::map<std::string, int>& numbers, BoundWorkload& bound) {
  const record::TaskKey key{bound.work.op, bound.work.fields};
  const auto [entry, is_new] = numbers.try_emplace(key.text(), static_cast<int>(program.tasks.size()));
  if (is_new) program.tasks.push_back(Task{key, std::move(bound.work), bound.operands, 0});
  Task& task = program.tasks[static_cast<std::size_t>(entry->second)];
  TEMPER_CHECK(task.operands == bound.operands, "equal keys with different operands: " + key.text());
  ++task.count;
  return entry->second;
}

}  // namespace

Program extract_tasks(Graph graph, bool fuse_nodes) {
  Program program;
  program.graph = std::move(graph);
  for (const Node& node : program.graph.nodes) {
    if (is_view(node)) program.views.push_back(View{node.outputs[0], node.inputs[0]});
  }
  std::map<std::string, int> numbers;
  for (const Group& group : fuse(program.graph, fuse_nodes)) {
    const Node base = program.graph.nodes[static_cast<std::size_t>(group.nodes[0])];
    at_node(base, [&] {
      const auto anchor = anchor_of(program.graph, base);
      BoundWorkload bound =
          anchor ? anchored_workload(program.graph, group, *anchor) : plain_workload(program.graph, group);
      Step step;
      step.name = base.name;
      for (const int n : group.nodes) {
        for (const std::string& origin : program.graph.nodes[static_cast<std::size_t>(n)].origins) {
          if (std::find(step.nodes.begin(), step.nodes.end(), origin) == step.nodes.end()) step.nodes.push_back(origin);
        }
      }
      step.operands = bound.values;
      step.outputs = bound.outputs;
      step.task = task_number(program, numbers, bound);
      program.steps.push_back(std::move(step));
    });
  }
  return program;
}

ValueId storage_of(const Program& program, ValueId id) {
  for (auto view = program.views.rbegin(); view != program.views.rend(); ++view) {
    if (view->value == id) id = view->of;
  }
  return id;
}

}  // namespace temper::graph
