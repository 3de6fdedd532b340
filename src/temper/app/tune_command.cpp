#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "temper/app/model_race.h"
#include "temper/app/options.h"
#include "temper/app/session.h"
#include "temper/search/strategy.h"
#include "temper/support/clock.h"
#include "temper/support/error.h"
#include "temper/tune/tune.h"

namespace temper::app {

namespace {

constexpr double kLongestRace = 20;  ///< seconds
constexpr double kRaceShare = 0.1;   ///< of the budget

struct TuneOptions {
  ModelOptions work;
  std::string budget;
  std::int64_t trials = 0;
  std::string strategy{search::kDefaultStrategy};
  std::vector<std::string> options;
  std::uint64_t seed = 0;
  int patience = -1;
  bool measure_random = false;
  bool no_peer = false;
};

std::string progress_line(const tune::Event& e) {
  std::string line = fmt::format("[{}/{}] {}  trial {}", e.task + 1, e.tasks, e.name, e.task_trials);
  if (e.best_seconds > 0)
    line += fmt::format("  best {}  {:.2f}x over default", seconds_text(e.best_seconds), e.gain());
  if (e.trials_left) line += fmt::format("  {} trials left", *e.trials_left);
  if (e.seconds_left) line += fmt::format("  {:.0f} s left", *e.seconds_left);
  return line;
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
                     {"gflops", t.gflops},
                     {"best_candidate", t.best_candidate},
                     {"record", t.record_id}};
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

void print_report(Session& s, const tune::Report& report) {
  s.print(fmt::format("{:>12} {:>12} {:>6} {:>8} {:>6} {:>9}  {}\n", "default", "best", "gain", "GFLOP/s", "trials",
                      "valid", "task"));
  double before = 0, after = 0;
  for (const tune::TaskReport& t : report.tasks) {
    if (!t.error.empty()) {
      s.print(fmt::format("{:>12} {}: {}\n", "failed", t.name, t.error));
      continue;
    }
    before += t.default_seconds * t.count;
    after += t.best_seconds * t.count;
    s.print(fmt::format("{:>12} {:>12} {:>5.2f}x {:>8.1f} {:>6} {:>9}  {}x {}\n", seconds_text(t.default_seconds),
                        seconds_text(t.best_seconds), t.best_seconds > 0 ? t.default_seconds / t.best_seconds : 1.0,
                        t.gflops, t.trials, t.valid_candidates, t.count, t.key));
    for (const auto& [kind, count] : t.failures) s.print(fmt::format("{:>28} {}\n", kind, count));
    if (t.median_random_seconds)
      s.print(fmt::format("{:>28} {}\n", "median random", seconds_text(*t.median_random_seconds)));
  }
  if (report.tasks.size() > 1)
    s.print(fmt::format("sum over all nodes: {} -> {}\n", seconds_text(before), seconds_text(after)));
  s.print(fmt::format("{} trials in {:.1f} s: build {:.1f}, run {:.1f}, search {:.1f}, model {:.1f}, idle {:.1f}\n",
                      report.trials, report.wall_seconds, report.phases.build, report.phases.run, report.phases.search,
                      report.phases.model, report.phases.idle));
}

/// Whole model before, after and under ONNX Runtime; timed for `seconds` at most, unless five rounds take longer.
nlohmann::json race(Session& s, const TuneOptions& o, const graph::Program& program, const store::Store& store,
                    const target::Target& target, double seconds) {
  const SystemClock clock;
  const double start = clock.seconds();
  std::vector<NamedPlan> plans;
  for (const auto& [name, mode] : {std::pair{"default", tune::Mode::Off}, std::pair{"tuned", tune::Mode::Cached}}) {
    BuiltModel built = build_model(program, target, o.work.threads, [&, wanted = mode](const tune::Task& task) {
      s.cancellation.throw_if_requested();
      return tune::artifact_for(&store, task, target, wanted, space::builtin_templates(), o.work.max_error);
    });
    plans.push_back({name, std::make_shared<const runtime::Plan>(std::move(built.plan))});
  }
  const ModelTimes times =
      race_models(plans, peer_work(o.work),
                  {.threads = o.work.threads,
                   .peers = o.no_peer ? std::vector<std::string>{} : std::vector<std::string>{"onnxruntime"},
                   .seed = o.seed,
                   .checks = 10,
                   .budget_seconds = seconds,
                   .cancellation = s.cancellation});
  nlohmann::json out;
  s.print("whole model, interleaved:\n");
  std::vector<peers::SideTimes> sides = times.sides;
  const RacedPeer* peer = times.peers.empty() || !times.peers[0].error.empty() ? nullptr : &times.peers[0];
  if (peer != nullptr) sides.push_back(peer->times);
  for (const peers::SideTimes& side : sides) {
    s.print(fmt::format("{:>14}  median {}  min {}\n", side.name, seconds_text(side.median_seconds),
                        seconds_text(side.min_seconds)));
    out[side.name] = {{"median_seconds", side.median_seconds}, {"min_seconds", side.min_seconds}};
  }
  s.print(fmt::format("tuned is {:.2f}x the default", peers::ratio(times.sides[0], times.sides[1])));
  out["gain"] = peers::ratio(times.sides[0], times.sides[1]);
  if (peer != nullptr) {
    const peers::SideTimes& ort = peer->times;
    s.print(fmt::format(", {:.2f}x ONNX Runtime {} (default {:.2f}x); largest difference {:.1e} on {} random inputs",
                        peers::ratio(ort, times.sides[1]), peer->version, peers::ratio(ort, times.sides[0]),
                        std::max(times.max_error[0], times.max_error[1]), times.checked_inputs));
    out["onnxruntime_version"] = peer->version;
    out["speed_over_onnxruntime"] = peers::ratio(ort, times.sides[1]);
    out["default_speed_over_onnxruntime"] = peers::ratio(ort, times.sides[0]);
    out["max_error"] = std::max(times.max_error[0], times.max_error[1]);
  }
  s.print("\n");
  if (loses(times.sides[1], times.sides[0]))
    s.print("the tuned kernels lose together: temper build times both again and keeps the faster; tune for longer\n");
  if (!times.peers.empty() && peer == nullptr) s.progress("ONNX Runtime was not timed: " + times.peers[0].error);
  out["wall_seconds"] = clock.seconds() - start;
  return out;
}

nlohmann::json tune_work(Session& s, const TuneOptions& o) {
  check_work(o.work);
  check_timed_threads(o.work.threads);
  tune::Options options;
  if (!o.budget.empty()) options.budget_seconds = parse_duration(o.budget);
  // The comparison of whole models at the end is part of the time that was given.
  double race_seconds = kLongestRace;
  if (!o.work.model.empty() && (options.budget_seconds || o.trials == 0)) {
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

  graph::Program program;
  std::vector<tune::Task> tasks;
  if (o.work.model.empty()) {
    tasks.push_back(tune::task_from_spec(o.work.spec, o.work.threads));
  } else {
    program = load_program(o.work);
    tasks = tune::tasks_from_model(program, o.work.threads, target::detect());
    s.progress(fmt::format("{}: {} tasks for {} steps", o.work.model, tasks.size(), program.steps.size()));
  }
  const auto store = open_store(o.work.db, true);
  options.store = store.get();
  options.progress = [&s](const tune::Event& e) {
    using Kind = tune::Event::Kind;
    if (e.kind == Kind::Finished || e.kind == Kind::TaskStarted) return;
    const bool keep = e.kind == Kind::TaskFinished || (e.kind == Kind::NewBest && !s.terminal());
    if (keep || s.terminal()) s.live(progress_line(e), keep);
  };
  const tune::Report report = tune::tune(tasks, options);
  print_report(s, report);
  nlohmann::json out{{"tasks", nlohmann::json::array()},
                     {"wall_seconds", report.wall_seconds},
                     {"build", report.phases.build},
                     {"run", report.phases.run},
                     {"search", report.phases.search},
                     {"model", report.phases.model},
                     {"idle", report.phases.idle},
                     {"trials", report.trials},
                     {"seed", o.seed},
                     {"cancelled", report.cancelled}};
  for (const tune::TaskReport& t : report.tasks) out["tasks"].push_back(task_json(t));
  const auto stopped = [&] {
    s.progress("stopped; everything that was measured is in " + o.work.db + ", the same command goes on from there");
    s.exit_code = 130;
    out["cancelled"] = true;
    return out;
  };
  if (report.cancelled || s.cancellation.requested()) return stopped();
  if (std::ranges::none_of(report.tasks, [](const tune::TaskReport& t) { return t.best_seconds > 0; })) {
    if (report.trials == 0 && report.tasks.front().failures.empty() && report.tasks.front().error.empty())
      throw Error(ErrorCode::InvalidArgument, "the budget ended before anything was measured", "--budget " + o.budget,
                  "give some seconds at least");
    throw Error(ErrorCode::Unsupported, "nothing that was tried ran" + reason(report), o.work.model + o.work.spec,
                "temper db export writes every attempt with its reason; is the machine short of memory?");
  }
  if (o.work.model.empty()) return out;
  try {
    out["whole_model"] = race(s, o, program, *store, target::detect(), race_seconds);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Cancelled) throw;
    return stopped();
  }
  return out;
}

}  // namespace

void declare_tune(CLI::App& command, Session& session) {
  auto o = std::make_shared<TuneOptions>();
  declare_work(command, o->work, true);
  command.add_option("--budget", o->budget, "Time for the whole call: 90s, 5m, 1h (default for a model: 5m)");
  command.add_option("--trials", o->trials, "Measurements for the whole call (default for an operator: 200)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  std::string names;
  for (const search::StrategyInfo& info : search::strategies())
    names += (names.empty() ? "" : ", ") + std::string(info.name);
  command.add_option("--strategy", o->strategy, "How to search: " + names)->capture_default_str();
  command.add_option("--option", o->options, "An option of the strategy: NAME=NUMBER")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  declare_seed(command, o->seed, "Seed of the search");
  command.add_option("--patience", o->patience, "Trials without a gain after which a task stops; 0: never")
      ->check(CLI::Range(0, 1 << 30));
  command.add_flag("--random-sample", o->measure_random,
                   "Also measure some uniformly drawn candidates and report their median");
  command.add_flag("--no-peer", o->no_peer, "Do not time ONNX Runtime at the end");
  declare_disabled_passes(command, o->work.disabled_passes, "Leave out a graph pass");
  command.callback([&command, &session, o] {
    if (!o->work.spec.empty()) refuse_given(command, {"--disable-pass", "--no-peer"}, "is for models");
    session.action = [o](Session& s) { return tune_work(s, *o); };
  });
}

}  // namespace temper::app
