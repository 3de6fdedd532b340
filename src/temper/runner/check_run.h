// The checking run: a kernel runs once with all of its memory between guard zones, and its outputs are compared.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "temper/runner/fault_handler.h"
#include "temper/runner/outcome.h"
#include "temper/runner/task_data.h"
#include "temper/runtime/artifact_image.h"
#include "temper/runtime/thread_pool.h"

namespace temper::runner {

/// Whether the artifact's buffers are those of the task (inputs and constants by name and size, outputs likewise):
/// CompileError that names the buffer, else. And whether its blobs, workspace and scratch for `threads` threads stay
/// below `memory_limit` bytes (0: no limit): ResourceLimit, else.
Outcome check_interface(const runtime::ArtifactImage& image, const TaskData& task, int threads,
                        std::int64_t memory_limit);

struct CheckResult {
  Outcome outcome;
  double max_error = 0;  ///< largest over the outputs, relative to each one's largest expected value
  std::vector<std::pair<std::string, std::string>> outputs;  ///< name and bytes, in the artifact's order
};

/// Runs `prepare` and `run` once. Inputs, constants and, during `run`, blobs are write-protected; outputs, blobs,
/// workspace and scratch hold NaN at first. OutOfBounds when memory around a buffer was changed, WrongResult when an
/// output differs (only compared when `compare_outputs`). A fault ends the process through `faults`. Requires:
/// `check_interface` was content. Throws Error{Io} without memory.
CheckResult check_run(const runtime::ArtifactImage& image, TaskData& task, runtime::ThreadPool& pool,
                      FaultHandler& faults, std::span<const FaultZone> stack_zones, bool compare_outputs);

/// Compares one output. WrongResult, or OK; `max_error` is raised to its relative error.
Outcome compare_output(const std::string& name, const Output& output, std::span<const std::byte> actual,
                       double& max_error);

}  // namespace temper::runner
