#include "temper/store/sqlite_store.h"

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "temper/store/sqlite_connection.h"
#include "temper/store/sqlite_queries.h"
#include "temper/store/sqlite_schema.h"
#include "temper/support/error.h"

namespace temper::store {
namespace {

namespace fs = std::filesystem;

/// Runs a parser on stored text: what it refuses is damage to the database, not a mistake of the user.
template <typename Parse>
auto parse_stored(const std::string& text, const std::string& location, Parse&& parse) {
  try {
    return parse(text);
  } catch (const Error& error) {
    throw Error(ErrorCode::Corrupt, "the database holds an unreadable record: " + error.message(),
                location + ", " + error.where(), "restore a copy of the file");
  }
}

Record read_record(const Statement& row, const std::string& location) {
  Record r;
  r.id = row.integer(0);
  r.task = parse_stored(row.text(1), location, TaskKey::parse);
  r.target = row.text(2);
  r.candidate = parse_stored(row.text(3), location, record::CandidateRecord::parse);
  r.definition_hash = std::bit_cast<std::uint64_t>(row.integer(4));
  r.schema = static_cast<int>(row.integer(5));
  r.temper_version = row.text(6);
  record::Measurement& m = r.measurement;
  m.failure = parse_stored(row.text(7), location, record::parse_failure_kind);
  m.reason = row.text(8);
  m.min_seconds = row.real(9);
  m.median_seconds = row.real(10);
  m.repeats = static_cast<int>(row.integer(11));
  m.number = row.integer(12);
  m.build_seconds = row.real(13);
  m.run_seconds = row.real(14);
  m.max_error = row.real(15);
  r.strategy = row.text(16);
  r.seed = std::bit_cast<std::uint64_t>(row.integer(17));
  r.created_unix_ms = row.integer(18);
  if (!row.is_null(queries::kTraceColumn)) r.trace = row.text(queries::kTraceColumn);
  return r;
}

TaskSummary read_summary(const Statement& row, const std::string& location) {
  TaskSummary summary;
  summary.task = parse_stored(row.text(0), location, TaskKey::parse);
  summary.target = row.text(1);
  summary.records = row.integer(2);
  summary.valid = row.integer(3);
  summary.updated_unix_ms = row.integer(4);
  summary.best_id = row.integer(5);
  summary.best_seconds = summary.best_id == 0 ? 0 : row.real(6);
  return summary;
}

class SqliteStore final : public Store {
 public:
  SqliteStore(std::unique_ptr<Connection> connection, std::string location, const SqliteOptions& options)
      : connection_(std::move(connection)), location_(std::move(location)), options_(options) {}

  std::string location() const override { return location_; }

  Appended append(std::span<const Record> records, OnConflict on_conflict) override {
    for (const Record& r : records) check_storable(r);
    const std::lock_guard lock(mutex_);
    if (connection_->is_read_only()) {
      throw Error(ErrorCode::Io, "the database was opened for reading only", location_, "open it for writing");
    }
    Appended result;
    if (records.empty()) return result;
    Transaction transaction(*connection_, Transaction::Kind::Write);
    std::set<std::pair<std::int64_t, std::int64_t>> touched;
    for (const Record& r : records) {
      const std::int64_t task = task_id(r.task);
      const std::int64_t target = find_or_add(queries::kFindTarget, queries::kAddTarget, r.target, nullptr);
      switch (add(r, task, target, on_conflict)) {
        case Outcome::Inserted: ++result.inserted; break;
        case Outcome::Replaced: ++result.replaced; break;
        case Outcome::Kept: ++result.kept; break;
      }
      touched.emplace(task, target);
    }
    for (const auto& [task, target] : touched) {
      statement(queries::kPruneTraces)
          .bind(1, task)
          .bind(2, target)
          .bind(3, std::int64_t{options_.traces_per_task})
          .run();
    }
    transaction.commit();
    return result;
  }

  std::vector<Record> best(const TaskKey& task, std::string_view target, int count) const override {
    const std::string key = task.text();
    const std::lock_guard lock(mutex_);
    return read(statement(queries::kBest).bind(1, key).bind(2, target).bind(3, std::int64_t{std::max(count, 0)}));
  }

  std::vector<Record> all(const TaskKey& task, std::string_view target) const override {
    const std::string key = task.text();
    const std::lock_guard lock(mutex_);
    return read(statement(queries::kAll).bind(1, key).bind(2, target));
  }

  std::vector<TaskSummary> tasks() const override {
    const std::lock_guard lock(mutex_);
    return read_summaries(statement(queries::kTasks));
  }

