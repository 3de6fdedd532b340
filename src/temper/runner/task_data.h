// The data of one task in a runner: filled inputs and expected outputs, kept between measurements.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "temper/protocol/messages.pb.h"
#include "temper/runner/guarded_memory.h"
#include "temper/runtime/memory.h"
#include "temper/target/artifact_abi.h"

namespace temper::runner {

/// Input data twice over: between guard zones for checking runs, read only; in `TaskData::memory` for timing.
struct Input {
  temper_dtype dtype = TEMPER_F32;
  GuardedMemory guarded;
  std::span<std::byte> aligned;
};

struct Output {
  temper_dtype dtype = TEMPER_F32;
  std::span<std::byte> aligned;  ///< in `TaskData::memory`, for timing
  std::int64_t bytes = 0;
  bool has_expected = false;
  std::string expected;
  double absolute_tolerance = 0;
};

struct TaskData {
  std::uint64_t id = 0;
  bool cold_constants = false;  ///< see SetTask
  /// Where every candidate is timed: with memory of its own each would have its own luck with the caches.
  runtime::BufferGroup memory;
  runtime::TurnMemory own_memory;  ///< for what a candidate prepares, and its workspace
  std::map<std::string, Input, std::less<>> inputs;
  std::map<std::string, Output, std::less<>> outputs;
};

/// Throws Error{InvalidArgument} for data that contradict themselves, Error{Io} without memory.
TaskData make_task_data(const protocol::SetTask& message);

/// Elements of `dtype` as a Fill describes them: the same on every machine.
void fill(const protocol::Fill& rule, temper_dtype dtype, std::span<std::byte> bytes);

}  // namespace temper::runner
