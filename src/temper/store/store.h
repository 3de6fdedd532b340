// Where records live: an append-only collection with exact look-ups by task and target, shared by every tuner that
// opens it.
//
// A record is identified by (task, target, candidate). Failures are records like any other. `open_sqlite` in
// `store/sqlite_store.h` opens the default implementation; `store/json_lines.h` and `store/t4_export.h` export and
// import, `store/merge.h` joins files. `docs/database.md` describes the file, its guarantees and its commands.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "temper/record/record.h"

namespace temper::store {

using record::Record;
using record::TaskKey;

/// What happened to the records of one `append`.
struct Appended {
  std::int64_t inserted = 0;
  std::int64_t replaced = 0;  ///< stale ones that gave way, see `OnConflict`
  std::int64_t kept = 0;      ///< already there; the stored record stayed as it was
  Appended& operator+=(const Appended& other);
  bool operator==(const Appended&) const = default;
};

/// What to do with a record whose (task, target, candidate) is stored already.
enum class OnConflict {
  /// The stored one gives way when it describes another program: its definition hash, schema or Temper version differs;
  /// and when its time was unstable, which says more of the machine than of the candidate. Otherwise it stays. For
  /// fresh measurements.
  ReplaceStale,
  /// The stored one always stays. For imports, whose age is unknown.
  Keep,
  /// The stored one always gives way, with its trace and id. For better measurements of the same candidate.
  Replace,
  /// The one that says more stays, see `outranks` in `store/conflict.h`. For records of another store.
  KeepBetter,
};

/// One task on one target.
struct TaskSummary {
  TaskKey task;
  std::string target;
  std::int64_t records = 0;
  std::int64_t valid = 0;    ///< records without a failure
  double best_seconds = 0;   ///< minimum of the best record; 0 when none is valid
  std::int64_t best_id = 0;  ///< 0 when none is valid
  std::int64_t updated_unix_ms = 0;
};

/// A task of the store beside the one that was asked for.
struct NearTask {
  TaskSummary summary;
  double distance = 0;  ///< see `distance` in `store/task_distance.h`
};

/// What a store holds, counted.
struct StoreStats {
  std::int64_t tasks = 0;  ///< keys that have records, whatever their target
  std::int64_t records = 0;
  std::int64_t traces = 0;                       ///< records that keep their trace
  std::map<std::string, std::int64_t> outcomes;  ///< "none" for times, else the kind of failure → records
  std::map<std::string, std::int64_t> targets;   ///< fingerprint → records
  std::map<std::string, std::int64_t> versions;  ///< Temper version → records
  std::map<int, std::int64_t> schemas;           ///< record schema → records
  int format = 0;                                ///< version of the file's own schema
  std::int64_t bytes = 0;                        ///< of the file, without what is not merged into it yet
  std::int64_t free_bytes = 0;                   ///< of these: `compact` gives them back
};

/// What a look-up wants, for `why_not`. An empty `temper_version` or absent `definition_hash` matches everything.
struct Wanted {
  TaskKey task;
  std::string target;
  std::optional<std::uint64_t> definition_hash;
  std::string temper_version;
};

struct Difference {
  std::string field;   ///< "operator", "key n", "target", "schema", "temper version", "definition", "failure"
  std::string wanted;  ///< empty when the wanted key lacks the field
  std::string found;   ///< empty when the nearest record lacks the field
  bool operator==(const Difference&) const = default;
};

/// Why a look-up finds nothing that it may use.
struct Miss {
  bool hit = false;    ///< nothing is wrong: there is a usable record
  bool empty = false;  ///< nothing at all is stored
  std::optional<Record> nearest;
  std::vector<Difference> differences;  ///< between what is wanted and `nearest`
  /// The same in sentences, one difference a line.
  std::string text() const;
};

/// All functions may be called from any thread. Look-ups see what other processes have committed.
/// Errors of every function: Io (disk full, read-only, device), Corrupt, Busy (another process held the lock for longer
/// than the time-out); the store is then as it was before the call.
class Store {
 public:
  virtual ~Store() = default;

  /// Where it is, for messages.
  virtual std::string location() const = 0;

  /// Adds all records in one transaction: all of them or, on an error, none. Afterwards only the best few records of
  /// each task and target, and the one of the default schedule (its strategy is "default"), still have their trace. The
  /// ids of `records` are ignored. Throws what `check_storable` throws.
  virtual Appended append(std::span<const Record> records, OnConflict on_conflict = OnConflict::ReplaceStale) = 0;

  /// Up to `count` valid records of exactly this task and target, fastest minimum first, with their traces.
  virtual std::vector<Record> best(const TaskKey& task, std::string_view target, int count) const = 0;

  /// Every record of exactly this task and target, failures too, oldest first, without traces.
  virtual std::vector<Record> all(const TaskKey& task, std::string_view target) const = 0;

  /// Those of `all` whose id is above `id`: what came since.
  virtual std::vector<Record> newer(const TaskKey& task, std::string_view target, std::int64_t id) const = 0;

  /// Those of `all` whose strategy is "default", with their traces: the untuned schedule of each version.
  virtual std::vector<Record> defaults(const TaskKey& task, std::string_view target) const = 0;

  /// One entry for each task and target, ordered by the key's text, then the target.
  virtual std::vector<TaskSummary> tasks() const = 0;

  /// Tasks of the same operator on `target`, or on any target when it is empty; the least distance first, the task
  /// itself included. Prior knowledge for search; never to be applied as it is.
  virtual std::vector<NearTask> nearest_tasks(const TaskKey& task, int count, std::string_view target) const = 0;

  /// The record with this id and its trace. Throws NotFound.
  virtual Record record(std::int64_t id) const = 0;

  /// Calls `visit` with every record and its trace, oldest first, all from one moment. `visit` must not call the store.
  virtual void for_each(const std::function<void(const Record&)>& visit) const = 0;

  virtual StoreStats stats() const = 0;

  /// Removes these records and their traces in one transaction; ids that are not there are skipped. Returns how many
  /// were removed. Their room is used again; `compact` makes the file smaller.
  virtual std::int64_t remove(std::span<const std::int64_t> ids) = 0;

  /// Gives unused room back to the file system. Needs as much room again while it works, and waits for whoever else has
  /// the store open.
  virtual void compact() = 0;

  /// Why `best` has no usable record for this: compares with the nearest one.
  Miss why_not(const Wanted& wanted) const;
};

/// Throws InvalidArgument when the record has no operator, target or design, or is valid but has no positive time.
void check_storable(const Record& r);

/// Field by field, in the order of `wanted`; then the fields that only `found` has.
std::vector<Difference> compare_keys(const TaskKey& wanted, const TaskKey& found);

}  // namespace temper::store
