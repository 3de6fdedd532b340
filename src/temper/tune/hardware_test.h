// What the tuning loop needs from the hardware test: builds, runs and races. The loop knows no process and no socket;
// `processes.h` has them, tests of the loop replay a table.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "temper/ir/dtype.h"
#include "temper/record/record.h"

namespace temper::tune {

/// One candidate to build.
struct BuildJob {
  std::string compute;    ///< text form of the definition
  std::string trace;      ///< text form of the schedule's trace
  std::string candidate;  ///< text of the candidate
};

struct BuildResult {
  record::FailureKind failure = record::FailureKind::None;
  std::string reason;
  std::string artifact;  ///< bytes of a shared object; empty on failure
  double seconds = 0;    ///< wall-clock
  bool ok() const { return failure == record::FailureKind::None; }
};

/// Data that every candidate of a task runs on.
struct TaskData {
  struct Input {
    std::string name;
    ir::DType dtype = ir::DType::F32;
    std::string bytes;  ///< elements as the definition stores them, gaps included
  };
  struct Output {
    std::string name;
    ir::DType dtype = ir::DType::F32;
    std::int64_t bytes = 0;
    std::string expected;  ///< every element is compared with it, and gaps with what they held; empty: not compared
    double absolute_tolerance = 0;
  };
  std::vector<Input> inputs;  ///< constants too
  std::vector<Output> outputs;
  bool cold_constants = false;  ///< timed calls find constants, and what was prepared of them, outside of the caches
};

struct RunOnce {
  record::FailureKind failure = record::FailureKind::None;
  std::string reason;
  std::map<std::string, std::string> outputs;  ///< name → bytes
  double seconds = 0;                          ///< wall-clock
  bool ok() const { return failure == record::FailureKind::None; }
};

struct RaceResult {
  record::FailureKind failure = record::FailureKind::None;
  std::string reason;
  std::vector<std::vector<double>> samples;  ///< per artifact: seconds per call, one for each round
  std::vector<std::int64_t> numbers;         ///< per artifact: calls a sample
  bool ok() const { return failure == record::FailureKind::None; }
};

/// Faults of candidates are results. Error{Cancelled} when a stop was requested; other Errors only when measuring
/// itself is impossible.
class HardwareTest {
 public:
  virtual ~HardwareTest() = default;
  /// How many builds run at once: `build` is best called with that many jobs.
  virtual int parallel_builds() const = 0;
  /// One result per job, in order.
  virtual std::vector<BuildResult> build(std::span<const BuildJob> jobs) = 0;
  /// Does `work`, which keeps processors busy, while no tuner of this machine times.
  virtual void keep_busy(const std::function<void()>& work) { work(); }
  /// Data of the runs and races from here on. `best_seconds`: the best time so far; what is much slower need not be
  /// timed well.
  virtual void set_task(const TaskData& data, std::optional<double> best_seconds) = 0;
  /// Runs once between guard zones and returns the outputs, uncompared.
  virtual RunOnce run_once(const std::string& artifact) = 0;
  /// Compares the outputs with what is expected, then times. `build_seconds` is left at 0.
  virtual record::Measurement time(const std::string& artifact) = 0;
  /// Loads the artifacts and times them in turn, in a random order drawn for each round. `numbers`: calls a sample of
  /// each, as an earlier race of them gave; empty: they are calibrated first.
  virtual RaceResult race(std::span<const std::string> artifacts, std::span<const std::int64_t> numbers, int rounds,
                          std::uint64_t seed) = 0;
  /// Wall-clock within the calls so far that was spent waiting for another tuner on this machine.
  virtual double idle_seconds() const { return 0; }
  /// Samples so far that do not count, because the processor's clock changed or other processes had the CPU, and waits
  /// for the clock.
  struct Disturbed {
    std::int64_t clock = 0, others = 0;
  };
  virtual Disturbed disturbed() const { return {}; }
};

}  // namespace temper::tune
