#include "temper/tune/dataset_collection.h"

#include <memory>

#include "temper/support/error.h"
#include "temper/tune/processes.h"
#include "temper/tune/session.h"
#include "temper/tune/task_tuner.h"

namespace temper::tune {

Report collect(std::span<const Task> tasks, std::size_t per_task, std::uint64_t seed, const Options& options) {
  Report report;
  if (tasks.empty()) return report;
  for (const Task& task : tasks) {
    if (task.threads != tasks.front().threads) {
      throw Error(ErrorCode::InvalidArgument, "tasks of one call must use the same number of threads", task.name,
                  "collect them in separate calls");
    }
  }
  Options sampling = options;
  sampling.strategy = "random";
  sampling.strategy_options.clear();
  const SystemClock system_clock;
  Session session;
  session.options = &sampling;
  session.clock = options.clock != nullptr ? options.clock : &system_clock;
  PhaseClock phases(*session.clock);
  session.phases = &phases;
  session.target = options.target ? *options.target : target::detect();
  session.fingerprint = target::fingerprint(session.target);
  session.tasks = tasks.size();
  // What hangs ends the collection; what was measured is in the store.
  Watchdog watchdog(options.stall_seconds, [&](const Stall& stall) {
    options.cancellation.request();
    if (options.on_stall) options.on_stall(stall);
  });
  session.watchdog = &watchdog;
  std::unique_ptr<HardwareTest> processes;
  if (options.hardware == nullptr) {
    const PhaseClock::Scope scope(phases, Phase::Idle);
    processes = start_processes(session.target, tasks.front().threads, options.cancellation, *session.clock,
                                options.programs, options.timing);
  }
  session.hardware = options.hardware != nullptr ? options.hardware : processes.get();
  for (std::size_t i = 0; i < tasks.size() && !session.stop(); ++i) {
    TaskTuner tuner(tasks[i], i, session);
    try {
      tuner.begin();
      tuner.measure_sample(per_task, seed);
    } catch (const Error& error) {
      // What one task lacks does not stop the others; nothing else would work without machine or store.
      if (error.code() != ErrorCode::Unsupported && error.code() != ErrorCode::Internal) throw;
      tuner.fail(error.what());
    }
    report.tasks.push_back(tuner.report());
    tuner.finish();
  }
  report.trials = session.budget.spent_trials();
  report.cancelled = session.cancelled;
  report.wall_seconds = phases.settle();
  report.phases = {phases.seconds(Phase::Build), phases.seconds(Phase::Run), phases.seconds(Phase::Search),
                   phases.seconds(Phase::Model), phases.seconds(Phase::Idle)};
  return report;
}

}  // namespace temper::tune
