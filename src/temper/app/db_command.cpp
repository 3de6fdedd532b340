#include "temper/app/db_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "temper/app/options.h"
#include "temper/record/json.h"
#include "temper/store/sqlite_store.h"
#include "temper/support/error.h"
#include "temper/tune/version.h"

namespace temper::app {

namespace {

nlohmann::json summary(const store::TaskSummary& t) {
  return {{"task", t.task.text()},          {"target", t.target},  {"records", t.records}, {"valid", t.valid},
          {"best_seconds", t.best_seconds}, {"best_id", t.best_id}};
}

std::string this_target() { return target::fingerprint(target::detect()); }

/// "12 crash, 3 unstable", the most first.
std::string counts_text(const std::map<std::string, std::int64_t>& counts) {
  std::vector<std::pair<std::string, std::int64_t>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [name, count] : sorted) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  return text.empty() ? "none" : text;
}

std::string megabytes(std::int64_t bytes) { return fmt::format("{:.1f} MB", static_cast<double>(bytes) * 1e-6); }

}  // namespace

record::TaskKey key_of(const DbOptions& o) {
  if (o.spec.empty() == o.key.empty()) {
    throw Error(ErrorCode::InvalidArgument, o.spec.empty() ? "no task is named" : "--op and --task together",
                "command line", "give --op SPEC, or --task with a key that `temper db list` prints");
  }
  return o.key.empty() ? tune::task_from_spec(o.spec, o.threads).key : record::TaskKey::parse(o.key);
}

nlohmann::json record_json(const record::Record& record) {
  nlohmann::json line = nlohmann::json::parse(record::to_json_line(record));
  line["id"] = record.id;
  return line;
}

