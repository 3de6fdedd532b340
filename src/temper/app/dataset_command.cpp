// `temper dataset`: measured samples of tasks, to train cost models on and to judge them by.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <memory>
#include <set>

#include "temper/app/options.h"
#include "temper/app/session.h"
#include "temper/support/error.h"
#include "temper/tune/dataset_collection.h"

namespace temper::app {
namespace {

struct DatasetOptions {
  ModelOptions work;
  std::vector<std::string> specs;
  std::string spec_file, only, out;
  std::size_t per_task = 500;
  std::uint64_t seed = 0;
  int repeat = 3;
};

/// SPECs of a file: one a line; '#' begins a comment.
std::vector<std::string> read_specs(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw Error(ErrorCode::NotFound, "the list of tasks cannot be read", file, "one SPEC stands on each line");
  std::vector<std::string> specs;
  for (std::string line; std::getline(in, line);) {
    line.resize(std::min(line.find('#'), line.size()));
    const std::size_t first = line.find_first_not_of(" \t\r"), last = line.find_last_not_of(" \t\r");
    if (first != std::string::npos) specs.push_back(line.substr(first, last - first + 1));
  }
  return specs;
}

std::vector<tune::Task> tasks_of(const DatasetOptions& o, const target::Target& target) {
  std::vector<tune::Task> tasks;
  std::set<std::string> known;
  const auto add = [&](tune::Task task) {
    const std::string key = task.key.text();
    if (key.find(o.only) != std::string::npos && known.insert(key).second) tasks.push_back(std::move(task));
  };
  std::vector<std::string> specs = o.specs;
  if (!o.spec_file.empty()) {
    const std::vector<std::string> listed = read_specs(o.spec_file);
    specs.insert(specs.end(), listed.begin(), listed.end());
  }
  for (const std::string& spec : specs) add(tune::task_from_spec(spec, o.work.threads));
  if (!o.work.model.empty()) {
    const Model model = load_model(o.work);
    for (tune::Task& task :
         tune::tasks_from_model(model.program(model.layouts.best_known(nullptr, target)), o.work.threads, target))
      add(std::move(task));
  }
  if (tasks.empty()) {
    throw Error(ErrorCode::InvalidArgument, "there is no task to work on", "temper dataset",
                o.only.empty() ? "give --op SPEC, --specs FILE or a model" : "no key contains '" + o.only + "'");
  }
  return tasks;
}

nlohmann::json export_dataset(Session& s, const DatasetOptions& o, const std::vector<tune::Task>& tasks,
                              const target::Target& target, const store::Store& store) {
  const tune::Dataset dataset = tune::dataset_of(store, tasks, target, o.per_task, o.seed);
  std::size_t rows = 0;
  for (const tune::DatasetTask& task : dataset.tasks) rows += task.rows.size();
  if (rows == 0) {
    throw Error(ErrorCode::NotFound, "nothing of these samples was measured on this machine", o.work.db,
                "`temper dataset collect` measures them; is --seed the same?");
  }
  tune::save(dataset, o.out);
  s.print(fmt::format("{} candidates of {} tasks written to {}\n", rows, dataset.tasks.size(), o.out));
  return {{"file", o.out}, {"tasks", dataset.tasks.size()}, {"candidates", rows}};
}

nlohmann::json collect(Session& s, const DatasetOptions& o) {
  check_timed_threads(o.work.threads);
  const target::Target target = target::detect();
  const std::vector<tune::Task> tasks = tasks_of(o, target);
  const auto store = open_store(o.work.db, true);
  tune::Options options;
  options.store = store.get();
  options.cancellation = s.cancellation;
  options.timing.repeat = o.repeat;
  options.max_error = o.work.max_error;
  options.progress = [&](const tune::Event& e) {
    if (e.kind != tune::Event::Kind::BatchMeasured && e.kind != tune::Event::Kind::TaskFinished) return;
    const bool keep = e.kind == tune::Event::Kind::TaskFinished;
    s.live(fmt::format("[{}/{}] {}  {} of {} measured", e.task + 1, e.tasks, e.name, e.task_trials, o.per_task), keep);
  };
  const tune::Report report = tune::collect(tasks, o.per_task, o.seed, options);
  nlohmann::json out{{"tasks", nlohmann::json::array()},
                     {"trials", report.trials},
                     {"wall_seconds", report.wall_seconds},
                     {"cancelled", report.cancelled}};
  for (const tune::TaskReport& t : report.tasks) {
    if (!t.error.empty()) s.progress(fmt::format("{}: {}", t.name, t.error));
    nlohmann::json task{{"key", t.key},           {"trials", t.trials},
                        {"resumed", t.resumed},   {"valid_candidates", t.valid_candidates},
                        {"failures", t.failures}, {"best_seconds", t.best_seconds}};
    if (!t.error.empty()) task["error"] = t.error;
    out["tasks"].push_back(std::move(task));
  }
  s.print(fmt::format("{} trials of {} tasks in {:.1f} s\n", report.trials, report.tasks.size(), report.wall_seconds));
  if (report.cancelled) {
    s.progress("stopped; everything that was measured is in " + o.work.db + ", the same command goes on from there");
    s.exit_code = report.stalled.empty() ? 130 : exit_code(ErrorCode::Busy);
    if (!report.stalled.empty()) out["stalled"] = report.stalled;
  } else if (!o.out.empty()) {
    out["dataset"] = export_dataset(s, o, tasks, target, *store);
  }
  return out;
}

nlohmann::json write(Session& s, const DatasetOptions& o) {
  const target::Target target = target::detect();
  const std::vector<tune::Task> tasks = tasks_of(o, target);
  const auto store = open_store(o.work.db, false);
  if (store == nullptr) {
    throw Error(ErrorCode::NotFound, "there is no such database", o.work.db, "`temper dataset collect` fills one");
  }
  return export_dataset(s, o, tasks, target, *store);
}

}  // namespace

void declare_dataset(CLI::App& command, Session& session) {
  command.require_subcommand(1);
  const auto sub = [&](const char* name, const char* text, nlohmann::json (*action)(Session&, const DatasetOptions&)) {
    auto o = std::make_shared<DatasetOptions>();
    CLI::App* app = command.add_subcommand(name, text);
    app->fallthrough();
    declare_work(*app, o->work, false);
    app->add_option("--op", o->specs, "A task, as for `temper tune --op` (repeat for more)")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->delimiter('\0');
    app->add_option("--specs", o->spec_file, "A file of tasks: one SPEC a line, '#' begins a comment");
    app->add_option("--only", o->only, "Only tasks whose key contains this text");
    app->add_option("--per-task", o->per_task, "Candidates of each task")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
    declare_seed(*app, o->seed, "Seed of the samples");
    app->callback([&session, o, action] { session.action = [o, action](Session& s) { return action(s, *o); }; });
    return std::pair(app, o);
  };
  const auto [c, collected] = sub(
      "collect", "Measure uniformly drawn candidates of tasks; what is in the database is not measured again", collect);
  c->add_option("--out", collected->out, "Also write them as a dataset");
  c->add_option("--repeat", collected->repeat, "Samples of each candidate, of which the least counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  const auto [e, exported] = sub("export", "Write what was collected as a dataset", write);
  e->add_option("--out", exported->out, "The dataset")->required();
}

}  // namespace temper::app
