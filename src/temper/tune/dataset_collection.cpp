#include "temper/tune/dataset_collection.h"

#include "temper/tune/open_session.h"
#include "temper/tune/task_tuner.h"

namespace temper::tune {

Report collect(std::span<const Task> tasks, std::size_t per_task, std::uint64_t seed, const Options& options) {
  Report report;
  if (tasks.empty()) return report;
  Options sampling = options;
  sampling.strategy = "random";
  sampling.strategy_options.clear();
  sampling.budget_seconds_per_task.reset();
  sampling.trials_per_task.reset();
  OpenSession open(sampling, tasks);
  Session& session = open.session();
  PhaseClock& phases = open.phases();
  for (std::size_t i = 0; i < tasks.size() && !session.stop(); ++i) {
    TaskTuner tuner(tasks[i], i, session);
    tuner.attempt([&] {
      tuner.begin();
      tuner.measure_sample(per_task, seed);
    });
    report.tasks.push_back(tuner.report());
    tuner.finish();
  }
  report.trials = session.budget.spent_trials();
  report.cancelled = session.cancelled;
  report.stalled = open.stalled();
  report.wall_seconds = phases.settle();
  report.phases = {phases.seconds(Phase::Build), phases.seconds(Phase::Run), phases.seconds(Phase::Search),
                   phases.seconds(Phase::Model), phases.seconds(Phase::Idle)};
  return report;
}

}  // namespace temper::tune
