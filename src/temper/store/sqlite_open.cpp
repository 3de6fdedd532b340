#include "temper/store/sqlite_open.h"

#include <sqlite3.h>
#include <unistd.h>

#include <system_error>

#include "temper/store/sqlite_schema.h"
#include "temper/support/error.h"

namespace temper::store {
namespace {

namespace fs = std::filesystem;

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
  if (version < oldest_readable(migrations())) {
    throw Error(ErrorCode::Version,
                "the database is from an older Temper and cannot be brought up to date while read-only", path.string(),
                "open it once for writing, for example with `temper tune`");
  }
  return connection;
}

}  // namespace

std::unique_ptr<Connection> connect(const fs::path& path, OpenMode mode, const SqliteOptions& options) {
  check_path(path, mode);
  return mode == OpenMode::ReadOnly ? connect_for_reading(path, options) : connect_for_writing(path, mode, options);
}

std::unique_ptr<Connection> connect_in_memory(const SqliteOptions& options) {
  auto connection = std::make_unique<Connection>("memory", Connection::Access::Memory, options.busy_timeout);
  migrate(*connection, migrations());
  return connection;
}

}  // namespace temper::store
