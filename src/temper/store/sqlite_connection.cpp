#include "temper/store/sqlite_connection.h"

#include <sqlite3.h>
#include <sys/statvfs.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include "temper/support/error.h"
#include "temper/support/hash.h"

namespace temper::store {
namespace {

constexpr int kAnyExtendedCode = -1;

/// How a result code of SQLite reads for a person. The first fitting line counts; `extended` narrows a primary code.
struct Translation {
  int primary, extended;
  ErrorCode code;
  const char* what;
  const char* hint;
};
constexpr std::array kTranslations = {
    Translation{SQLITE_FULL, kAnyExtendedCode, ErrorCode::Io, "the disk is full: nothing of this batch was written",
                "free some space; what was stored before is intact"},
    Translation{SQLITE_IOERR, SQLITE_IOERR_SHMSIZE, ErrorCode::Io,
                "the disk is full: the database's index of changes has no room",
                "free some space, or give another file with --db"},
    Translation{SQLITE_IOERR, kAnyExtendedCode, ErrorCode::Io, "reading or writing the database failed",
                "check the disk; what was stored before is intact"},
    Translation{SQLITE_BUSY, kAnyExtendedCode, ErrorCode::Busy, "another process holds the database's lock",
                "wait until it has finished, or give another file with --db"},
    Translation{SQLITE_LOCKED, kAnyExtendedCode, ErrorCode::Busy,
                "another user in this process holds the database's lock", "wait until it has finished"},
    Translation{SQLITE_READONLY, kAnyExtendedCode, ErrorCode::Io, "the database is read-only",
                "make the file and its folder writable, or give another file with --db"},
    Translation{SQLITE_CANTOPEN, kAnyExtendedCode, ErrorCode::Io, "the database cannot be opened",
                "check that the path is a file and that it and its folder are readable and writable"},
    Translation{SQLITE_PERM, kAnyExtendedCode, ErrorCode::Io, "access to the database is not permitted",
                "check the permissions of the file and its folder"},
    Translation{SQLITE_NOTADB, kAnyExtendedCode, ErrorCode::Corrupt, "the file is not a Temper database",
                "give another file with --db; this one was left as it is"},
    Translation{SQLITE_CORRUPT, kAnyExtendedCode, ErrorCode::Corrupt, "the database is damaged",
                "restore a copy, or save what is readable with `sqlite3 FILE .recover`; the file was left as it is"},
    Translation{SQLITE_NOLFS, kAnyExtendedCode, ErrorCode::Io, "the database is larger than the file system allows",
                "move it to another file system"},
};

/// Whether the file, or the folder it would be made in, is on a file system that nobody can write.
bool on_read_only_mount(const std::filesystem::path& path) {
  struct statvfs found{};
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  return statvfs(folder.c_str(), &found) == 0 && (found.f_flag & ST_RDONLY) != 0;
}

/// The path as an `file:` URI that asks for an immutable open.
std::string immutable_uri(const std::filesystem::path& path) {
  static constexpr std::string_view digits = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '/' || c == '.' || c == '-' || c == '_') {
      uri += c;
    } else {
      uri += '%';
      uri += digits[byte >> 4];
      uri += digits[byte & 15];
    }
  }
  return uri + "?immutable=1";
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }

Statement::Statement(const Connection& connection, std::string_view sql) : connection_(&connection) {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v3(connection.handle(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  handle_.reset(raw);
  if (code != SQLITE_OK) connection.fail(code);
}

Statement& Statement::bind(int index, std::int64_t value) {
  if (const int code = sqlite3_bind_int64(handle_.get(), index, value); code != SQLITE_OK) connection_->fail(code);
  return *this;
}

Statement& Statement::bind(int index, double value) {
  const int code =
      std::isnan(value) ? sqlite3_bind_null(handle_.get(), index) : sqlite3_bind_double(handle_.get(), index, value);
  if (code != SQLITE_OK) connection_->fail(code);
  return *this;
}

Statement& Statement::bind(int index, std::string_view value) {
  // An empty view may have no data at all, which SQLite would take for NULL.
  const char* data = value.empty() ? "" : value.data();
  const int code = sqlite3_bind_text64(handle_.get(), index, data, value.size(), /*destructor=*/nullptr, SQLITE_UTF8);
  if (code != SQLITE_OK) connection_->fail(code);
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) connection_->fail(code);
  reset();
  return false;
}

void Statement::run() { TEMPER_CHECK(!step(), "a statement that changes data gave a row"); }

void Statement::reset() noexcept {
  sqlite3_reset(handle_.get());
  sqlite3_clear_bindings(handle_.get());
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }

double Statement::real(int column) const {
  if (is_null(column)) return std::numeric_limits<double>::quiet_NaN();
  return sqlite3_column_double(handle_.get(), column);
}

std::string Statement::text(int column) const {
  const unsigned char* data = sqlite3_column_text(handle_.get(), column);
  if (data == nullptr) return {};
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column));
  return {data, data + size};
}

