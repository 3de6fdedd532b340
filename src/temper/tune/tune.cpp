#include "temper/tune/tune.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <utility>

#include "temper/support/error.h"
#include "temper/support/random.h"
#include "temper/support/resident_memory.h"
#include "temper/tune/open_session.h"
#include "temper/tune/scheduler.h"
#include "temper/tune/session.h"
#include "temper/tune/task_tuner.h"

namespace temper::tune {
namespace {

void check(const Options& options) {
  const auto refuse = [](const std::string& what, const std::string& where, const std::string& hint) {
    throw Error(ErrorCode::InvalidArgument, what, where, hint);
  };
  if (options.budget_seconds && !(*options.budget_seconds > 0))
    refuse("the budget must be more than no time", "budget", "say how long tuning may take, as in 5m");
  if (options.trials && *options.trials < 1) refuse("at least one trial is needed", "trials", "give a number above 0");
  if (options.timing.repeat < 1 || options.timing.number < 0)
    refuse("each candidate is timed at least once", "timing", "give a repeat above 0 and a number of at least 0");
  if (options.batch < 1) refuse("a batch holds at least one candidate", "batch", "give a number above 0");
  if (options.budget_seconds_per_task && !(*options.budget_seconds_per_task > 0))
    refuse("the budget of a task must be more than no time", "budget per task", "say how long, as in 30s");
  if (options.trials_per_task && *options.trials_per_task < 1)
    refuse("at least one trial is needed for each task", "trials per task", "give a number above 0");
  if (options.stall_seconds < 0)
    refuse("a stall cannot be shorter than no time", "stall_seconds", "give 0 to watch nothing");
  if (!options.make_cost_model) cost::cost_model_info(options.models.learner);
  if (options.make_strategy) return;
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
  const bool by_task = options.budget_seconds_per_task || options.trials_per_task;
  if (options.budget_seconds || options.trials || by_task) return {options.budget_seconds, options.trials};
  if (tasks > 1) return {kDefaultBudgetSeconds, std::nullopt};
  return {std::nullopt, kDefaultTrials};
}

/// What the clock has for a task; for none: what belongs to no task.
PhaseSeconds phases_of(const PhaseClock& clock, std::optional<std::size_t> task) {
  return {clock.seconds(Phase::Build, task), clock.seconds(Phase::Run, task), clock.seconds(Phase::Search, task),
          clock.seconds(Phase::Model, task), clock.seconds(Phase::Idle, task)};
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
      for (const std::size_t i : order_) tuners_[i].attempt([&] { tuners_[i].race(); });
      reserve();
    } while (session_->budget.spent_trials() > before && may_go_on());
    for (const std::size_t i : order_) tuners_[i].attempt([&] { tuners_[i].finish(); });
  }

  std::vector<TaskReport> reports() const {
    std::vector<TaskReport> reports;
    for (const TaskTuner& tuner : tuners_) reports.push_back(tuner.report());
    return reports;
  }

 private:
  /// Defaults first, of the largest tasks first: even a short budget then knows most of the model.
  void begin() {
    for (const std::size_t i : order_) {
      if (session_->stop()) return;
      tuners_[i].attempt([&] { tuners_[i].begin(); });
    }
    if (!session_->options->measure_random) return;
    for (const std::size_t i : order_) {
      if (tuners_[i].open() && may_go_on()) tuners_[i].attempt([&] { tuners_[i].sample_random(); });
    }
  }

  /// Trials for the tasks that promise most, until the budget ends or no task takes any more.
  void search() {
    const int batch = session_->options->batch;
    while (may_go_on()) {
      std::vector<TaskProgress> progress;
      for (const TaskTuner& tuner : tuners_) progress.push_back(tuner.progress());
      const std::optional<std::size_t> next = next_task(session_->options->scheduler, progress, batch, random_);
      if (!next) break;
      reserve();
      const std::int64_t before = session_->budget.spent_trials();
      TaskTuner& tuner = tuners_[*next];
      const auto trials = static_cast<int>(trials_at_once(session_->options->scheduler, progress[*next], batch));
      tuner.attempt([&] { tuner.step(trials); });
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
  check(options);
  OpenSession open(options, tasks);
  Session& session = open.session();
  PhaseClock& phases = open.phases();
  session.budget = make_budget(options, tasks.size());
  session.patience = options.patience.value_or(tasks.size() > 1 ? kDefaultPatience : 0);
  const auto tell = [&](Event::Kind kind) {
    if (options.progress) options.progress(session.event(kind));
  };
  if (options.peaks) {
    session.peaks = *options.peaks;
  } else if (options.hardware == nullptr) {
    const PhaseClock::Scope scope(phases, Phase::Run);
    session.peaks = measure_peaks(session.target);
  }
  const HardwareTest::Disturbed before = session.hardware->disturbed();
  tell(Event::Kind::Started);
  Loop loop(tasks, session);
  loop.run();
  report.tasks = loop.reports();
  report.trials = session.budget.spent_trials();
  report.disturbed_by_clock = session.hardware->disturbed().clock - before.clock;
  report.disturbed_by_others = session.hardware->disturbed().others - before.others;
  report.cancelled = session.cancelled;
  report.stalled = open.stalled();
  report.resident_bytes = resident_bytes();
  tell(Event::Kind::Finished);
  report.wall_seconds = phases.settle();
  report.phases = {phases.seconds(Phase::Build), phases.seconds(Phase::Run), phases.seconds(Phase::Search),
                   phases.seconds(Phase::Model), phases.seconds(Phase::Idle)};
  for (std::size_t i = 0; i < report.tasks.size(); ++i) report.tasks[i].phases = phases_of(phases, i);
  report.shared = phases_of(phases, std::nullopt);
  return report;
}

}  // namespace temper::tune
