#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <set>

#include "temper/app/event_log.h"
#include "temper/app/live_view.h"
#include "temper/app/options.h"
#include "temper/app/remote.h"
#include "temper/app/session.h"
#include "temper/app/whole_model.h"
#include "temper/cost/cost_model.h"
#include "temper/search/strategy.h"
#include "temper/support/clock.h"
#include "temper/support/error.h"
#include "temper/support/logging.h"
#include "temper/tune/default_model.h"
#include "temper/tune/tune.h"

namespace temper::app {

namespace {

constexpr double kLongestRace = 20;   ///< seconds
constexpr double kRaceShare = 0.1;    ///< of the budget
constexpr double kRivalShare = 0.25;  ///< of what is left, for tasks that only rival layouts have

struct TuneOptions {
  ModelOptions work;
  RunnerChoice runner;
  std::string budget, budget_per_task;
  std::int64_t trials = 0, trials_per_task = 0;
  std::string scheduler{tune::to_string(tune::Scheduler::Gain)};
  std::string events;
  std::string strategy{search::kDefaultStrategy};
  std::vector<std::string> options;
  std::uint64_t seed = 0;
  int patience = -1;
  bool measure_random = false;
  bool no_peer = false;
  std::string model = "auto";
  std::string learner{cost::cost_models().front().name};
};

constexpr double kRedrawSeconds = 0.1;  ///< a live view that is redrawn faster cannot be read

/// Where a run's events go: to the screen and, with --json-events, to a file.
class Audience {
 public:
  Audience(Session& session, const TuneOptions& o) : session_(&session), database_(o.work.db) {
    if (!o.events.empty()) log_.emplace(o.events);
  }

  void hear(const tune::Event& event) {
    using Kind = tune::Event::Kind;
    write(event_json(event));
    view_.hear(event);
    const bool news = event.kind == Kind::TaskFinished || event.kind == Kind::TaskFailed;
    if (news || (event.kind == Kind::NewBest && !session_->terminal())) session_->progress(event_line(event));
    if (event.kind == Kind::Finished || clock_.seconds() - drawn_ < kRedrawSeconds) return;
    drawn_ = clock_.seconds();
    session_->live([&](std::size_t rows, std::size_t columns) { return view_.block(rows, columns); });
  }
  /// On a thread of its own.
  void hear(const tune::Stall& stall) {
    write(event_json(stall));
    const std::string silence = fmt::format("nothing was heard for {:.0f} s while {}", stall.seconds, stall.what);
    if (stall.alarms == 1) return log_error(silence + "; stopping");
    log_error(silence + ", which does not stop; everything that was measured is in " + database_);
    _exit(exit_code(ErrorCode::Internal));
  }
  void write(nlohmann::json event) {
    if (!log_) return;
    if (const std::optional<std::string> trouble = log_->write(std::move(event))) log_warning(*trouble);
  }

