// A thin owner of SQLite's handles, inside of the store: statements with typed binding and reading, transactions, and
// the translation of SQLite's result codes into Temper's errors.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace temper::store {

class Connection;

/// A prepared statement. Parameters are numbered from 1, columns from 0, as in SQLite.
class Statement {
 public:
  Statement(const Connection& connection, std::string_view sql);

  Statement& bind(int index, std::int64_t value);
  /// NaN is stored as NULL.
  Statement& bind(int index, double value);
  /// The text must live until the statement has run.
  Statement& bind(int index, std::string_view value);

  /// Runs to the next row; false at the end, when the statement is ready to run again.
  bool step();
  /// Runs a statement that gives no rows.
  void run();
  /// Gives up the remaining rows and the bindings.
  void reset() noexcept;

  std::int64_t integer(int column) const;
  /// NULL is read as NaN.
  double real(int column) const;
  std::string text(int column) const;
  bool is_null(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept;
  };
  const Connection* connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

/// Resets a shared statement when the scope is left, however it is left.
class StatementScope {
 public:
  explicit StatementScope(Statement& statement) : statement_(statement) {}
  ~StatementScope() { statement_.reset(); }
  StatementScope(const StatementScope&) = delete;
  StatementScope& operator=(const StatementScope&) = delete;

 private:
  Statement& statement_;
};

class Connection {
 public:
  /// How SQLite opens a file.
  enum class Access {
    Memory,
    Create,
    ReadWrite,
    ReadOnly,
    Immutable,  ///< read-only, without locks and without the write-ahead log: for a mount where nobody can write
  };
  Connection(std::filesystem::path path, Access access, std::chrono::milliseconds busy_timeout);

  const std::filesystem::path& path() const { return path_; }
  std::chrono::milliseconds busy_timeout() const { return busy_timeout_; }
  sqlite3* handle() const { return handle_.get(); }
  bool is_read_only() const;

  /// Runs one or more statements that give no rows.
  void execute(const std::string& sql) const;
  /// The first column of the first row as a number.
  std::int64_t integer(std::string_view sql) const;
  std::string text(std::string_view sql) const;
  /// Rows changed by the last statement.
  std::int64_t changes() const;
  std::int64_t last_insert_id() const;

  /// Throws the error that SQLite reported last, as Temper's.
  [[noreturn]] void fail(int code) const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const noexcept;
  };
  std::filesystem::path path_;
  std::chrono::milliseconds busy_timeout_;
  std::unique_ptr<sqlite3, Close> handle_;
};

/// Holds the write lock from construction on; rolls back unless `commit` was called.
class Transaction {
 public:
  enum class Kind { Read, Write };
  Transaction(const Connection& connection, Kind kind);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  const Connection& connection_;
  bool open_ = true;
};

}  // namespace temper::store
