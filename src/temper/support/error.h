// The one error type of Temper: what happened, where, and how to mend it.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace temper {

/// What kind of thing went wrong; decides the exit code of the command line (see `exit_code`).
enum class ErrorCode {
  InvalidArgument,  ///< the user's input is wrong: SPEC, flag, shape, value
  InvalidModel,     ///< a model file is malformed or inconsistent
  Unsupported,      ///< valid, but Temper cannot do it (yet)
  NotFound,         ///< a file, record or task that was named does not exist
  Io,               ///< the operating system refused: disk full, read-only, permission
  Corrupt,          ///< a file of ours is damaged
  Version,          ///< a file of ours was written by a newer Temper
  Busy,             ///< somebody else holds what is needed
  Cancelled,        ///< the user stopped the work
  Internal,         ///< a bug of ours
};

/// Thrown by every room; each public function documents the codes it throws.
class Error : public std::exception {
 public:
  /// `what`: one sentence. `where`: file, node, stage or argument (may be empty). `hint`: how to mend it (may be
  /// empty).
  Error(ErrorCode code, std::string what, std::string where = {}, std::string hint = {});

  ErrorCode code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }
  const std::string& where() const noexcept { return where_; }
  const std::string& hint() const noexcept { return hint_; }
  /// The whole error on up to three lines: message, `  at: where`, `  hint: hint`.
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  ErrorCode code_;
  std::string message_, where_, hint_, text_;
};

/// Lower-case name of a code, as printed in JSON: "invalid_argument", "io", ...
std::string_view to_string(ErrorCode code);

/// Exit code of the command line: 2 for wrong usage, model or SPEC; 130 for Cancelled; 1 for everything else.
int exit_code(ErrorCode code);

/// Throws ErrorCode::Internal with the place in the source; used by TEMPER_CHECK.
[[noreturn]] void check_failed(const char* condition, const char* file, int line, const std::string& message);

}  // namespace temper

/// States what must be true unless Temper itself has a bug; stays on in release builds.
#define TEMPER_CHECK(condition, message)                                               \
  do {                                                                                 \
    if (!(condition)) ::temper::check_failed(#condition, __FILE__, __LINE__, message); \
  } while (false)