bool Statement::is_null(int column) const { return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL; }

void Connection::Close::operator()(sqlite3* handle) const noexcept { sqlite3_close_v2(handle); }

Connection::Connection(std::filesystem::path path, Access access, std::chrono::milliseconds busy_timeout)
    : path_(std::move(path)), busy_timeout_(busy_timeout) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  std::string name = path_.string();
  switch (access) {
    case Access::Memory:
      flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY;
      name = ":memory:";
      break;
    case Access::Create: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE; break;
    case Access::ReadWrite: flags |= SQLITE_OPEN_READWRITE; break;
    case Access::ReadOnly: flags |= SQLITE_OPEN_READONLY; break;
    case Access::Immutable:
      flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
      name = immutable_uri(path_);
      break;
  }
  // A relative name could be taken for one of SQLite's special names.
  if (access != Access::Memory && access != Access::Immutable) name = std::filesystem::absolute(path_).string();
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &raw, flags, nullptr);
  handle_.reset(raw);
  TEMPER_CHECK(raw != nullptr, "no memory for a database connection");
  if (code != SQLITE_OK) fail(code);
  sqlite3_busy_timeout(raw, static_cast<int>(busy_timeout.count()));
}

bool Connection::is_read_only() const { return sqlite3_db_readonly(handle_.get(), "main") == 1; }

void Connection::execute(const std::string& sql) const {
  if (const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr); code != SQLITE_OK)
    fail(code);
}

std::int64_t Connection::integer(std::string_view sql) const {
  Statement statement(*this, sql);
  TEMPER_CHECK(statement.step(), "a query for one number gave no row");
  return statement.integer(0);
}

std::string Connection::text(std::string_view sql) const {
  Statement statement(*this, sql);
  TEMPER_CHECK(statement.step(), "a query for one text gave no row");
  return statement.text(0);
}

std::int64_t Connection::changes() const { return sqlite3_changes64(handle_.get()); }

std::int64_t Connection::last_insert_id() const { return sqlite3_last_insert_rowid(handle_.get()); }

void Connection::fail(int code) const {
  const int extended = sqlite3_extended_errcode(handle_.get());
  const int system_error = sqlite3_system_errno(handle_.get());
  const int primary = code & 0xff;
  // A device without room reports it in several ways; they all mean the same to a person.
  const bool device_full =
      (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN) && (system_error == ENOSPC || system_error == EDQUOT);
  // SQLite cannot open what it cannot make room for beside the file.
  const bool unwritable = primary == SQLITE_CANTOPEN && !device_full && on_read_only_mount(path_);
  const int meant = device_full ? SQLITE_FULL : unwritable ? SQLITE_READONLY : primary;
  for (const Translation& entry : kTranslations) {
    if (entry.primary != meant) continue;
    if (entry.extended != kAnyExtendedCode && entry.extended != extended && entry.extended != code) continue;
    std::string where = path_.string();
    std::string detail = sqlite3_errmsg(handle_.get());
    if (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN) {
      if (system_error != 0) detail += ", " + std::generic_category().message(system_error);
    }
    where += " (SQLite: " + detail + ")";
    throw Error(entry.code, entry.what, where, entry.hint);
  }
  throw Error(ErrorCode::Internal, std::string("the database refused a statement: ") + sqlite3_errmsg(handle_.get()),
              path_.string(), "this is a bug in Temper; please report it with the command that led here");
}

Transaction::Transaction(const Connection& connection, Kind kind) : connection_(connection) {
  connection_.execute(kind == Kind::Write ? "BEGIN IMMEDIATE" : "BEGIN");
}

Transaction::~Transaction() {
  // After some errors SQLite has rolled back by itself; a second rollback is then refused, which does no harm.
  if (open_) sqlite3_exec(connection_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  connection_.execute("COMMIT");
  open_ = false;
}

}  // namespace temper::store