  std::vector<TaskSummary> nearest_tasks(const TaskKey& task, int count) const override {
    std::vector<TaskSummary> found;
    {
      const std::lock_guard lock(mutex_);
      found = read_summaries(statement(queries::kTasks).bind(1, std::string_view(task.op)));
    }
    std::vector<std::pair<std::size_t, std::size_t>> order;  // differences, position
    for (std::size_t i = 0; i < found.size(); ++i) order.emplace_back(compare_keys(task, found[i].task).size(), i);
    std::sort(order.begin(), order.end());
    order.resize(std::min(order.size(), static_cast<std::size_t>(std::max(count, 0))));
    std::vector<TaskSummary> nearest;
    for (const auto& [differences, i] : order) nearest.push_back(std::move(found[i]));
    return nearest;
  }

  Record record(std::int64_t id) const override {
    const std::lock_guard lock(mutex_);
    const std::vector<Record> found = read(statement(queries::kById).bind(1, id));
    if (found.empty()) {
      throw Error(ErrorCode::NotFound, "there is no record " + std::to_string(id), location_,
                  "`temper db list` shows the tasks, `temper db best` the records of one");
    }
    return found.front();
  }

  void for_each(const std::function<void(const Record&)>& visit) const override {
    const std::lock_guard lock(mutex_);
    Statement& rows = statement(queries::kEvery);
    const StatementScope scope(rows);
    while (rows.step()) visit(read_record(rows, location_));
  }

 private:
  enum class Outcome { Inserted, Replaced, Kept };

  /// The prepared form of one of the texts above, made on its first use. `sql` must live as long as the store.
  Statement& statement(std::string_view sql) const {
    auto found = statements_.find(sql);
    if (found == statements_.end()) found = statements_.emplace(sql, Statement(*connection_, sql)).first;
    return found->second;
  }

  std::vector<Record> read(Statement& rows) const {
    const StatementScope scope(rows);
    std::vector<Record> records;
    while (rows.step()) records.push_back(read_record(rows, location_));
    return records;
  }

  std::vector<TaskSummary> read_summaries(Statement& rows) const {
    const StatementScope scope(rows);
    std::vector<TaskSummary> summaries;
    while (rows.step()) summaries.push_back(read_summary(rows, location_));
    return summaries;
  }

  std::int64_t find_or_add(std::string_view find_sql, std::string_view add_sql, std::string_view text,
                           const std::string* second) {
    Statement& find = statement(find_sql);
    {
      const StatementScope scope(find);
      if (find.bind(1, text).step()) return find.integer(0);
    }
    Statement& insert = statement(add_sql);
    const StatementScope scope(insert);
    insert.bind(1, text);
    if (second != nullptr) insert.bind(2, std::string_view(*second));
    insert.run();
    return connection_->last_insert_id();
  }

  std::int64_t task_id(const TaskKey& task) {
    const std::string key = task.text();
    return find_or_add(queries::kFindTask, queries::kAddTask, key, &task.op);
  }

  Outcome add(const Record& r, std::int64_t task, std::int64_t target, OnConflict on_conflict) {
    const std::string candidate = r.candidate.text();
    std::int64_t replaced = 0;
    bool same_program = false;
    {
      Statement& find = statement(queries::kFindRecord);
      const StatementScope scope(find);
      if (find.bind(1, task).bind(2, target).bind(3, std::string_view(candidate)).step()) {
        same_program = std::bit_cast<std::uint64_t>(find.integer(1)) == r.definition_hash &&
                       find.integer(2) == r.schema && find.text(3) == r.temper_version;
        const bool has_result = find.text(4) != to_string(record::FailureKind::Unstable);
        const bool stays =
            on_conflict == OnConflict::Keep || (on_conflict == OnConflict::ReplaceStale && same_program && has_result);
        if (stays) return Outcome::Kept;
        replaced = find.integer(0);
      }
    }
    if (replaced != 0) run_with_id(queries::kDeleteTrace, replaced);
    // A number names a candidate of a program: a new measurement keeps it, another program gets another.
    const bool changed = replaced != 0 && same_program;
    if (replaced != 0 && !changed) run_with_id(queries::kDeleteRecord, replaced);
    const record::Measurement& m = r.measurement;
    Statement& insert = statement(changed ? queries::kChangeRecord : queries::kAddRecord);
    {
      const StatementScope scope(insert);
      insert.bind(1, task).bind(2, target).bind(3, std::string_view(candidate));
      insert.bind(4, std::bit_cast<std::int64_t>(r.definition_hash)).bind(5, std::int64_t{r.schema});
      insert.bind(6, std::string_view(r.temper_version))
          .bind(7, to_string(m.failure))
          .bind(8, std::string_view(m.reason));
      insert.bind(9, m.min_seconds).bind(10, m.median_seconds).bind(11, std::int64_t{m.repeats}).bind(12, m.number);
      insert.bind(13, m.build_seconds).bind(14, m.run_seconds).bind(15, m.max_error);
      insert.bind(16, std::string_view(r.strategy))
          .bind(17, std::bit_cast<std::int64_t>(r.seed))
          .bind(18, r.created_unix_ms);
      if (changed) insert.bind(19, replaced);
      insert.run();
    }
    const std::int64_t id = changed ? replaced : connection_->last_insert_id();
    if (r.trace) {
      Statement& add_trace = statement(queries::kAddTrace);
      const StatementScope scope(add_trace);
      add_trace.bind(1, id).bind(2, std::string_view(*r.trace)).run();
    }
    return replaced != 0 ? Outcome::Replaced : Outcome::Inserted;
  }

