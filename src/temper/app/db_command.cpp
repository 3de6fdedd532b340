#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "temper/app/options.h"
#include "temper/app/session.h"
#include "temper/record/json.h"
#include "temper/store/json_lines.h"
#include "temper/store/sqlite_store.h"
#include "temper/support/error.h"
#include "temper/tune/version.h"

namespace temper::app {

namespace {

struct DbOptions {
  std::string db = "temper.db";
  std::string spec, file, op;
  int threads = 1, count = 3;
};

nlohmann::json summary(const store::TaskSummary& t) {
  return {{"task", t.task.text()},          {"target", t.target},  {"records", t.records}, {"valid", t.valid},
          {"best_seconds", t.best_seconds}, {"best_id", t.best_id}};
}

nlohmann::json list(Session& s, const DbOptions& o) {
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

nlohmann::json best(Session& s, const DbOptions& o) {
  const auto store = store::open_sqlite(o.db, store::OpenMode::ReadOnly);
  const tune::Task task = tune::task_from_spec(o.spec, o.threads);
  nlohmann::json records = nlohmann::json::array();
  for (const record::Record& r : store->best(task.key, target::fingerprint(target::detect()), o.count)) {
    s.print(fmt::format("#{} {} {}\n", r.id, seconds_text(r.measurement.min_seconds), r.candidate.text()));
    nlohmann::json line = nlohmann::json::parse(record::to_json_line(r));
    line["id"] = r.id;
    records.push_back(std::move(line));
  }
  if (records.empty()) {
    throw Error(ErrorCode::NotFound, "no record of " + task.key.text(), o.db,
                "`temper db why-not` says what differs; `temper tune --op` makes one");
  }
  return {{"records", records}};
}

nlohmann::json why_not(Session& s, const DbOptions& o) {
  const auto store = store::open_sqlite(o.db, store::OpenMode::ReadOnly);
  const tune::Task task = tune::task_from_spec(o.spec, o.threads);
  const store::Miss miss = store->why_not(
      {task.key, target::fingerprint(target::detect()), task.definition_hash, std::string(tune::version())});
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

nlohmann::json export_records(Session& s, const DbOptions& o) {
  const auto store = store::open_sqlite(o.db, store::OpenMode::ReadOnly);
  const std::int64_t count = store::export_json_lines(*store, o.file, {{}, o.op});
  s.print(fmt::format("{} records written to {}\n", count, o.file));
  return {{"records", count}, {"file", o.file}};
}

nlohmann::json import_records(Session& s, const DbOptions& o) {
  store::check_json_lines(o.file);  // before a database is made
  const auto store = store::open_sqlite(o.db, store::OpenMode::Create);
  const store::Imported imported = store::import_json_lines(*store, o.file);
  nlohmann::json bad = nlohmann::json::array();
  constexpr std::size_t kShown = 5;
  for (const store::BadLine& line : imported.bad_lines) {
    if (bad.size() < kShown) s.progress(fmt::format("line {} skipped: {}", line.line, line.message));
    bad.push_back({{"line", line.line}, {"message", line.message}});
  }
  if (bad.size() > kShown) s.progress(fmt::format("... and {} more", bad.size() - kShown));
  s.print(fmt::format("{} records imported, {} were there already, {} lines skipped\n", imported.appended.inserted,
                      imported.appended.kept, imported.bad_lines.size()));
  if (!imported.bad_lines.empty()) s.exit_code = 1;
  return {{"inserted", imported.appended.inserted}, {"kept", imported.appended.kept}, {"bad_lines", bad}};
}

}  // namespace

void declare_db(CLI::App& command, Session& session) {
  auto o = std::make_shared<DbOptions>();
  command.require_subcommand(1);
  const auto sub = [&](const char* name, const char* summary_text,
                       nlohmann::json (*action)(Session&, const DbOptions&)) {
    CLI::App* app = command.add_subcommand(name, summary_text);
    app->fallthrough();
    app->add_option("--db", o->db, "The database of records")->capture_default_str();
    app->callback([&session, o, action] { session.action = [o, action](Session& s) { return action(s, *o); }; });
    return app;
  };
  sub("list", "Tasks and how many records each has", list);
  CLI::App* b = sub("best", "The fastest records of a task on this machine", best);
  CLI::App* w = sub("why-not", "Why a look-up finds nothing: which part of the key differs", why_not);
  for (CLI::App* app : {b, w}) {
    app->add_option("--op", o->spec, "The task, as for `temper tune --op`")->required();
    app->add_option("--threads", o->threads, "Threads of the task")->check(CLI::Range(1, 1024))->capture_default_str();
  }
  b->add_option("--count", o->count, "How many")->check(CLI::Range(1, 100000))->capture_default_str();
  CLI::App* e = sub("export", "Write the records as JSON Lines", export_records);
  e->add_option("FILE", o->file, "Where to")->required();
  e->add_option("--operator", o->op, "Only this operator");
  sub("import", "Add records from JSON Lines; what is there stays", import_records)
      ->add_option("FILE", o->file, "Where from")
      ->required();
}

}  // namespace temper::app
