// The commands of `temper db`; db_command.cpp declares them.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "temper/app/session.h"
#include "temper/record/record.h"
#include "temper/tune/task.h"

namespace temper::app {

struct DbOptions {
  std::string db = "temper.db";
  std::string spec, key, file, op, target, format = "jsonl", older_than;
  std::vector<std::string> files;
  int threads = 1, count = 3, keep = 0, best = 4;
  bool any_target = false, stale = false, failures = false, dry_run = false, vacuum = false, all = false;
  double max_error = tune::kMaxError;
};

/// The task's key: that of --op, or --task as `temper db list` prints it.
record::TaskKey key_of(const DbOptions& options);
/// A record with its number.
nlohmann::json record_json(const record::Record& record);
/// "1 record", "2 records".
std::string counted(std::int64_t count, const std::string& noun);

// Each runs one command and returns its JSON object. db_command.cpp:
nlohmann::json db_list(Session& session, const DbOptions& options);
nlohmann::json db_best(Session& session, const DbOptions& options);
nlohmann::json db_nearest(Session& session, const DbOptions& options);
nlohmann::json db_why_not(Session& session, const DbOptions& options);
nlohmann::json db_stats(Session& session, const DbOptions& options);
// db_exchange.cpp:
nlohmann::json db_export(Session& session, const DbOptions& options);
nlohmann::json db_import(Session& session, const DbOptions& options);
nlohmann::json db_merge(Session& session, const DbOptions& options);
// db_upkeep.cpp:
nlohmann::json db_prune(Session& session, const DbOptions& options);
nlohmann::json db_revalidate(Session& session, const DbOptions& options);

}  // namespace temper::app