  void run_with_id(std::string_view sql, std::int64_t id) {
    Statement& change = statement(sql);
    const StatementScope scope(change);
    change.bind(1, id).run();
  }

  std::unique_ptr<Connection> connection_;
  std::string location_;
  SqliteOptions options_;
  mutable std::mutex mutex_;
  mutable std::map<std::string_view, Statement> statements_;
};

/// Puts the file in write-ahead mode. SQLite does not always wait for another process that does the same at this
/// moment.
void use_write_ahead_log(const Connection& connection) {
  const auto deadline = std::chrono::steady_clock::now() + connection.busy_timeout();
  while (true) {
    try {
      // A file system without shared memory answers with another mode: slower, but as safe.
      connection.text("PRAGMA journal_mode = WAL");
      return;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Busy || std::chrono::steady_clock::now() >= deadline) throw;
      sqlite3_sleep(10);
    }
  }
}

void check_path(const fs::path& path, OpenMode mode) {
  if (path.empty()) {
    throw Error(ErrorCode::InvalidArgument, "the database's path is empty", "--db",
                "give the name of a file with --db");
  }
  std::error_code ignored;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, ignored)) {
    throw Error(ErrorCode::NotFound, "the folder of the database does not exist", path.string(),
                "make the folder '" + folder.string() + "', or give another file with --db");
  }
  if (fs::is_directory(path, ignored)) {
    throw Error(ErrorCode::Io, "the database's path is a folder", path.string(), "give the name of a file with --db");
  }
  if (mode != OpenMode::Create && !fs::exists(path, ignored)) {
    throw Error(ErrorCode::NotFound, "the database does not exist", path.string(),
                "`temper tune` makes one; or give another file with --db");
  }
}

std::unique_ptr<Connection> connect_for_writing(const fs::path& path, OpenMode mode, const SqliteOptions& options) {
  const auto access = mode == OpenMode::Create ? Connection::Access::Create : Connection::Access::ReadWrite;
  auto connection = std::make_unique<Connection>(path, access, options.busy_timeout);
  check_schema(*connection, migrations());  // reads only: another program's or a newer file is left as it is
  if (connection->is_read_only()) {
    throw Error(ErrorCode::Io, "the database is read-only", path.string(),
                "make the file and its folder writable, or give another file with --db");
  }
  use_write_ahead_log(*connection);
  connection->execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
  migrate(*connection, migrations());
  return connection;
}

std::unique_ptr<Connection> connect_for_reading(const fs::path& path, const SqliteOptions& options) {
  std::unique_ptr<Connection> connection;
  int version = 0;
  try {
    connection = std::make_unique<Connection>(path, Connection::Access::ReadOnly, options.busy_timeout);
    version = check_schema(*connection, migrations());
  } catch (const Error& error) {
    // Where nobody can write, the index of the write-ahead log cannot be made; then the file is read without it,
    // which is right as long as the log is empty.
    const fs::path folder = fs::absolute(path).parent_path();
    if (error.code() != ErrorCode::Io || ::access(path.c_str(), R_OK) != 0 || ::access(folder.c_str(), W_OK) == 0)
      throw;
    std::error_code ignored;
    const auto log_bytes = fs::file_size(path.string() + "-wal", ignored);
    if (!ignored && log_bytes > 0) {
      throw Error(ErrorCode::Io, "the database has changes that are not merged yet, and its folder is read-only",
                  path.string(), "copy the file and its '-wal' companion to a writable folder");
    }
    connection = std::make_unique<Connection>(path, Connection::Access::Immutable, options.busy_timeout);
    version = check_schema(*connection, migrations());
  }
  if (version == 0) {
    throw Error(ErrorCode::NotFound, "the database is empty", path.string(), "`temper tune` fills it");
  }
  if (version < migrations().back().to) {
    throw Error(ErrorCode::Version,
                "the database is from an older Temper and cannot be brought up to date while read-only", path.string(),
                "open it once for writing, for example with `temper tune`");
  }
  return connection;
}

}  // namespace

std::unique_ptr<Store> open_sqlite(const fs::path& path, OpenMode mode, const SqliteOptions& options) {
  check_path(path, mode);
  auto connection =
      mode == OpenMode::ReadOnly ? connect_for_reading(path, options) : connect_for_writing(path, mode, options);
  return std::make_unique<SqliteStore>(std::move(connection), path.string(), options);
}

std::unique_ptr<Store> open_in_memory(const SqliteOptions& options) {
  auto connection = std::make_unique<Connection>("memory", Connection::Access::Memory, options.busy_timeout);
  migrate(*connection, migrations());
  return std::make_unique<SqliteStore>(std::move(connection), "memory", options);
}

}  // namespace temper::store
