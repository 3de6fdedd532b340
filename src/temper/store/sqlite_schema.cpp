#include "temper/store/sqlite_schema.h"

#include <array>
#include <filesystem>
#include <string>

#include "temper/support/error.h"

namespace temper::store {
namespace {

/// Marks the file as Temper's ("TPMR"): a database of another program is never written to.
constexpr std::int64_t kApplicationId = 0x54504d52;
/// Files up to this size are checked whole when they are opened: some milliseconds.
constexpr std::uintmax_t kCheckedBytes = 8u << 20;

constexpr std::array kMigrations = {
    Migration{1, "tasks, targets, records and traces", R"sql(
      CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
      CREATE TABLE tasks(id INTEGER PRIMARY KEY, op TEXT NOT NULL, key TEXT NOT NULL UNIQUE);
      CREATE INDEX tasks_by_op ON tasks(op);
      CREATE TABLE targets(id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE);
      CREATE TABLE records(
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        task_id INTEGER NOT NULL REFERENCES tasks(id),
        target_id INTEGER NOT NULL REFERENCES targets(id),
        candidate TEXT NOT NULL,
        definition INTEGER NOT NULL,
        schema INTEGER NOT NULL,
        temper_version TEXT NOT NULL,
        failure TEXT NOT NULL,
        reason TEXT NOT NULL,
        min_seconds REAL,
        median_seconds REAL,
        repeats INTEGER NOT NULL,
        number INTEGER NOT NULL,
        build_seconds REAL,
        run_seconds REAL,
        max_error REAL,
        strategy TEXT NOT NULL,
        seed INTEGER NOT NULL,
        created_unix_ms INTEGER NOT NULL,
        UNIQUE(task_id, target_id, candidate));
      CREATE INDEX records_best ON records(task_id, target_id, min_seconds, id) WHERE failure = 'none';
      CREATE TABLE traces(record_id INTEGER PRIMARY KEY REFERENCES records(id), trace TEXT NOT NULL);
    )sql"},
    Migration{2, "a task's default is found without reading its other records", R"sql(
      CREATE INDEX records_default ON records(task_id, target_id) WHERE strategy = 'default';
    )sql",
              /*changes_reading=*/false},
};

}  // namespace

std::span<const Migration> migrations() { return kMigrations; }

int oldest_readable(std::span<const Migration> steps) {
  int oldest = 0;
  for (const Migration& step : steps) {
    if (step.changes_reading) oldest = step.to;
  }
  return oldest;
}

int check_schema(const Connection& connection, std::span<const Migration> steps) {
  // One statement, so that the three are from one moment: another process may be making the tables.
  Statement look(
      connection,
      "SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id),"
      " count(*) FROM sqlite_schema");
  TEMPER_CHECK(look.step(), "a count gave no row");
  const auto version = static_cast<int>(look.integer(0));
  const std::int64_t application = look.integer(1), tables = look.integer(2);
  look.reset();
  if (tables == 0 && version == 0 && (application == 0 || application == kApplicationId)) return 0;
  if (application != kApplicationId) {
    throw Error(ErrorCode::Corrupt, "the file is a database of another program", connection.path().string(),
                "give another file with --db; this one was left as it is");
  }
  const int newest = steps.back().to;
  if (version > newest) {
    throw Error(
        ErrorCode::Version,
        "the database has version " + std::to_string(version) + ", this Temper reads up to " + std::to_string(newest),
        connection.path().string(), "use the Temper that wrote it, or a newer one; the file was left as it is");
  }
  std::error_code ignored;
  const auto bytes = std::filesystem::file_size(connection.path(), ignored);
  if (!ignored && bytes <= kCheckedBytes) {
    const std::string verdict = connection.text("PRAGMA quick_check(1)");
    if (verdict != "ok") {
      throw Error(ErrorCode::Corrupt, "the database is damaged",
                  connection.path().string() + " (SQLite: " + verdict + ")",
                  "restore a copy, or save what is readable with `sqlite3 FILE .recover`; the file was left as it is");
    }
  }
  return version;
}

void migrate(const Connection& connection, std::span<const Migration> steps) {
  if (check_schema(connection, steps) == steps.back().to) return;
  Transaction transaction(connection, Transaction::Kind::Write);
  // Another process may have done it between the look and the lock.
  const int version = check_schema(connection, steps);
  for (const Migration& step : steps) {
    if (step.to <= version) continue;
    connection.execute(step.sql);
    connection.execute("PRAGMA user_version = " + std::to_string(step.to));
  }
  if (version == 0) connection.execute("PRAGMA application_id = " + std::to_string(kApplicationId));
  connection.execute("INSERT INTO meta(name, value) VALUES('schema', '" + std::to_string(steps.back().to) +
                     "') ON CONFLICT(name) DO UPDATE SET value = excluded.value");
  transaction.commit();
}

}  // namespace temper::store
