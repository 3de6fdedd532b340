// What every command of the command line shares: where it prints, how it is stopped, and its one JSON object.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "temper/support/cancellation.h"

namespace CLI {
class App;
}

namespace temper::app {

class Session {
 public:
  Session(std::ostream& out, std::ostream& err) : out_(&out), err_(&err) {}

  bool json = false;
  std::string log_level = "warning";
  CancellationToken cancellation;
  int exit_code = 0;                               ///< set by an action that ends without an error but not well
  std::function<nlohmann::json(Session&)> action;  ///< of the command that was chosen; returns its JSON object

  /// Result text; dropped with --json.
  void print(const std::string& text);
  /// Progress; to standard error, dropped with --json.
  void progress(const std::string& line);
  /// Progress that the next output replaces where standard error is a terminal; a plain line elsewhere.
  void live(const std::string& line, bool keep);
  /// Rows that the next output replaces, on a terminal; nothing elsewhere. `rows_of` gets how many rows and columns
  /// there is room for.
  void live(const std::function<std::vector<std::string>(std::size_t rows, std::size_t columns)>& rows_of);
  bool terminal() const;
  std::ostream& out() { return *out_; }
  std::ostream& err() { return *err_; }

 private:
  std::ostream* out_;
  std::ostream* err_;
  void clear_live();
  std::size_t live_rows_ = 0;  ///< on the screen
};

/// The line, or its beginning and dots, in that many columns (one a byte).
std::string cut_to(const std::string& line, std::size_t columns);

/// A command: declares its options on `command` and sets `session.action` in the command's callback.
struct Command {
  const char* name;
  const char* summary;
  void (*declare)(CLI::App& command, Session& session);
};

void declare_target(CLI::App& command, Session& session);
void declare_explain(CLI::App& command, Session& session);
void declare_replay(CLI::App& command, Session& session);
void declare_dataset(CLI::App& command, Session& session);
void declare_model(CLI::App& command, Session& session);
void declare_db(CLI::App& command, Session& session);
void declare_tune(CLI::App& command, Session& session);
void declare_build(CLI::App& command, Session& session);
void declare_run(CLI::App& command, Session& session);
void declare_operators(CLI::App& command, Session& session);
void declare_bench(CLI::App& command, Session& session);
void declare_measure(CLI::App& command, Session& session);
void declare_compare(CLI::App& command, Session& session);
void declare_runner_command(CLI::App& command, Session& session);

/// Runs the command line; returns its exit code: 0 done, 1 failed, 2 wrong usage, model or SPEC, 130 stopped.
int run(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace temper::app
