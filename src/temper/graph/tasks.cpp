#include "temper/graph/tasks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "temper/graph/definition.h"
#include "temper/graph/fusion.h"
#include "temper/graph/parts.h"
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

Program extract_tasks(Graph graph, bool fuse_nodes, bool use_parts) {
  Program program;
  program.graph = std::move(graph);
  for (const Node& node : program.graph.nodes) {
    if (is_view(node)) program.views.push_back(View{node.outputs[0], node.inputs[0]});
  }
  const std::vector<Group> groups = fuse(program.graph, fuse_nodes);
  std::vector<BoundWorkload> workloads;
  for (const Group& group : groups) {
    const Node base = program.graph.nodes[static_cast<std::size_t>(group.nodes[0])];
    at_node(base, [&] {
      const auto anchor = anchor_of(program.graph, base);
      workloads.push_back(anchor ? anchored_workload(program.graph, group, *anchor)
                                 : plain_workload(program.graph, group));
    });
  }
  std::vector<bool> needless(groups.size(), false);
  if (use_parts) {
    PartPlan plan = place_parts(program, groups, workloads);
    program.parts = std::move(plan.parts);
    needless = std::move(plan.needless);
    for (auto& [id, strides] : plan.strides) program.graph.value(id).strides = std::move(strides);
    const auto has_gaps = [&](ValueId id) { return !program.graph.value(id).strides.empty(); };
    for (std::size_t g = 0; g < groups.size(); ++g) {
      BoundWorkload& work = workloads[g];
      if (needless[g] || !(std::ranges::any_of(work.values, has_gaps) || std::ranges::any_of(work.outputs, has_gaps)))
        continue;
      if (has_any_shape(work)) work = plain_workload(program.graph, groups[g]);
      lay_out(program.graph, work);
    }
  }
  std::map<std::string, int> numbers;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (needless[g]) continue;
    Step step;
    step.name = program.graph.nodes[static_cast<std::size_t>(groups[g].nodes[0])].name;
    for (const int n : groups[g].nodes) {
      for (const std::string& origin : program.graph.nodes[static_cast<std::size_t>(n)].origins) {
        if (std::find(step.nodes.begin(), step.nodes.end(), origin) == step.nodes.end()) step.nodes.push_back(origin);
      }
    }
    step.operands = workloads[g].values;
    step.outputs = workloads[g].outputs;
    step.task = task_number(program, numbers, workloads[g]);
    program.steps.push_back(std::move(step));
  }
  return program;
}

ValueId storage_of(const Program& program, ValueId id) {
  for (auto view = program.views.rbegin(); view != program.views.rend(); ++view) {
    if (view->value == id) id = view->of;
  }
  return id;
}

const Part* part_of(const Program& program, ValueId id) {
  const ValueId storage = storage_of(program, id);
  const auto part = std::find_if(program.parts.begin(), program.parts.end(),
                                 [&](const Part& candidate) { return candidate.value == storage; });
  return part == program.parts.end() ? nullptr : &*part;
}

Location location_of(const Program& program, ValueId id) {
  Location location{storage_of(program, id), 0};
  while (const Part* part = part_of(program, location.owner)) {
    location = {storage_of(program, part->whole), location.offset + part->offset};
  }
  return location;
}

bool is_there(const Program& program, ValueId id, const std::set<ValueId>& written) {
  const ValueId storage = storage_of(program, id);
  if (written.contains(storage)) return true;
  const Part* part = part_of(program, storage);
  if (part != nullptr && !part->computed) return is_there(program, part->whole, written);
  bool any = false, all = true;
  for (const Part& inside : program.parts) {
    if (!inside.computed || storage_of(program, inside.whole) != storage) continue;
    any = true;
    all = all && is_there(program, inside.value, written);
  }
  return any && all;
}

}  // namespace temper::graph
