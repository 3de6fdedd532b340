#include "temper/tune/task.h"

#include <charconv>
#include <utility>

#include "temper/ops/registry.h"
#include "temper/ops/spec.h"
#include "temper/support/error.h"

namespace temper::tune {
namespace {

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

Task task_from_spec(std::string_view spec, int threads) {
  // A key's last field is no part of the workload.
  constexpr std::string_view kField = ",threads=";
  const std::size_t at = spec.rfind(kField), end = spec.rfind(')');
  if (at == std::string_view::npos || end == std::string_view::npos || end < at)
    return make_task(ops::parse_spec(spec), threads);
  const std::string_view number = spec.substr(at + kField.size(), end - at - kField.size());
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), threads);
  if (parsed.ec != std::errc{} || parsed.ptr != number.data() + number.size()) {
    throw Error(ErrorCode::InvalidArgument, "cannot read '" + std::string(number) + "' as threads", std::string(spec),
                "expected a number");
  }
  return make_task(ops::parse_spec(std::string(spec.substr(0, at)) + ")"), threads);
}

std::vector<Task> tasks_from_model(const graph::Program& program, int threads) {
  std::vector<Task> tasks;
  for (const graph::Task& task : program.tasks) tasks.push_back(make_task(task.work, threads, task.count));
  for (auto step = program.steps.rbegin(); step != program.steps.rend(); ++step)
    tasks[static_cast<std::size_t>(step->task)].name = step->name;
  return tasks;
}

}  // namespace temper::tune