 private:
  Session* session_;
  std::string database_;
  std::optional<EventLog> log_;
  LiveView view_;
  SystemClock clock_;
  double drawn_ = 0;
};

nlohmann::json phases_json(const tune::PhaseSeconds& phases) {
  return {{"build", phases.build},
          {"run", phases.run},
          {"search", phases.search},
          {"model", phases.model},
          {"idle", phases.idle}};
}

nlohmann::json counts_json(const cost::ScorerCounts& counts) {
  return {{"seen", counts.seen},   {"analysed", counts.analysed}, {"measured", counts.measured},
          {"pairs", counts.pairs}, {"right", counts.right},       {"hit_rate", counts.hit_rate()}};
}

cost::ScorerCounts sum_of_counts(const tune::Report& report) {
  cost::ScorerCounts sum;
  for (const tune::TaskReport& task : report.tasks) sum += task.model;
  return sum;
}

nlohmann::json task_json(const tune::TaskReport& t) {
  nlohmann::json out{{"name", t.name},
                     {"key", t.key},
                     {"count", t.count},
                     {"trials", t.trials},
                     {"resumed", t.resumed},
                     {"valid_candidates", t.valid_candidates},
                     {"failures", t.failures},
                     {"failure_reason", t.failure_reason},
                     {"default_seconds", t.default_seconds},
                     {"best_seconds", t.best_seconds},
                     {"default_median_seconds", t.default_median_seconds},
                     {"best_median_seconds", t.best_median_seconds},
                     {"gflops", t.gflops},
                     {"roofline_seconds", t.roofline_seconds},
                     {"best_candidate", t.best_candidate},
                     {"seconds", t.phases.total()},
                     {"phases", phases_json(t.phases)},
                     {"record", t.record_id}};
  out["model"] = counts_json(t.model);
  if (t.median_random_seconds) out["median_random_seconds"] = *t.median_random_seconds;
  if (!t.error.empty()) out["error"] = t.error;
  return out;
}

/// What the first task lacked, for the case that nothing ran.
std::string reason(const tune::Report& report) {
  if (report.tasks.empty()) return ": there is no task";
  const tune::TaskReport& task = report.tasks.front();
  if (!task.error.empty()) return ": " + task.error;
  std::string kinds;
  for (const auto& [kind, count] : task.failures)
    kinds += (kinds.empty() ? ": " : ", ") + std::to_string(count) + " " + kind;
  return kinds + (task.failure_reason.empty() ? "" : "; the first: " + task.failure_reason);
}

/// `sums`: whether the tasks are those of one program.
void print_report(Session& s, const tune::Report& report, bool sums) {
  s.print(fmt::format("{:>12} {:>12} {:>12} {:>6} {:>8} {:>7} {:>6} {:>7} {:>9}  {}\n", "default", "best", "median",
                      "gain", "GFLOP/s", "of peak", "trials", "time", "valid", "task"));
  double before = 0, after = 0;
  for (const tune::TaskReport& t : report.tasks) {
    if (!t.error.empty()) {
      s.print(fmt::format("{:>12} {}: {}\n", "failed", t.name, t.error));
      continue;
    }
    before += t.default_seconds * t.count;
    after += t.best_seconds * t.count;
    const std::string of_peak = t.roofline_seconds > 0 && t.best_seconds > 0
                                    ? fmt::format("{:.0f}%", 100 * t.roofline_seconds / t.best_seconds)
                                    : "-";
    s.print(fmt::format("{:>12} {:>12} {:>12} {:>5.2f}x {:>8.1f} {:>7} {:>6} {:>5.1f} s {:>9}  {}x {}\n",
                        seconds_text(t.default_seconds), seconds_text(t.best_seconds),
                        seconds_text(t.best_median_seconds),
                        t.best_seconds > 0 ? t.default_seconds / t.best_seconds : 1.0, t.gflops, of_peak, t.trials,
                        t.phases.total(), t.valid_candidates, t.count, t.key));
    for (const auto& [kind, count] : t.failures) s.print(fmt::format("{:>28} {}\n", kind, count));
    if (t.median_random_seconds)
      s.print(fmt::format("{:>28} {}\n", "median random", seconds_text(*t.median_random_seconds)));
  }
  if (sums && report.tasks.size() > 1)
    s.print(fmt::format("sum over all nodes: {} -> {}\n", seconds_text(before), seconds_text(after)));
  s.print(fmt::format("{} trials in {:.1f} s: build {:.1f}, run {:.1f}, search {:.1f}, model {:.1f}, idle {:.1f}\n",
                      report.trials, report.wall_seconds, report.phases.build, report.phases.run, report.phases.search,
                      report.phases.model, report.phases.idle));
  if (report.disturbed_by_clock + report.disturbed_by_others > 0) {
    s.print(fmt::format("samples that do not count: {} at another clock, {} while other processes had the CPU\n",
                        report.disturbed_by_clock, report.disturbed_by_others));
  }
  const cost::ScorerCounts counts = sum_of_counts(report);
  if (counts.measured > 0 && counts.seen > 0) {
    s.print(fmt::format("the cost model saw {:.0f} candidates for one that was measured",
                        static_cast<double>(counts.seen) / static_cast<double>(counts.measured)));
    s.print(counts.pairs > 0
                ? fmt::format("; of two that were measured it knew the faster in {:.0f}%\n", 100 * counts.hit_rate())
                : "\n");
  }
}

/// The tasks of a model: those of its estimated layouts, and those that only its other layouts have.
struct ModelTasks {
  std::vector<tune::Task> first, rivals;
};

ModelTasks tasks_of(const Model& model, int threads, const target::Target& target) {
  ModelTasks tasks;
  std::set<std::string> known;
  for (const tune::LayoutAssignment& candidate : model.layouts.candidates()) {
    std::vector<tune::Task>& list = known.empty() ? tasks.first : tasks.rivals;
    for (tune::Task& task : tune::tasks_from_model(model.program(candidate.layouts), threads, target)) {
      if (known.insert(task.key.text()).second) list.push_back(std::move(task));
    }
  }
  return tasks;
}

/// Tunes what only rival layouts need with what `first` has left of the whole budget; nothing when that is too little.
std::optional<tune::Report> tune_rivals(const std::vector<tune::Task>& tasks, tune::Options options,
                                        const tune::Report& first) {
  constexpr double kLeastSeconds = 1;
  if (tasks.empty() || first.cancelled) return std::nullopt;
  if (options.budget_seconds) {
    *options.budget_seconds -= first.wall_seconds;
    if (*options.budget_seconds < kLeastSeconds) return std::nullopt;
  }
  if (options.trials) {
    *options.trials -= first.trials;
    if (*options.trials < 1) return std::nullopt;
  }
  return tune::tune(tasks, options);
}

/// The budget of the search without what is kept for the tasks of rival layouts.
tune::Options without_rivals(tune::Options options) {
  if (options.budget_seconds) *options.budget_seconds *= 1 - kRivalShare;
  if (options.trials) {
    const auto kept = static_cast<std::int64_t>(kRivalShare * static_cast<double>(*options.trials));
    *options.trials -= kept;
  }
  return options;
}

nlohmann::json tune_work(Session& s, const TuneOptions& o, Audience& audience) {
  check_work(o.work);
  const SystemClock clock;
  const Hardware hardware = choose_hardware(s, o.runner, o.work.threads, clock);
  const target::Target& target = hardware.target;
  tune::Options options;
  options.target = target;
  options.hardware = hardware.test.get();
  if (!o.runner.is_remote()) options.peaks = tune::measure_peaks(target);
  if (!o.budget.empty()) options.budget_seconds = parse_duration(o.budget);
  if (!o.budget_per_task.empty()) options.budget_seconds_per_task = parse_duration(o.budget_per_task);
  if (o.trials_per_task > 0) options.trials_per_task = o.trials_per_task;
  options.scheduler = tune::parse_scheduler(o.scheduler);
  const bool limited = o.trials > 0 || options.budget_seconds_per_task || options.trials_per_task;
  // The comparison of whole models at the end is part of the time that was given.
  double race_seconds = kLongestRace;
  if (!o.work.model.empty() && !o.runner.is_remote() && (options.budget_seconds || !limited)) {
    const double budget = options.budget_seconds.value_or(tune::kDefaultBudgetSeconds);
    race_seconds = std::min(kLongestRace, kRaceShare * budget);
    options.budget_seconds = budget - race_seconds;
  }
  if (o.trials > 0) options.trials = o.trials;
  options.strategy = o.strategy;
  for (const std::string& text : o.options) {
    const std::size_t at = text.find('=');
    char* end = nullptr;
    const double value = at == std::string::npos ? 0 : std::strtod(text.c_str() + at + 1, &end);
    if (at == std::string::npos || at == 0 || end == text.c_str() + at + 1 || *end != 0) {
      throw Error(ErrorCode::InvalidArgument, "'" + text + "' is not NAME=NUMBER", "--option",
                  "temper tune --help lists the strategies");
    }
    options.strategy_options[text.substr(0, at)] = value;
  }
  options.seed = o.seed;
  if (o.patience >= 0) options.patience = o.patience;
  options.measure_random = o.measure_random;
  options.max_error = o.work.max_error;
  options.cancellation = s.cancellation;

  Model model;
  ModelTasks tasks;
  if (o.work.model.empty()) {
    tasks.first.push_back(tune::task_from_spec(o.work.spec, o.work.threads));
  } else {
    model = load_model(o.work);
    tasks = tasks_of(model, o.work.threads, target);
    const auto steps = std::transform_reduce(tasks.first.begin(), tasks.first.end(), 0, std::plus(),
                                             [](const tune::Task& task) { return task.count; });
    s.progress(fmt::format("{}: {} tasks for {} steps", o.work.model, tasks.first.size(), steps));
    if (!tasks.rivals.empty()) s.progress(fmt::format("{} tasks of other layouts", tasks.rivals.size()));
  }
  const tune::ChosenModel chosen = tune::choose_model(o.model, target);
  options.models = {chosen.model, o.learner};
  if (o.model == "auto" && chosen.model == nullptr) s.progress("no pretrained cost model: " + chosen.note);
  const auto store = open_store(o.work.db, true);
  options.store = store.get();
  options.progress = [&](const tune::Event& event) { audience.hear(event); };
  options.on_stall = [&](const tune::Stall& stall) { audience.hear(stall); };
  const tune::Report report = tune::tune(tasks.first, tasks.rivals.empty() ? options : without_rivals(options));
  print_report(s, report, true);
  const std::optional<tune::Report> rivals = tune_rivals(tasks.rivals, options, report);
  if (rivals) {
    s.print("tasks of other layouts:\n");
    print_report(s, *rivals, false);
  }
  nlohmann::json out{{"tasks", nlohmann::json::array()},
                     {"wall_seconds", report.wall_seconds},
                     {"shared_seconds", report.shared.total()},
                     {"resident_bytes", report.resident_bytes},
                     {"trials", report.trials},
                     {"disturbed", {{"clock", report.disturbed_by_clock}, {"others", report.disturbed_by_others}}},
                     {"model_counts", counts_json(sum_of_counts(report))},
                     {"pretrained", chosen.model ? nlohmann::json(chosen.note) : nlohmann::json(nullptr)},
                     {"learner", o.learner},
                     {"seed", o.seed},
                     {"scheduler", o.scheduler},
                     {"cancelled", report.cancelled}};
  out.update(phases_json(report.phases));
  for (const tune::TaskReport& t : report.tasks) out["tasks"].push_back(task_json(t));
  if (rivals) {
    out["rival_tasks"] = nlohmann::json::array();
    for (const tune::TaskReport& t : rivals->tasks) out["rival_tasks"].push_back(task_json(t));
    out["rival_trials"] = rivals->trials;
    out["rival_wall_seconds"] = rivals->wall_seconds;
  }
  const std::string stalled = rivals && !rivals->stalled.empty() ? rivals->stalled : report.stalled;
  const auto stopped = [&] {
    s.progress("stopped; everything that was measured is in " + o.work.db + ", the same command goes on from there");
    s.exit_code = stalled.empty() ? 130 : exit_code(ErrorCode::Busy);
    out["cancelled"] = true;
    if (!stalled.empty()) out["stalled"] = stalled;
    return out;
  };
  if (report.cancelled || (rivals && rivals->cancelled) || s.cancellation.requested()) return stopped();
  if (std::ranges::none_of(report.tasks, [](const tune::TaskReport& t) { return t.best_seconds > 0; })) {
    if (report.trials == 0 && report.tasks.front().failures.empty() && report.tasks.front().error.empty())
      throw Error(ErrorCode::InvalidArgument, "the budget ended before anything was measured", "--budget " + o.budget,
                  "give some seconds at least");
    throw Error(ErrorCode::Unsupported, "nothing that was tried ran" + reason(report), o.work.model + o.work.spec,
                "temper db export writes every attempt with its reason; is the machine short of memory?");
  }
  if (o.work.model.empty()) return out;
  if (o.runner.is_remote()) {
    s.print("the whole model is not timed: a runner times single tasks; temper bench MODEL does, on its machine\n");
    return out;
  }
  audience.write({{"event", "model_race_started"}});
  try {
    out["whole_model"] =
        race_whole_model(s, model, *store, target,
                         {.work = o.work, .with_peer = !o.no_peer, .seed = o.seed, .budget_seconds = race_seconds});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Cancelled) throw;
    return stopped();
  }
  audience.write({{"event", "model_race_finished"}, {"times", out["whole_model"]}});
  return out;
}

}  // namespace

