// The statements of the SQLite store. Tests ask SQLite for their plans, so that no look-up can come to scan the
// records.
#pragma once

#include <string_view>

namespace temper::store::queries {

/// The columns of a record in the order in which `read_record` takes them.
#define TEMPER_RECORD_COLUMNS                                                                                       \
  "r.id, t.key, g.fingerprint, r.candidate, r.definition, r.schema, r.temper_version, r.failure, r.reason, "        \
  "r.min_seconds, r.median_seconds, r.repeats, r.number, r.build_seconds, r.run_seconds, r.max_error, r.strategy, " \
  "r.seed, r.created_unix_ms"
#define TEMPER_RECORD_TABLES " FROM records r JOIN tasks t ON t.id = r.task_id JOIN targets g ON g.id = r.target_id"
inline constexpr int kTraceColumn = 19;

inline constexpr std::string_view kBest = "SELECT " TEMPER_RECORD_COLUMNS ", x.trace" TEMPER_RECORD_TABLES
                                          " LEFT JOIN traces x ON x.record_id = r.id"
                                          " WHERE t.key = ? AND g.fingerprint = ? AND r.failure = 'none'"
                                          " ORDER BY r.min_seconds, r.id LIMIT ?";
inline constexpr std::string_view kAll = "SELECT " TEMPER_RECORD_COLUMNS ", NULL" TEMPER_RECORD_TABLES
                                         " WHERE t.key = ? AND g.fingerprint = ? ORDER BY r.id";
inline constexpr std::string_view kNewer = "SELECT " TEMPER_RECORD_COLUMNS ", NULL" TEMPER_RECORD_TABLES
                                           " WHERE t.key = ? AND g.fingerprint = ? AND r.id > ? ORDER BY r.id";
inline constexpr std::string_view kDefaults = "SELECT " TEMPER_RECORD_COLUMNS ", x.trace" TEMPER_RECORD_TABLES
                                              " LEFT JOIN traces x ON x.record_id = r.id"
                                              " WHERE t.key = ? AND g.fingerprint = ? AND r.strategy = 'default'"
                                              " ORDER BY r.id";
inline constexpr std::string_view kById = "SELECT " TEMPER_RECORD_COLUMNS ", x.trace" TEMPER_RECORD_TABLES
                                          " LEFT JOIN traces x ON x.record_id = r.id WHERE r.id = ?";
inline constexpr std::string_view kEvery = "SELECT " TEMPER_RECORD_COLUMNS ", x.trace" TEMPER_RECORD_TABLES
                                           " LEFT JOIN traces x ON x.record_id = r.id ORDER BY r.id";
#define TEMPER_SUMMARY_COLUMNS                                                                                    \
  "t.key, g.fingerprint, count(*), sum(r.failure = 'none'), max(r.created_unix_ms),"                              \
  " (SELECT b.id FROM records b WHERE b.task_id = r.task_id AND b.target_id = r.target_id AND b.failure = 'none'" \
  "  ORDER BY b.min_seconds, b.id LIMIT 1),"                                                                      \
  " (SELECT min(b.min_seconds) FROM records b WHERE b.task_id = r.task_id AND b.target_id = r.target_id"          \
  "  AND b.failure = 'none')"
inline constexpr std::string_view kTasks = "SELECT " TEMPER_SUMMARY_COLUMNS TEMPER_RECORD_TABLES
                                           " GROUP BY r.task_id, r.target_id ORDER BY t.key, g.fingerprint";
// ?1 and ?2: the numbers of task and target; no row when it has no records.
inline constexpr std::string_view kTask = "SELECT " TEMPER_SUMMARY_COLUMNS TEMPER_RECORD_TABLES
                                          " WHERE r.task_id = ?1 AND r.target_id = ?2 GROUP BY r.task_id, r.target_id";
// Tasks of an operator without a look at their records, but for whether there are any. ?2: the target, empty for all.
inline constexpr std::string_view kTasksOfOperator =
    "SELECT t.key, t.id, g.id FROM tasks t CROSS JOIN targets g WHERE t.op = ?1"
    " AND (?2 = '' OR g.fingerprint = ?2)"
    " AND EXISTS (SELECT 1 FROM records r WHERE r.task_id = t.id AND r.target_id = g.id)"
    " ORDER BY t.key, g.fingerprint";
// Counted by whoever reads it: SQLite would sort all records to group them.
inline constexpr std::string_view kOutcomes =
    "SELECT r.target_id, r.failure, r.temper_version, r.schema FROM records r";
inline constexpr std::string_view kTargets = "SELECT id, fingerprint FROM targets";
inline constexpr std::string_view kCounts =
    "SELECT (SELECT count(*) FROM tasks t WHERE EXISTS (SELECT 1 FROM records r WHERE r.task_id = t.id)),"
    " (SELECT count(*) FROM traces), (SELECT user_version FROM pragma_user_version),"
    " (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size),"
    " (SELECT freelist_count FROM pragma_freelist_count) * (SELECT page_size FROM pragma_page_size)";
inline constexpr std::string_view kFindTask = "SELECT id FROM tasks WHERE key = ?";
inline constexpr std::string_view kAddTask = "INSERT INTO tasks(key, op) VALUES(?, ?)";
inline constexpr std::string_view kFindTarget = "SELECT id FROM targets WHERE fingerprint = ?";
inline constexpr std::string_view kAddTarget = "INSERT INTO targets(fingerprint) VALUES(?)";
inline constexpr std::string_view kFindRecord =
    "SELECT id, definition, schema, temper_version, failure, repeats, min_seconds, created_unix_ms FROM records"
    " WHERE task_id = ? AND target_id = ? AND candidate = ?";
inline constexpr std::string_view kAddRecord =
    "INSERT INTO records(task_id, target_id, candidate, definition, schema, temper_version, failure, reason, "
    "min_seconds,"
    " median_seconds, repeats, number, build_seconds, run_seconds, max_error, strategy, seed, created_unix_ms)"
    " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
// The order of kAddRecord, then the record's number.
inline constexpr std::string_view kChangeRecord =
    "UPDATE records SET task_id = ?, target_id = ?, candidate = ?, definition = ?, schema = ?, temper_version = ?,"
    " failure = ?, reason = ?, min_seconds = ?, median_seconds = ?, repeats = ?, number = ?, build_seconds = ?,"
    " run_seconds = ?, max_error = ?, strategy = ?, seed = ?, created_unix_ms = ? WHERE id = ?";
inline constexpr std::string_view kDeleteRecord = "DELETE FROM records WHERE id = ?";
inline constexpr std::string_view kAddTrace = "INSERT INTO traces(record_id, trace) VALUES(?, ?)";
inline constexpr std::string_view kDeleteTrace = "DELETE FROM traces WHERE record_id = ?";
// The default schedule's record keeps its trace too: gains are told against it.
inline constexpr std::string_view kPruneTraces =
    "DELETE FROM traces WHERE record_id IN (SELECT x.record_id FROM traces x JOIN records r ON r.id = x.record_id"
    "  WHERE r.task_id = ?1 AND r.target_id = ?2)"
    " AND record_id NOT IN (SELECT id FROM records WHERE task_id = ?1 AND target_id = ?2 AND failure = 'none'"
    "  ORDER BY min_seconds, id LIMIT ?3)"
    " AND record_id NOT IN (SELECT id FROM records WHERE task_id = ?1 AND target_id = ?2 AND failure = 'none'"
    "  AND strategy = 'default')";

// Keys and targets that have lost their last record.
inline constexpr std::string_view kDropUnused =
    "DELETE FROM tasks WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.task_id = tasks.id);"
    "DELETE FROM targets WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.target_id = targets.id)";

#undef TEMPER_SUMMARY_COLUMNS
#undef TEMPER_RECORD_COLUMNS
#undef TEMPER_RECORD_TABLES

}  // namespace temper::store::queries
