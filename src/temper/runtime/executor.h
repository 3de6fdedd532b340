// Runs plans: constants prepared once, one arena, 1 to N threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "temper/runtime/plan.h"

namespace temper::runtime {

struct ExecutorOptions {
  int threads = 1;
  /// CPUs to pin the threads to, the calling thread not among them (thread i of 1.. to `cpus[i]`); empty: not pinned.
  std::vector<int> cpus;
  bool time_steps = false;  ///< measure each step of each run
};

/// Not thread-safe: one `run` at a time. Keeps the plan alive.
class Executor {
 public:
  /// Loads the artifacts, checks them against the plan, prepares the constants and allocates the arena.
  /// Throws Error{InvalidModel} for a plan that contradicts its artifacts, Error{Unsupported} when the machine lacks a
  /// CPU feature, Error{Corrupt} for an artifact that cannot be loaded, Error{Io} without memory.
  explicit Executor(std::shared_ptr<const Plan> plan, ExecutorOptions options = {});
  ~Executor();
  Executor(Executor&&) noexcept;
  Executor& operator=(Executor&&) noexcept;

  const Plan& plan() const;

  /// Pointers in the order of `plan().inputs` and `plan().outputs`, each to the tensor's `bytes` bytes. Memory that is
  /// aligned to 64 bytes is used in place, other memory is copied. Inputs and outputs must not overlap.
  void run(std::span<const void* const> inputs, std::span<void* const> outputs);
  /// By name. Throws Error{InvalidArgument} for a missing or unknown name, or a size that differs from the tensor's.
  void run(const std::map<std::string, std::span<const std::byte>>& inputs,
           const std::map<std::string, std::span<std::byte>>& outputs);

  /// Seconds of each step of the last run, in the plan's order; empty unless `time_steps`.
  std::span<const double> step_seconds() const;
  /// Bytes of all prepared blobs, each shared one counted once.
  std::int64_t blob_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace temper::runtime
