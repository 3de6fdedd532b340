// The schema of the SQLite store and its migrations: one table of steps, each raising the version by one.
#pragma once

#include <span>

#include "temper/store/sqlite_connection.h"

namespace temper::store {

/// One step: `sql` turns version `to - 1` into `to`. A step that is released never changes; tests keep a file of every
/// version.
struct Migration {
  int to;
  const char* what;
  const char* sql;
  bool changes_reading = true;  ///< false: a file without this step is read the same, perhaps more slowly
};

/// All steps, oldest first; the first one makes the tables. The last `to` is this Temper's version.
std::span<const Migration> migrations();

/// Brings the database to the version of the last of `steps`, in one transaction; does nothing when it is there
/// already. Errors as in `check_schema`, and those of writing.
void migrate(const Connection& connection, std::span<const Migration> steps);

/// The oldest version that the queries of the last step's version can read.
int oldest_readable(std::span<const Migration> steps);

/// The version of the database's schema; 0 for a database without tables. Reads only. Throws Corrupt when the
/// database belongs to another program or is damaged, Version when it is newer than the last of `steps`.
int check_schema(const Connection& connection, std::span<const Migration> steps);

}  // namespace temper::store
