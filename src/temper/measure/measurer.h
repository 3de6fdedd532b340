// From candidates to measurements: builds a batch in builder processes, then checks and times each in a runner process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "temper/measure/builder_client.h"
#include "temper/measure/runner_access.h"
#include "temper/measure/timing_lock.h"
#include "temper/record/record.h"
#include "temper/support/cancellation.h"
#include "temper/support/clock.h"

namespace temper::measure {

struct MeasureOptions {
  int threads = 1;
  int repeats = 5;                   ///< samples per candidate
  double min_sample_seconds = 2e-3;  ///< the inner loop is made long enough for this
  std::int64_t number = 0;           ///< calls per sample; 0: as `min_sample_seconds` wants it
  bool cold = false;                 ///< every call starts outside of the caches
  double run_limit_seconds = 10;     ///< checking and timing of one candidate; then RunTimeout
  double build_limit_seconds = 10;   ///< building one candidate; then CompileTimeout
  /// A candidate slower than this many times the task's best so far keeps its first sample alone; 0: never give up.
  double give_up_factor = 3;
  int retakes = 4;            ///< so many times `repeats` further samples where the clock or others disturbed some
  int stability_retries = 2;  ///< further rounds of samples while the minimum stands alone
  double stability_tolerance =
      1.0;           ///< a second sample must come this close to the minimum (1: within twice), else Unstable
  int builders = 0;  ///< processes; 0: one for each CPU this process may use
  std::int64_t runner_memory_limit = 0;   ///< bytes; 0: half of the machine's memory
  std::int64_t builder_memory_limit = 0;  ///< bytes; 0: half of the machine's memory
  std::vector<int> cpus;                  ///< for the threads that are timed; empty: `timing_cpus`
  std::filesystem::path builder,
      runner;                       ///< programs; empty: `temper-builder`, `temper-runner` beside the running program
  std::filesystem::path lock_file;  ///< empty: `TimingLock::default_file()`
  protocol::BuildOptions build;     ///< for every candidate
};

/// What is to be built: texts of compute definition and trace, see BuildRequest.
struct MeasureInput {
  std::string compute, trace;
};

struct Measured {
  bool done = false;  ///< false only for what a cancellation left undone
  record::Measurement measurement;
  std::string artifact;                       ///< bytes; empty when it was not built
  std::map<std::string, double> build_steps;  ///< seconds by step
};

/// Wall-clock by what was going on; the parts exclude one another.
struct PhaseSeconds {
  double build = 0, run = 0;
  double idle = 0;  ///< waiting for another tuner on this machine
};

/// Samples that were taken and do not count, see `runner/surroundings.h`.
struct Disturbed {
  std::int64_t clock = 0, others = 0;
};

/// Called after each candidate: how many of the batch are built, how many are finished, and which one just was.
using Progress =
    std::function<void(std::size_t built, std::size_t finished, std::size_t index, const Measured& measured)>;

/// Not thread-safe. Its processes live as long as it does, and die with this process.
class Measurer {
 public:
  /// `target`: target::serialise of what to build for. Starts all processes. Borrows the clock.
  /// Throws Error{NotFound}, Error{Io} when a program is missing or does not start.
  Measurer(std::string target, MeasureOptions options, const Clock& clock);
  /// The same with somebody else who times: no runner processes are started.
  Measurer(std::string target, MeasureOptions options, const Clock& clock, std::unique_ptr<RunnerAccess> runner);

  /// Data and expectations for all that follows. `best_seconds`: the best time known so far, from which on candidates
  /// are given up.
  void set_task(protocol::SetTask task, std::optional<double> best_seconds = {});

  /// One result for each input, in their order. A failure of a candidate is a result; errors are thrown only for what
  /// no candidate is to blame for (see RunnerClient and BuilderClient). When cancelled, returns what is finished.
  std::vector<Measured> measure(std::span<const MeasureInput> batch, const CancellationToken& cancelled,
                                const Progress& progress = {});

  /// Does `work`, which keeps processors busy, while no tuner of this machine times. Throws Error{Cancelled}.
  void keep_busy(const std::function<void()>& work, const CancellationToken& cancelled);

  /// Builds without running.
  std::vector<protocol::BuildReply> build(std::span<const MeasureInput> batch, const CancellationToken& cancelled);

  /// Checks (`check`: against the task's expectations) and times one artifact.
  Measured time(const std::string& artifact, bool check, const CancellationToken& cancelled);

  /// Runs an artifact once between guard zones and returns its outputs by name, uncompared.
  struct Outputs {
    record::Measurement measurement;
    std::map<std::string, std::string> outputs;
  };
  Outputs run_once(const std::string& artifact, const CancellationToken& cancelled);

  /// Times artifacts of the task against each other, in turn and in random order: seconds per call, one list for each
  /// artifact. `numbers`: calls a sample of each, as an earlier race gave them; empty: they are calibrated.
  struct Race {
    record::FailureKind failure = record::FailureKind::None;
    std::string reason;
    std::vector<std::vector<double>> seconds;
    std::vector<std::int64_t> numbers;
  };
  Race race(std::span<const std::string> artifacts, std::span<const std::int64_t> numbers, int rounds,
            std::uint64_t seed, const CancellationToken& cancelled);

  const PhaseSeconds& phases() const { return phases_; }
  const Disturbed& disturbed() const { return disturbed_; }
  const MeasureOptions& options() const { return options_; }

 private:
  protocol::Timing timing() const;
  /// The lock, its waiting time counted as idle. Throws Error{Cancelled}.
  TimingLock::Guard lock(TimingLock::Mode mode, const CancellationToken& cancelled);
  /// The lock for timing; nothing where the runner sees to it.
  std::optional<TimingLock::Guard> lock_to_time(const CancellationToken& cancelled);
  /// Counts what a request took from `start` on as run, but for what the runner waited; returns the former. Keeps what
  /// the reply says of the machine.
  template <class Reply>
  double count_run(double start, const Reply& reply);
  protocol::MeasureReply run(const protocol::MeasureRequest& request, const CancellationToken& cancelled,
                             double& seconds);

  std::string target_;
  MeasureOptions options_;
  const Clock* clock_;
  TimingLock lock_;
  Spawner spawner_;  // outlives the processes below
  BuilderClient builder_;
  std::unique_ptr<RunnerAccess> runner_;
  PhaseSeconds phases_;
  Disturbed disturbed_;
  double best_probe_seconds_ = 0;  ///< of the runners' clock
  std::optional<double> best_seconds_;
  std::uint64_t task_ = 0;
  std::uint64_t next_id_ = 1;
};

}  // namespace temper::measure