std::string counted(std::int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

nlohmann::json db_list(Session& s, const DbOptions& o) {
  const auto store = store::open_sqlite(o.db, store::OpenMode::ReadOnly);
  nlohmann::json tasks = nlohmann::json::array();
  for (const store::TaskSummary& t : store->tasks()) {
    s.print(fmt::format("{:>8} records {:>6} valid {:>12}  #{:<7} {}\n", t.records, t.valid,
                        seconds_text(t.best_seconds), t.best_id, t.task.text()));
    tasks.push_back(summary(t));
  }
  if (tasks.empty()) s.print("no records\n");
  return {{"tasks", tasks}};
}

nlohmann::json db_best(Session& s, const DbOptions& o) {
  const auto store = store::open_sqlite(o.db, store::OpenMode::ReadOnly);
  const tune::Task task = tune::task_from_spec(o.spec, o.threads);
  nlohmann::json records = nlohmann::json::array();
  for (const record::Record& r : store->best(task.key, this_target(), o.count)) {
    const bool current = tune::is_current(r, task.definition_hash);
    s.print(fmt::format("#{} {} {}{}\n", r.id, seconds_text(r.measurement.min_seconds), r.candidate.text(),
                        current ? "" : "  (not of today: `temper db revalidate` checks it)"));
    records.push_back(record_json(r));
    records.back()["current"] = current;
  }
  if (records.empty()) {
    throw Error(ErrorCode::NotFound, "no record of " + task.key.text(), o.db,
                "`temper db why-not` says what differs; `temper tune --op` makes one");
  }
  return {{"records", records}};
}

nlohmann::json db_nearest(Session& s, const DbOptions& o) {
  const auto store = store::open_sqlite(o.db, store::OpenMode::ReadOnly);
  const record::TaskKey key = key_of(o);
  nlohmann::json tasks = nlohmann::json::array();
  for (const store::NearTask& near : store->nearest_tasks(key, o.count, o.any_target ? "" : this_target())) {
    const store::TaskSummary& t = near.summary;
    s.print(fmt::format("{:>7.2f} {:>8} records {:>12}  #{:<7} {}{}\n", near.distance, t.records,
                        seconds_text(t.best_seconds), t.best_id, t.task.text(),
                        o.any_target ? " on " + t.target : std::string()));
    tasks.push_back(summary(t));
    tasks.back()["distance"] = near.distance;
  }
  if (tasks.empty()) {
    s.print("no records of " + key.op + (o.any_target ? "" : " on this machine; --any-target looks at others") + "\n");
  }
  return {{"task", key.text()}, {"tasks", tasks}};
}

nlohmann::json db_why_not(Session& s, const DbOptions& o) {
  const auto store = store::open_sqlite(o.db, store::OpenMode::ReadOnly);
  const tune::Task task = tune::task_from_spec(o.spec, o.threads);
  const store::Miss miss =
      store->why_not({task.key, this_target(), task.definition_hash, std::string(tune::version())});
  s.print(miss.text() + "\n");
  nlohmann::json differences = nlohmann::json::array();
  for (const store::Difference& d : miss.differences)
    differences.push_back({{"field", d.field}, {"wanted", d.wanted}, {"found", d.found}});
  return {{"hit", miss.hit},
          {"empty", miss.empty},
          {"nearest", miss.nearest ? nlohmann::json(miss.nearest->task.text()) : nlohmann::json(nullptr)},
          {"differences", differences},
          {"text", miss.text()}};
}

nlohmann::json db_stats(Session& s, const DbOptions& o) {
  const store::StoreStats stats = store::open_sqlite(o.db, store::OpenMode::ReadOnly)->stats();
  std::map<std::string, std::int64_t> failures = stats.outcomes, schemas;
  const std::int64_t times = std::exchange(failures["none"], 0);
  failures.erase("none");
  for (const auto& [schema, count] : stats.schemas) schemas["of schema " + std::to_string(schema)] = count;
  s.print(fmt::format("file      {} ({} unused), format {}\n", megabytes(stats.bytes), megabytes(stats.free_bytes),
                      stats.format));
  s.print(fmt::format("tasks     {}\nrecords   {} ({} with a trace)\ntimes     {}\nfailures  {}\n", stats.tasks,
                      stats.records, stats.traces, times, counts_text(failures)));
  s.print(fmt::format("targets   {}\nversions  {}\nschemas   {}\n", counts_text(stats.targets),
                      counts_text(stats.versions), counts_text(schemas)));
  const auto of = [](const auto& counts, const auto& key) {
    const auto found = counts.find(key);
    return found == counts.end() ? std::int64_t{0} : found->second;
  };
  const std::int64_t here = of(stats.targets, this_target());
  const std::int64_t old = stats.records - of(stats.versions, std::string(tune::version()));
  s.print(fmt::format("{} of this machine; {} of other Temper versions{}\n", counted(here, "record"),
                      counted(old, "record"), old > 0 ? ": `temper db revalidate` checks the best of them" : ""));
  nlohmann::json by_schema = nlohmann::json::object();
  for (const auto& [schema, count] : stats.schemas) by_schema[std::to_string(schema)] = count;
  return {{"tasks", stats.tasks},           {"records", stats.records},
          {"traces", stats.traces},         {"times", times},
          {"failures", failures},           {"targets", stats.targets},
          {"versions", stats.versions},     {"schemas", by_schema},
          {"format", stats.format},         {"bytes", stats.bytes},
          {"free_bytes", stats.free_bytes}, {"target", this_target()}};
}

namespace {

/// Options of the command's own are added to what `sub` returns.
class Subcommands {
 public:
  Subcommands(CLI::App& command, Session& session, std::shared_ptr<DbOptions> options)
      : command_(&command), session_(&session), options_(std::move(options)) {}

  CLI::App* add(const char* name, const char* text, nlohmann::json (*action)(Session&, const DbOptions&)) const {
    CLI::App* app = command_->add_subcommand(name, text);
    app->fallthrough();
    app->add_option("--db", options_->db, "The database of records")->capture_default_str();
    app->callback([session = session_, o = options_, action] {
      session->action = [o, action](Session& s) { return action(s, *o); };
    });
    return app;
  }
  void add_task(CLI::App* app, bool required) const {
    auto* spec = app->add_option("--op", options_->spec, "The task, as for `temper tune --op`");
    if (required) spec->required();
    app->add_option("--threads", options_->threads, "Threads of the task")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    if (!required) app->add_option("--task", options_->key, "The task's key, as `temper db list` prints it");
  }

 private:
  CLI::App* command_;
  Session* session_;
  std::shared_ptr<DbOptions> options_;
};

void declare_questions(const Subcommands& subs, DbOptions& o) {
  const auto count = [&](CLI::App* app) {
    app->add_option("--count", o.count, "How many")->check(CLI::Range(1, 100000))->capture_default_str();
  };
  subs.add("list", "Tasks and how many records each has", db_list);
  CLI::App* best = subs.add("best", "The fastest records of a task on this machine", db_best);
  subs.add_task(best, true);
  count(best);
  CLI::App* nearest = subs.add("nearest", "The tasks of the same operator that are nearest to one", db_nearest);
  subs.add_task(nearest, false);
  count(nearest);
  nearest->add_flag("--any-target", o.any_target, "Of other machines too");
  subs.add_task(subs.add("why-not", "Why a look-up finds nothing: which part of the key differs", db_why_not), true);
  subs.add("stats", "What the database holds: records, failures by kind, tasks, targets, versions, size", db_stats);
}

void declare_exchange(const Subcommands& subs, DbOptions& o) {
  CLI::App* write =
      subs.add("export", "Write the records as JSON Lines, or those of one task as T4 results", db_export);
  write->add_option("FILE", o.file, "Where to")->required();
  write->add_option("--format", o.format, "jsonl, or t4: what auto-tuning benchmark suites and `temper compare` read")
      ->check(CLI::IsMember({"jsonl", "t4"}))
      ->capture_default_str();
  write->add_option("--operator", o.op, "jsonl: only this operator");
  write->add_option("--target", o.target, "Only this target, as `temper db stats` prints it (t4: this machine's)");
  subs.add_task(write, false);
  CLI::App* read = subs.add("import", "Add records from JSON Lines; what is there stays", db_import);
  read->add_option("FILE", o.file, "Where from")->required();
  CLI::App* merge =
      subs.add("merge", "Add the records of other databases; of two the one that says more stays", db_merge);
  merge->add_option("FILE", o.files, "Databases to read; they stay as they are")->required();
}

void declare_upkeep(const Subcommands& subs, DbOptions& o) {
  CLI::App* prune = subs.add("prune", "Make the database smaller; the best and the default always stay", db_prune);
  prune->add_option("--keep", o.keep, "Keep only so many of the fastest records of each task and target")
      ->check(CLI::Range(1, 1 << 30));
  prune->add_flag("--stale", o.stale, "Drop records of other Temper versions");
  prune->add_flag("--failures", o.failures, "Drop failures; whoever tunes on measures such candidates again");
  prune->add_flag("--dry-run", o.dry_run, "Only say what would go");
  prune->add_flag("--vacuum", o.vacuum, "Give unused room back to the file system");
  CLI::App* check = subs.add("revalidate", "After an upgrade: check, race and renew the best records of each task here",
                             db_revalidate);
  check->add_flag("--all", o.all, "Also tasks whose records are of today");
  check->add_option("--older-than", o.older_than, "With --all: only what was not measured for so long: 90s, 5m, 1h");
  check->add_option("--best", o.best, "How many records of a task are checked")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  check->add_option("--max-error", o.max_error, "How far other algorithms may be from the reference, as for tune")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

}  // namespace

void declare_db(CLI::App& command, Session& session) {
  const auto options = std::make_shared<DbOptions>();
  command.require_subcommand(1);
  const Subcommands subs(command, session, options);
  declare_questions(subs, *options);
  declare_exchange(subs, *options);
  declare_upkeep(subs, *options);
}

}  // namespace temper::app
