#include "temper/tune/tune.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <utility>

#include "temper/support/error.h"
#include "temper/support/random.h"
#include "temper/tune/processes.h"
#include "temper/tune/scheduler.h"
#include "temper/tune/session.h"
#include "temper/tune/task_tuner.h"

namespace temper::tune {
namespace {

void check(std::span<const Task> tasks, const Options& options) {
  const auto refuse = [](const std::string& what, const std::string& where, const std::string& hint) {
    throw Error(ErrorCode::InvalidArgument, what, where, hint);
  };
  if (options.budget_seconds && !(*options.budget_seconds > 0))
    refuse("the budget must be more than no time", "budget", "say how long tuning may take, as in 5m");
  if (options.trials && *options.trials < 1) refuse("at least one trial is needed", "trials", "give a number above 0");
  if (options.timing.repeat < 1 || options.timing.number < 0)
    refuse("each candidate is timed at least once", "timing", "give a repeat above 0 and a number of at least 0");
  if (options.batch < 1) refuse("a batch holds at least one candidate", "batch", "give a number above 0");
  for (const Task& task : tasks) {
    if (task.threads != tasks.front().threads)
      refuse("tasks of one call must use the same number of threads", task.name, "tune them in separate calls");
  }
  const auto known = search::strategies();
  const auto chosen = std::ranges::find(known, options.strategy, &search::StrategyInfo::name);
  if (chosen == known.end()) {
    std::string names;
    for (const search::StrategyInfo& info : known) names += (names.empty() ? "" : ", ") + info.name;
    refuse("there is no strategy '" + options.strategy + "'", "strategy", "strategies: " + names);
  }
  search::complete_options("strategy '" + chosen->name + "'", chosen->options, options.strategy_options);
}

Budget make_budget(const Options& options, std::size_t tasks) {
  if (options.budget_seconds || options.trials) return {options.budget_seconds, options.trials};
  if (tasks > 1) return {kDefaultBudgetSeconds, std::nullopt};
  return {std::nullopt, kDefaultTrials};
}

/// Runs what may fail for one task alone: what it lacks is said in its report, and the others go on.
template <class Work>
void attempt(TaskTuner& tuner, Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    switch (error.code()) {
      case ErrorCode::Unsupported:
      case ErrorCode::InvalidArgument:
      case ErrorCode::Internal: tuner.fail(error.what()); break;
      default: throw;  // the machine, the store: nothing else would work either
    }
  }
}

class Loop {
 public:
  Loop(std::span<const Task> tasks, Session& session) : session_(&session), random_(session.options->seed) {
    for (std::size_t i = 0; i < tasks.size(); ++i) tuners_.emplace_back(tasks[i], i, session);
    order_.resize(tasks.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(order_, std::greater(), [&](std::size_t i) { return tasks[i].flops * tasks[i].count; });
  }

  void run() {
    begin();
    // Races often take less than was put aside for them; what is left goes on with the search.
    std::int64_t before = 0;
    do {
      before = session_->budget.spent_trials();
      search();
      session_->budget.reserve(0);
      for (const std::size_t i : order_) attempt(tuners_[i], [&] { tuners_[i].race(); });
      reserve();
    } while (session_->budget.spent_trials() > before && may_go_on());
    for (const std::size_t i : order_) attempt(tuners_[i], [&] { tuners_[i].finish(); });
  }

  std::vector<TaskReport> reports() const {
    std::vector<TaskReport> reports;
    for (const TaskTuner& tuner : tuners_) reports.push_back(tuner.report());
    return reports;
  }

  void finish() const {
    if (!tuners_.empty()) tuners_.front().emit(Event::Kind::Finished);
  }

 private:
  /// Defaults first, of the largest tasks first: even a short budget then knows most of the model.
  void begin() {
    for (const std::size_t i : order_) {
      if (session_->stop()) return;
      attempt(tuners_[i], [&] { tuners_[i].begin(); });
    }
    if (!session_->options->measure_random) return;
    for (const std::size_t i : order_) {
      if (tuners_[i].open() && may_go_on()) attempt(tuners_[i], [&] { tuners_[i].sample_random(); });
    }
  }

  /// Trials for the tasks that promise most, until the budget ends or no task takes any more.
  void search() {
    const int batch = session_->options->batch;
    while (may_go_on()) {
      std::vector<TaskProgress> progress;
      for (const TaskTuner& tuner : tuners_) progress.push_back(tuner.progress());
      const std::optional<std::size_t> next = next_task(progress, batch, random_);
      if (!next) break;
      reserve();
      const std::int64_t before = session_->budget.spent_trials();
      TaskTuner& tuner = tuners_[*next];
      attempt(tuner, [&] { tuner.step(batch); });
      if (session_->budget.spent_trials() == before && tuner.progress().open)
        break;  // what is left is too short for one
    }
  }

  bool may_go_on() { return !session_->stop() && session_->budget.allows_trial(session_->phases->elapsed()); }

  /// Puts time aside for the races of all tasks.
  void reserve() {
    double seconds = 0;
    for (const TaskTuner& tuner : tuners_) {
      if (tuner.begun()) seconds += tuner.race_estimate();
    }
    session_->budget.reserve(seconds);
  }

  Session* session_;
  std::deque<TaskTuner> tuners_;
  std::vector<std::size_t> order_;
  RandomStream random_;
};

}  // namespace

Report tune(std::span<const Task> tasks, const Options& options) {
  Report report;
  if (tasks.empty()) return report;
  check(tasks, options);
  const SystemClock system_clock;
  Session session;
  session.options = &options;
  session.clock = options.clock != nullptr ? options.clock : &system_clock;
  PhaseClock phases(*session.clock);
  session.phases = &phases;
  session.target = options.target ? *options.target : target::detect();
  session.fingerprint = target::fingerprint(session.target);
  session.budget = make_budget(options, tasks.size());
  session.tasks = tasks.size();
  session.patience = options.patience.value_or(tasks.size() > 1 ? kDefaultPatience : 0);
  std::unique_ptr<HardwareTest> processes;
  if (options.hardware == nullptr) {
    const PhaseClock::Scope scope(phases, Phase::Idle);
    processes = start_processes(session.target, tasks.front().threads, options.cancellation, *session.clock,
                                options.programs, options.timing);
  }
  session.hardware = options.hardware != nullptr ? options.hardware : processes.get();

  const HardwareTest::Disturbed before = session.hardware->disturbed();
  Loop loop(tasks, session);
  loop.run();
  report.tasks = loop.reports();
  report.trials = session.budget.spent_trials();
  report.disturbed_by_clock = session.hardware->disturbed().clock - before.clock;
  report.disturbed_by_others = session.hardware->disturbed().others - before.others;
  report.cancelled = session.cancelled;
  loop.finish();
  report.wall_seconds = phases.settle();
  report.phases = {phases.seconds(Phase::Build), phases.seconds(Phase::Run), phases.seconds(Phase::Search),
                   phases.seconds(Phase::Model), phases.seconds(Phase::Idle)};
  return report;
}

}  // namespace temper::tune
