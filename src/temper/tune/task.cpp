#include "temper/tune/task.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "temper/ops/registry.h"
#include "temper/ops/spec.h"
#include "temper/support/error.h"

namespace temper::tune {
namespace {

constexpr std::string_view kConstants = "constants", kCold = "cold";  // a field of keys
constexpr std::string_view kThreads = ",threads=";

void check_counts(int threads, int count) {
  if (threads < 1) throw Error(ErrorCode::InvalidArgument, "a task runs on at least one thread", "threads");
  if (count < 1) throw Error(ErrorCode::InvalidArgument, "a task occurs at least once", "count");
}

}  // namespace

Task make_task(const ops::Workload& workload, int threads, int count) {
  check_counts(threads, count);
  Task task;
  task.name = workload.text();
  task.key = {workload.op, workload.fields};
  task.key.fields.emplace_back("threads", std::to_string(threads));
  task.compute = workload.compute;
  task.alternatives = workload.alternatives;
  task.flops = workload.flops;
  task.tolerance_factor = workload.tolerance;
  task.count = count;
  task.threads = threads;
  task.definition_hash = ir::structural_hash(task.compute);
  return task;
}

Task make_task(std::string op, std::vector<std::pair<std::string, std::string>> fields, ir::Compute compute,
               int threads, int count) {
  ir::verify(compute);
  ops::Workload workload;
  workload.op = std::move(op);
  workload.fields = std::move(fields);
  workload.flops = ops::flops(compute);
  workload.tolerance = ops::tolerance_factor(compute);
  workload.compute = std::move(compute);
  return make_task(workload, threads, count);
}

Task with_cold_constants(Task task) {
  const auto is_constant = [](const ir::StagePtr& stage) { return stage->constant; };
  if (task.cold_constants || std::ranges::none_of(task.compute.stages, is_constant)) return task;
  task.cold_constants = true;
  task.key.fields.insert(task.key.fields.end() - 1, {std::string(kConstants), std::string(kCold)});
  return task;
}

Task task_from_spec(std::string_view spec, int threads) {
  // A key's last fields are no part of the workload.
  std::string workload(spec);
  const std::size_t end = workload.rfind(')'), at = workload.rfind(kThreads);
  if (at == std::string::npos || end == std::string::npos || end < at)
    return make_task(ops::parse_spec(workload), threads);
  const std::string number = workload.substr(at + kThreads.size(), end - at - kThreads.size());
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), threads);
  if (parsed.ec != std::errc{} || parsed.ptr != number.data() + number.size())
    throw Error(ErrorCode::InvalidArgument, "cannot read '" + number + "' as threads", workload, "expected a number");
  workload.resize(at);
  const std::string cold = "," + std::string(kConstants) + "=" + std::string(kCold);
  const bool is_cold = workload.ends_with(cold);
  if (is_cold) workload.resize(workload.size() - cold.size());
  Task task = make_task(ops::parse_spec(workload + ")"), threads);
  if (is_cold) task = with_cold_constants(std::move(task));
  if (is_cold && !task.cold_constants) {
    throw Error(ErrorCode::InvalidArgument, "there are no constants that could be cold", std::string(spec),
                "leave constants=cold out");
  }
  return task;
}

std::vector<Task> tasks_from_model(const graph::Program& program, int threads, const target::Target& target) {
  std::set<graph::ValueId> constants;
  for (const graph::Step& step : program.steps) {
    for (const graph::ValueId id : step.operands) {
      const graph::ValueId storage = graph::storage_of(program, id);
      if (program.graph.value(storage).is_constant()) constants.insert(storage);
    }
  }
  std::int64_t bytes = 0;
  for (const graph::ValueId id : constants)
    bytes += static_cast<std::int64_t>(program.graph.value(id).data->bytes->size());
  const std::int64_t last_cache = std::max(target.l3_bytes, target.l2_bytes);
  const bool cold = last_cache > 0 && bytes > last_cache;  // 0: not known
  std::vector<Task> tasks;
  for (const graph::Task& task : program.tasks) {
    tasks.push_back(make_task(task.work, threads, task.count));
    if (cold) tasks.back() = with_cold_constants(std::move(tasks.back()));
  }
  for (auto step = program.steps.rbegin(); step != program.steps.rend(); ++step)
    tasks[static_cast<std::size_t>(step->task)].name = step->name;
  return tasks;
}

}  // namespace temper::tune
