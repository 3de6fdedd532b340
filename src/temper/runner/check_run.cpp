#include "temper/runner/check_run.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "temper/runner/compare.h"

namespace temper::runner {
namespace {

using protocol::FaultPage;
using record::FailureKind;

/// Memory of one buffer: the task's where it is an input or constant, else its own.
struct Place {
  std::string name;
  int role = TEMPER_INPUT;
  GuardedMemory* memory = nullptr;
};

const char* role_name(int role) {
  constexpr std::array kNames{"input", "constant", "output", "blob", "workspace"};
  return kNames[static_cast<std::size_t>(role)];
}

void add_zones(std::vector<FaultZone>& zones, const GuardedMemory& memory, const std::string& what, bool read_only) {
  zones.push_back({memory.before(), FaultPage::OutOfBounds, "accessed memory before " + what});
  zones.push_back({memory.behind(), FaultPage::OutOfBounds, "accessed memory behind " + what});
  if (read_only) zones.push_back({memory.middle(), FaultPage::OutOfBounds, "wrote to " + what});
}

/// Writing to blobs is what `prepare` is for, writing to the others is what `run` is for.
bool is_read_only(int role, bool preparing) {
  if (role == TEMPER_INPUT || role == TEMPER_CONSTANT) return true;
  if (role == TEMPER_WORKSPACE) return false;
  return (role == TEMPER_BLOB) != preparing;
}

Outcome interface_error(const std::string& reason) { return {FailureKind::CompileError, reason}; }

std::string size_error(const temper_buffer& buffer, std::int64_t bytes) {
  return std::string(role_name(buffer.role)) + " '" + buffer.name + "' has " + std::to_string(buffer.bytes) +
         " bytes, the task has " + std::to_string(bytes);
}

}  // namespace

Outcome check_interface(const runtime::ArtifactImage& image, const TaskData& task, int threads,
                        std::int64_t memory_limit) {
  double own_bytes =
      static_cast<double>(image.scratch_bytes()) * threads;  // f64: a sum of absurd sizes must not wrap around
  std::size_t outputs = 0;
  for (const temper_buffer& buffer : image.buffers()) {
    const std::string name = buffer.name;
    if (buffer.role == TEMPER_INPUT || buffer.role == TEMPER_CONSTANT) {
      const auto found = task.inputs.find(name);
      if (found == task.inputs.end())
        return interface_error("the task has no " + std::string(role_name(buffer.role)) + " '" + name + "'");
      if (static_cast<std::int64_t>(found->second.aligned.size()) != buffer.bytes)
        return interface_error(size_error(buffer, static_cast<std::int64_t>(found->second.aligned.size())));
    } else if (buffer.role == TEMPER_OUTPUT) {
      const auto found = task.outputs.find(name);
      if (found == task.outputs.end()) return interface_error("the task has no output '" + name + "'");
      if (found->second.bytes != buffer.bytes) return interface_error(size_error(buffer, found->second.bytes));
      if (found->second.dtype != buffer.dtype)
        return interface_error("output '" + name + "' has another element type in the task");
      ++outputs;
    } else {
      own_bytes += static_cast<double>(buffer.bytes);
    }
  }
  if (outputs != task.outputs.size())
    return interface_error("it writes " + std::to_string(outputs) + " outputs, the task has " +
                           std::to_string(task.outputs.size()));
  if (memory_limit > 0 && own_bytes > static_cast<double>(memory_limit)) {
    return {FailureKind::ResourceLimit, "blobs, workspace and scratch take " +
                                            std::to_string(static_cast<std::int64_t>(own_bytes)) +
                                            " bytes; the limit is " + std::to_string(memory_limit)};
  }
  return {};
}

Outcome compare_output(const std::string& name, const Output& output, std::span<const std::byte> actual,
                       double& max_error) {
  if (!output.has_expected) return {};
  const Comparison result =
      compare(output.dtype, actual, std::as_bytes(std::span(output.expected)), output.absolute_tolerance);
  max_error = std::max(max_error, result.relative());
  if (result.wrong == 0) return {};
  return {FailureKind::WrongResult, "output '" + name + "': " + result.first_text + "; " +
                                        std::to_string(result.wrong) + " elements differ, by up to " +
                                        std::to_string(result.max_difference)};
}

CheckResult check_run(const runtime::ArtifactImage& image, TaskData& task, runtime::ThreadPool& pool,
                      FaultHandler& faults, std::span<const FaultZone> stack_zones, bool compare_outputs) {
  const auto buffers = image.buffers();
  std::vector<GuardedMemory> own;
  own.reserve(buffers.size());
  std::vector<Place> places;
  std::vector<void*> pointers;
  for (const temper_buffer& buffer : buffers) {
    const bool from_task = buffer.role == TEMPER_INPUT || buffer.role == TEMPER_CONSTANT;
    GuardedMemory* memory =
        from_task ? &task.inputs.find(buffer.name)->second.guarded : &own.emplace_back(buffer.bytes);
    places.push_back({buffer.name, buffer.role, memory});
    pointers.push_back(memory->data());
  }
  std::vector<GuardedMemory> scratch;
  std::vector<void*> scratch_pointers;
  for (int thread = 0; thread < pool.threads(); ++thread) {
    scratch_pointers.push_back(scratch.emplace_back(image.scratch_bytes()).data());
  }

  const auto run = [&](std::span<const temper_phase> phases, bool preparing) {
    std::vector<FaultZone> zones(stack_zones.begin(), stack_zones.end());
    for (const Place& place : places) {
      const bool read_only = is_read_only(place.role, preparing);
      place.memory->set_writable(!read_only);
      add_zones(zones, *place.memory, std::string(role_name(place.role)) + " '" + place.name + "'", read_only);
    }
    for (const GuardedMemory& memory : scratch) add_zones(zones, memory, "a thread's scratch", false);
    faults.watch(std::move(zones));
    runtime::run_phases(phases, pointers.data(), pool, scratch_pointers);
  };
  run(image.prepare(), true);
  for (const Place& place : places) {
    if (place.role == TEMPER_WORKSPACE) place.memory->spoil();  // what `prepare` left there means nothing to `run`
  }
  run(image.run(), false);
  faults.watch({});

  CheckResult result;
  for (const Place& place : places) {
    if (const auto damage = place.memory->damage()) {
      result.outcome = {FailureKind::OutOfBounds,
                        std::string("wrote ") + *damage + ", " + role_name(place.role) + " '" + place.name + "'"};
      return result;
    }
  }
  for (const GuardedMemory& memory : scratch) {
    if (const auto damage = memory.damage()) {
      result.outcome = {FailureKind::OutOfBounds, std::string("wrote ") + *damage + ", a thread's scratch"};
      return result;
    }
  }
  for (const Place& place : places) {
    if (place.role != TEMPER_OUTPUT) continue;
    const auto bytes = std::as_const(*place.memory).span();
    result.outputs.emplace_back(place.name, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    if (!compare_outputs) continue;
    const Outcome outcome = compare_output(place.name, task.outputs.find(place.name)->second, bytes, result.max_error);
    if (result.outcome.ok()) result.outcome = outcome;
  }
  return result;
}

}  // namespace temper::runner