void declare_tune(CLI::App& command, Session& session) {
  auto o = std::make_shared<TuneOptions>();
  declare_work(command, o->work, true);
  const CLI::Range numbers(std::int64_t{1}, std::int64_t{1} << 40);
  command.add_option("--budget", o->budget, "Time for the whole call: 90s, 5m, 1h (default for a model: 5m)");
  command.add_option("--trials", o->trials, "Measurements for the whole call (default for an operator: 200)")
      ->check(numbers);
  command.add_option("--budget-per-task", o->budget_per_task, "Time for each task; whichever budget ends first counts");
  command.add_option("--trials-per-task", o->trials_per_task, "Measurements for each task")->check(numbers);
  command
      .add_option("--scheduler", o->scheduler,
                  "Which task gets the next trials: gain (most of the model's time saved a second) or round-robin")
      ->capture_default_str();
  command.add_option("--json-events", o->events,
                     "Write every event to this file as it happens, one JSON object a line (docs/events.md)");
  command.add_option("--strategy", o->strategy, "How to search: " + strategy_names())->capture_default_str();
  describe_strategies(command);
  command.add_option("--option", o->options, "An option of the strategy: NAME=NUMBER")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--model", o->model,
                  "What ranks candidates before anything is measured: a file of `temper model train`, auto (the model "
                  "that ships with Temper where it fits this machine), or none (the analytic model)")
      ->capture_default_str();
  std::string learners;
  for (const cost::CostModelInfo& info : cost::cost_models()) learners += (learners.empty() ? "" : ", ") + info.name;
  command.add_option("--learner", o->learner, "What learns from the measurements: " + learners)->capture_default_str();
  declare_seed(command, o->seed, "Seed of the search");
  command.add_option("--patience", o->patience, "Trials without a gain after which a task stops; 0: never")
      ->check(CLI::Range(0, 1 << 30));
  command.add_flag("--random-sample", o->measure_random,
                   "Also measure some uniformly drawn candidates and report their median");
  declare_runner(command, o->runner);
  command.add_flag("--no-peer", o->no_peer, "Do not time ONNX Runtime at the end");
  declare_disabled_passes(command, o->work.disabled_passes, "Leave out a graph pass");
  command.callback([&command, &session, o] {
    if (!o->work.spec.empty()) refuse_given(command, {"--disable-pass", "--no-peer"}, "is for models");
    session.action = [o](Session& s) {
      Audience audience(s, *o);
      nlohmann::json report;
      try {
        report = tune_work(s, *o, audience);
      } catch (const Error& error) {
        audience.write({{"event", "failed"}, {"code", to_string(error.code())}, {"message", error.message()}});
        throw;
      }
      audience.write({{"event", "report"}, {"report", report}});
      return report;
    };
  });
}

}  // namespace temper::app
