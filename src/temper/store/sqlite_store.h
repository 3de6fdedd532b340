// The default store: one SQLite file. Several processes may use it at once; a killed process loses only the batch it
// was writing. The file is in write-ahead mode, so two more files (`-wal`, `-shm`) stand beside it while it is open.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>

#include "temper/store/store.h"

namespace temper::store {

enum class OpenMode {
  Create,     ///< read and write; made when it is not there
  ReadWrite,  ///< read and write; must be there
  ReadOnly,   ///< must be there; works on a read-only mount too
};

struct SqliteOptions {
  std::chrono::milliseconds busy_timeout{10'000};  ///< how long to wait for another process before Error{Busy}
  int traces_per_task = 3;  ///< how many of the best records of a task and target keep their trace
};

/// Opens `path`; brings the schema of an older Temper up to date (not in ReadOnly mode).
/// Throws: NotFound (no such file, or its folder), Io (read-only, no permission, full disk), Corrupt (no database, a
/// damaged one, or another program's), InvalidArgument (no path), Version (from a newer Temper; in ReadOnly mode also
/// from one so old that its file reads differently), Busy. The file is not changed when an error is thrown.
std::unique_ptr<Store> open_sqlite(const std::filesystem::path& path, OpenMode mode, const SqliteOptions& options = {});

/// A store in memory that is gone when the object is.
std::unique_ptr<Store> open_in_memory(const SqliteOptions& options = {});

}  // namespace temper::store
