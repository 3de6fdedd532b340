#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <deque>

#include "temper/app/bench_kernels.h"
#include "temper/app/bench_op.h"
#include "temper/app/difference.h"
#include "temper/app/model_race.h"
#include "temper/app/options.h"
#include "temper/app/remote.h"
#include "temper/app/session.h"
#include "temper/app/side_report.h"
#include "temper/app/step_times.h"
#include "temper/app/suites.h"
#include "temper/runtime/thread_pool.h"
#include "temper/support/clock.h"
#include "temper/support/error.h"
#include "temper/tune/processes.h"

namespace temper::app {

namespace {

struct BenchCommand {
  ModelOptions work;
  RunnerChoice runner;
  std::string suite;
  std::vector<std::string> peers;
  std::vector<std::string> only;
  std::uint64_t seed = 0;
  int rounds = 25;
  bool rounds_given = false;
  bool scaling = false;
  bool every_step = false;
  std::vector<std::string> against;
};

nlohmann::json peer_json(const PeerTime& p) {
  nlohmann::json out = side_json(p.times);
  out.update({{"name", p.name}, {"version", p.version}, {"ratio", p.ratio}});
  return out;
}

nlohmann::json bench_model(Session& s, const BenchCommand& o) {
  const Model model = load_model(o.work);
  const Records records(o.work.db, o.work.max_error, s.cancellation);
  const graph::Program program = model.program(model.layouts.best_known(records.store(), target::detect()));
  if (!records.note().empty()) s.progress(records.note());
  BuiltModel built = build_model(program, target::detect(), o.work.threads, records);
  for (const std::string& peer : o.peers) {
    const auto& ops = peers::peer_info(peer).ops;
    if (std::ranges::find(ops, "model") == ops.end())
      throw Error(ErrorCode::InvalidArgument, "'" + peer + "' runs no models", "--peer",
                  "peers for models: onnxruntime, openvino");
  }
  RaceOptions options{.threads = o.work.threads, .peers = o.peers, .seed = o.seed, .cancellation = s.cancellation};
  if (o.rounds_given) options.rounds = o.rounds;
  const auto plan = std::make_shared<const runtime::Plan>(std::move(built.plan));
  const ModelTimes times = race_models({{"temper", plan}}, peer_work(o.work), options);
  const peers::SideTimes& own = times.sides[0];
  s.print(fmt::format("{:>14}  {}\n", own.name, side_text(own)));
  nlohmann::json peers = nlohmann::json::array();
  double best = 0;
  for (const RacedPeer& raced : times.peers) {
    if (!raced.error.empty()) throw Error(ErrorCode::NotFound, raced.error, raced.name);
    const PeerTime p{raced.name, raced.version, raced.times, peers::ratio(raced.times, own)};
    best = best == 0 ? p.ratio : std::min(best, p.ratio);
    peers.push_back(peer_json(p));
    s.print(fmt::format("{:>14}  {}  {:.2f}x\n", p.name, side_text(p.times), p.ratio));
  }
  const bool with_peer = !times.peers.empty();
  if (with_peer) s.print(fmt::format("largest difference {:.1e}\n", times.max_error[0]));
  nlohmann::json steps = nullptr;
  if (o.every_step) {
    const std::vector<StepTime> timed = time_steps(
        program, plan, {.threads = o.work.threads, .runs = o.rounds, .seed = o.seed, .cancellation = s.cancellation});
    s.print(text(timed));
    steps = to_json(timed);
  }
  return {{"name", o.work.model},
          {"key", "model"},
          {"layout", "nchw"},
          {"threads", o.work.threads},
          {"temper", side_json(own)},
          {"peers", peers},
          {"best_ratio", best},
          {"steps", steps},
          {"max_error", with_peer ? error_json(times.max_error[0]) : nlohmann::json(nullptr)}};
}

nlohmann::json workload_json(const std::string& name, const std::string& spec, const tune::Task& task,
                             const OpTimes& times) {
  nlohmann::json peers = nlohmann::json::array();
  for (const PeerTime& p : times.peers) peers.push_back(peer_json(p));
  std::string layout = "-";
  for (const auto& [key, value] : task.key.fields) layout = key == "layout" ? value : layout;
  return {{"name", name},
          {"spec", spec},
          {"key", task.key.text()},
          {"layout", layout},
          {"threads", task.threads},
          {"temper", side_json(times.temper)},
          {"peers", peers},
          {"best_ratio", times.best_ratio},
          {"max_error", error_json(times.max_error)},
          {"notes", times.notes}};
}

/// How many times faster each side is than itself with one thread.
nlohmann::json scaling_json(const OpTimes& one, const OpTimes& many) {
  nlohmann::json out{{"temper", peers::ratio(one.temper, many.temper)}};
  for (const PeerTime& p : many.peers) {
    const auto same =
        std::find_if(one.peers.begin(), one.peers.end(), [&](const PeerTime& x) { return x.name == p.name; });
    if (same != one.peers.end()) out[p.name] = peers::ratio(same->times, p.times);
  }
  return out;
}

/// The kernels of other databases.
nlohmann::json against_json(const std::vector<std::string>& paths, const OpTimes& own,
                            std::span<const OpTimes> others) {
  nlohmann::json out = nlohmann::json::array();
  for (std::size_t i = 0; i < others.size(); ++i) {
    const auto& record = others[i].record;
    out.push_back(side_json(others[i].temper));
    out.back().update({{"db", paths[i]},
                       {"record", record ? nlohmann::json(record->id) : nlohmann::json(nullptr)},
                       {"ratio", peers::ratio(others[i].temper, own.temper)}});
  }
  return out;
}

void print_workload(Session& s, const std::string& name, const tune::Task& task, const OpTimes& times,
                    const nlohmann::json& workload) {
  std::string line = fmt::format("{:<20} temper {:>10} (min {}, {})", name, seconds_text(times.temper.quartile_seconds),
                                 seconds_text(times.temper.min_seconds), times.record ? "tuned" : "default");
  for (const PeerTime& p : times.peers)
    line += fmt::format("  {} {:>10} {:.2f}x", p.name, seconds_text(p.times.quartile_seconds), p.ratio);
  s.print(line + fmt::format("  error {:.1e}\n", times.max_error));
  if (workload.contains("scaling")) {
    line = fmt::format("  {} threads over one:", task.threads);
    for (const auto& [side, value] : workload["scaling"].items())
      line += fmt::format("  {} {:.2f}x", side, value.get<double>());
    s.print(line + "\n");
  }
  for (const nlohmann::json& other : workload.value("against", nlohmann::json::array())) {
    s.print(fmt::format("  {} ({})  {:>10}  {:.2f}x\n", other["db"].get<std::string>(),
                        other["record"].is_null() ? "default" : "tuned",
                        seconds_text(other["quartile_seconds"].get<double>()), other["ratio"].get<double>()));
  }
  for (const std::string& note : times.notes) s.progress("  " + note);
}

nlohmann::json bench(Session& s, BenchCommand& o) {
  const int given = (o.work.model.empty() ? 0 : 1) + (o.work.spec.empty() ? 0 : 1) + (o.suite.empty() ? 0 : 1);
  if (given != 1)
    throw Error(ErrorCode::InvalidArgument, "bench needs one of a model, --op and --suite", "command line",
                "temper bench --suite native");
  const SystemClock clock;
  Hardware hardware = choose_hardware(s, o.runner, o.work.threads, clock);
  const target::Target& target = hardware.target;
  nlohmann::json out{{"workloads", nlohmann::json::array()},
                     {"cpu", target.model_name},
                     {"isa", target.vector_bytes == 64 ? "avx512" : "avx2"},
                     {"seed", o.seed}};
  if (!o.work.model.empty()) {
    out["workloads"].push_back(bench_model(s, o));
    return out;
  }
  // Without other sides, kernels are timed exactly as tuning times them.
  if (!hardware.test && o.peers.empty() && !o.scaling)
    hardware.test = tune::start_processes(target, o.work.threads, s.cancellation, clock);
  struct Entry {
    std::string name, spec;
  };
  std::vector<Entry> entries;
  if (!o.suite.empty()) {
    for (const SuiteEntry& entry : suite_entries(o.suite)) {
      const bool chosen = o.only.empty() || std::find(o.only.begin(), o.only.end(), entry.name) != o.only.end();
      if (chosen) entries.push_back({entry.name, suite_spec(entry, o.suite)});
    }
    for (const std::string& name : o.only) {
      if (std::none_of(entries.begin(), entries.end(), [&](const Entry& e) { return e.name == name; })) {
        throw Error(ErrorCode::InvalidArgument, "the suite has no workload '" + name + "'", "--only",
                    "temper bench --suite " + o.suite + " lists them all");
      }
    }
  } else {
    entries.push_back({o.work.spec, o.work.spec});
  }
  const Records records(o.work.db, o.work.max_error, s.cancellation);
  if (!records.note().empty()) s.progress(records.note());
  const std::vector<int> cpus = runtime::allowed_cpus();  // timing pins this thread
  std::deque<Records> others;
  for (const std::string& path : o.against) {
    if (!others.emplace_back(path, o.work.max_error, s.cancellation).note().empty()) s.progress(others.back().note());
  }
  std::vector<int> thread_counts{o.work.threads};
  if (o.scaling && o.work.threads > 1) thread_counts.insert(thread_counts.begin(), 1);
  std::vector<std::vector<peers::Peer>> peer_lists;  // one a thread count
  for (const int threads : thread_counts) {
    peers::PeerOptions options = peers::PeerOptions::defaults();
    options.threads = threads;
    for (std::vector<peers::Peer>& list = peer_lists.emplace_back(); const std::string& name : o.peers)
      list.emplace_back(name, options);
  }
  for (const Entry& entry : entries) {
    s.cancellation.throw_if_requested();
    std::deque<tune::Task> tasks;
    std::deque<tune::Built> built;
    std::vector<Contest> contests;
    for (std::size_t i = 0; i < thread_counts.size(); ++i) {
      const tune::Task& task = tasks.emplace_back(tune::task_from_spec(entry.spec, thread_counts[i]));
      contests.push_back({task, built.emplace_back(records.artifact(task, target)), peer_lists[i]});
    }
    for (const Records& other : others)
      contests.push_back({tasks.back(), built.emplace_back(other.artifact(tasks.back(), target)), {}});
    BenchOptions options{
        .cpus = cpus, .seed = o.seed, .native = o.suite != "nchw", .rounds = o.rounds, .cancellation = s.cancellation};
    if (o.rounds_given) options.least_seconds = 0;
    const std::vector<OpTimes> times =
        hardware.test ? bench_kernels(contests, *hardware.test, target, options) : bench_op(contests, options);
    for (std::size_t i = 0; i < thread_counts.size(); ++i) {
      nlohmann::json workload = workload_json(entry.name, entry.spec, tasks[i], times[i]);
      if (i + 1 == thread_counts.size() && !others.empty())
        workload["against"] = against_json(o.against, times[i], std::span(times).last(others.size()));
      if (i > 0) workload["scaling"] = scaling_json(times[0], times[i]);
      print_workload(s, entry.name, tasks[i], times[i], workload);
      out["workloads"].push_back(std::move(workload));
    }
  }
  return out;
}

}  // namespace

void declare_bench(CLI::App& command, Session& session) {
  auto o = std::make_shared<BenchCommand>();
  declare_work(command, o->work, true);
  command.add_option("--suite", o->suite, "A list of operators: native or nchw");
  command.add_option("--only", o->only, "Only these workloads of the suite")->delimiter(',');
  command.add_option("--peer", o->peers, "Also time: onednn, openblas, onnxruntime, openvino (repeat for more)")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->delimiter(',');
  declare_seed(command, o->seed, "Seed of inputs and of the order of timing");
  command
      .add_option("--against", o->against, "Also time the kernels of this database, in the same run (repeat for more)")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_flag("--scaling", o->scaling, "Time one thread as well, in the same run, and say how each side scales");
  command.add_flag("--every-step", o->every_step, "Also time each step of a model, within runs of the whole");
  declare_disabled_passes(command, o->work.disabled_passes, "Leave out a graph pass of a model");
  declare_runner(command, o->runner);
  command
      .add_option(
          "--rounds", o->rounds,
          "Samples of each side; unless given, more with --peer or --scaling where all take less than two seconds")
      ->check(CLI::Range(5, 10000))
      ->capture_default_str();
  command.callback([&command, &session, o] {
    if (o->suite.empty()) refuse_given(command, {"--only"}, "is for suites");
    if (o->work.model.empty()) refuse_given(command, {"--shape", "--every-step", "--disable-pass"}, "is for models");
    if (!o->work.model.empty()) refuse_given(command, {"--scaling", "--against"}, "is for operators and suites");
    if (o->runner.is_remote()) {
      refuse_given(command, {"--peer", "--scaling"}, "is not for a remote runner, which times our kernels alone");
      if (!o->work.model.empty())
        throw Error(ErrorCode::Unsupported, "a remote runner times single operators", "--runner",
                    "run temper bench on its machine, with this database");
    }
    o->rounds_given = command.count("--rounds") > 0;
    session.action = [o](Session& s) { return bench(s, *o); };
  });
}

}  // namespace temper::app
