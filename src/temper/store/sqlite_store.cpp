#include "temper/store/sqlite_store.h"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "temper/store/conflict.h"
#include "temper/store/sqlite_connection.h"
#include "temper/store/sqlite_open.h"
#include "temper/store/sqlite_queries.h"
#include "temper/store/task_distance.h"
#include "temper/support/error.h"

namespace temper::store {
namespace {

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
    require_writable();
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

  std::vector<Record> newer(const TaskKey& task, std::string_view target, std::int64_t id) const override {
    const std::string key = task.text();
    const std::lock_guard lock(mutex_);
    return read(statement(queries::kNewer).bind(1, key).bind(2, target).bind(3, id));
  }

  std::vector<Record> defaults(const TaskKey& task, std::string_view target) const override {
    const std::string key = task.text();
    const std::lock_guard lock(mutex_);
    return read(statement(queries::kDefaults).bind(1, key).bind(2, target));
  }

  std::vector<TaskSummary> tasks() const override {
    const std::lock_guard lock(mutex_);
    return read_summaries(statement(queries::kTasks));
  }

  std::vector<NearTask> nearest_tasks(const TaskKey& task, int count, std::string_view target) const override {
    struct Found {
      double distance;
      std::int64_t task, target;
    };
    const std::lock_guard lock(mutex_);
    const Transaction moment(*connection_, Transaction::Kind::Read);
    std::vector<Found> found;
    {
      Statement& rows = statement(queries::kTasksOfOperator);
      const StatementScope scope(rows);
      rows.bind(1, std::string_view(task.op)).bind(2, target);
      while (rows.step()) {
        const TaskKey key = parse_stored(rows.text(0), location_, TaskKey::parse);
        found.push_back({distance(task, key), rows.integer(1), rows.integer(2)});
      }
    }
    std::ranges::stable_sort(found, {}, &Found::distance);
    found.resize(std::min(found.size(), static_cast<std::size_t>(std::max(count, 0))));
    std::vector<NearTask> nearest;
    for (const Found& near : found) {
      const std::vector<TaskSummary> summary =
          read_summaries(statement(queries::kTask).bind(1, near.task).bind(2, near.target));
      TEMPER_CHECK(summary.size() == 1, "a task with records has no summary");
      nearest.push_back({summary.front(), near.distance});
    }
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

  StoreStats stats() const override {
    const std::lock_guard lock(mutex_);
    const Transaction moment(*connection_, Transaction::Kind::Read);
    StoreStats stats;
    std::map<std::tuple<std::int64_t, std::string, std::string, std::int64_t>, std::int64_t> kinds;
    {
      Statement& rows = statement(queries::kOutcomes);
      const StatementScope scope(rows);
      while (rows.step()) ++kinds[{rows.integer(0), rows.text(1), rows.text(2), rows.integer(3)}];
    }
    std::map<std::int64_t, std::string> targets;
    {
      Statement& rows = statement(queries::kTargets);
      const StatementScope scope(rows);
      while (rows.step()) targets[rows.integer(0)] = rows.text(1);
    }
    for (const auto& [kind, records] : kinds) {
      const auto& [target, outcome, version, schema] = kind;
      stats.records += records;
      stats.targets[targets[target]] += records;
      stats.outcomes[outcome] += records;
      stats.versions[version] += records;
      stats.schemas[static_cast<int>(schema)] += records;
    }
    Statement& counts = statement(queries::kCounts);
    const StatementScope scope(counts);
    TEMPER_CHECK(counts.step(), "a count gave no row");
    stats.tasks = counts.integer(0);
    stats.traces = counts.integer(1);
    stats.format = static_cast<int>(counts.integer(2));
    stats.bytes = counts.integer(3);
    stats.free_bytes = counts.integer(4);
    return stats;
  }

  std::int64_t remove(std::span<const std::int64_t> ids) override {
    const std::lock_guard lock(mutex_);
    require_writable();
    if (ids.empty()) return 0;
    Transaction transaction(*connection_, Transaction::Kind::Write);
    std::int64_t removed = 0;
    for (const std::int64_t id : ids) {
      run_with_id(queries::kDeleteTrace, id);
      run_with_id(queries::kDeleteRecord, id);
      removed += connection_->changes();
    }
    transaction.commit();
    return removed;
  }

  void compact() override {
    const std::lock_guard lock(mutex_);
    require_writable();
    {
      Transaction transaction(*connection_, Transaction::Kind::Write);
      connection_->execute(std::string(queries::kDropUnused));
      transaction.commit();
    }
    connection_->execute("VACUUM");
    connection_->execute("PRAGMA wal_checkpoint(TRUNCATE)");  // the new file is in the log until then
  }

 private:
  enum class Outcome { Inserted, Replaced, Kept };

  void require_writable() const {
    if (!connection_->is_read_only()) return;
    throw Error(ErrorCode::Io, "the database was opened for reading only", location_, "open it for writing");
  }

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
    bool same = false;
    {
      Statement& find = statement(queries::kFindRecord);
      const StatementScope scope(find);
      if (find.bind(1, task).bind(2, target).bind(3, std::string_view(candidate)).step()) {
        Record stored;
        stored.id = find.integer(0);
        stored.definition_hash = std::bit_cast<std::uint64_t>(find.integer(1));
        stored.schema = static_cast<int>(find.integer(2));
        stored.temper_version = find.text(3);
        stored.measurement.failure = parse_stored(find.text(4), location_, record::parse_failure_kind);
        stored.measurement.repeats = static_cast<int>(find.integer(5));
        stored.measurement.min_seconds = find.real(6);
        stored.created_unix_ms = find.integer(7);
        if (!gives_way(stored, r, on_conflict)) return Outcome::Kept;
        same = same_program(stored, r);
        replaced = stored.id;
      }
    }
    if (replaced != 0) run_with_id(queries::kDeleteTrace, replaced);
    // A number names a candidate of a program: a new measurement keeps it, another program gets another.
    const bool changed = replaced != 0 && same;
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

}  // namespace

std::unique_ptr<Store> open_sqlite(const std::filesystem::path& path, OpenMode mode, const SqliteOptions& options) {
  return std::make_unique<SqliteStore>(connect(path, mode, options), path.string(), options);
}

std::unique_ptr<Store> open_in_memory(const SqliteOptions& options) {
  return std::make_unique<SqliteStore>(connect_in_memory(options), "memory", options);
}

}  // namespace temper::store
