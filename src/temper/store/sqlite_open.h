// How the file of a store is opened: what is checked before, the modes of SQLite, and what read-only mounts need.
#pragma once

#include <filesystem>
#include <memory>

#include "temper/store/sqlite_connection.h"
#include "temper/store/sqlite_store.h"

namespace temper::store {

/// A connection to a file of this Temper's schema, or in ReadOnly mode of one that it can read. Throws what
/// `open_sqlite` throws.
std::unique_ptr<Connection> connect(const std::filesystem::path& path, OpenMode mode, const SqliteOptions& options);

/// A new database in memory.
std::unique_ptr<Connection> connect_in_memory(const SqliteOptions& options);

}  // namespace temper::store
