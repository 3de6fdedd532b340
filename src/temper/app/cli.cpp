// The command line as a whole: the table of commands, common flags, errors and exit codes.
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "temper/app/session.h"
#include "temper/support/error.h"
#include "temper/support/logging.h"
#include "temper/tune/version.h"

namespace temper::app {

namespace {

constexpr Command kCommands[] = {
    {"tune", "Search for the fastest implementations and store them", declare_tune},
    {"build", "Compile a model with the stored winners into a bundle", declare_build},
    {"run", "Run a model or a bundle", declare_run},
    {"bench", "Time Temper and other libraries on the same work", declare_bench},
    {"measure", "Say what the timings of this machine are worth", declare_measure},
    {"runner", "Time on this machine for tuners on others", declare_runner_command},
    {"compare", "Compare search strategies on recorded spaces, without hardware", declare_compare},
    {"explain", "Show how a task is computed: definition, schedule, loops, code", declare_explain},
    {"replay", "Rebuild a kernel from a trace file", declare_replay},
    {"db", "List, export, import and question the database of records", declare_db},
    {"dataset", "Measure samples of tasks, for training and judging cost models", declare_dataset},
    {"model", "Train and judge cost models", declare_model},
    {"operators", "List the ONNX operators that models may use, and those that are refused", declare_operators},
    {"target", "Show the hardware that code is generated for", declare_target},
};

const CancellationToken* g_cancellation = nullptr;  // the signal handler's only way to the session

extern "C" void on_interrupt(int) {
  if (g_cancellation->requested()) _exit(130);  // a second Ctrl-C does not wait
  g_cancellation->request();
}

/// While it lives, Ctrl-C and SIGTERM ask for a stop; before and after they do what they did.
class Interrupts {
 public:
  explicit Interrupts(const CancellationToken& cancellation) {
    g_cancellation = &cancellation;
    struct sigaction handler{};
    handler.sa_handler = on_interrupt;
    sigemptyset(&handler.sa_mask);
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &handler, &before_[i]);
  }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
    g_cancellation = nullptr;
  }

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM};
  std::array<struct sigaction, kSignals.size()> before_{};
};

/// What all commands and their own commands have in common: a line of help; and an option that may be repeated takes
/// one value each time, so that `--shape x=1 model.onnx` leaves the model alone.
void describe_common(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    if (!option->get_allow_extra_args() || option->get_positional()) continue;
    option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->allow_extra_args(false);
  }
  command.footer(
      command.get_footer() +
      "Every command takes --json (one JSON object on standard output, nothing else there) and --log-level; see "
      "temper --help.");
  for (CLI::App* sub : command.get_subcommands({})) describe_common(*sub);
}

void report(Session& session, const Error& error) {
  if (session.json) {
    session.out() << nlohmann::json{{"error",
                                     {{"code", to_string(error.code())},
                                      {"message", error.message()},
                                      {"where", error.where()},
                                      {"hint", error.hint()}}}}
                         .dump(2)
                  << "\n";
  }
  session.err() << "temper: " << error.what() << "\n";
}

}  // namespace

void Session::print(const std::string& text) {
  if (json) return;
  clear_live();
  *out_ << text;
}

bool Session::terminal() const { return isatty(STDERR_FILENO) != 0; }

std::string cut_to(const std::string& line, std::size_t columns) {
  if (line.size() <= columns) return line;
  const std::size_t room = columns > 3 ? columns - 3 : 0;
  return line.substr(0, room) + std::string("...").substr(0, columns - room);
}

void Session::progress(const std::string& line) {
  if (json) return;
  clear_live();
  *err_ << line << "\n";
  err_->flush();
}

void Session::live(const std::string& line, bool keep) {
  if (keep || !terminal()) return progress(line);
  live([&](std::size_t, std::size_t columns) { return std::vector{cut_to(line, columns)}; });
}

void Session::clear_live() {
  if (live_rows_ == 0) return;
  *err_ << "\033[" << live_rows_ << "A\r\033[J";
  err_->flush();
  live_rows_ = 0;
}

void Session::live(const std::function<std::vector<std::string>(std::size_t, std::size_t)>& rows_of) {
  if (json || !terminal()) return;
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 && size.ws_row > 1;
  // A row that wraps could not be replaced; the last column is left free, where some terminals wrap already. The
  // cursor stands below the rows.
  const std::vector<std::string> rows = rows_of(known ? size.ws_row - 1U : 23U, known ? size.ws_col - 1U : 79U);
  clear_live();
  for (const std::string& row : rows) *err_ << row << "\n";
  err_->flush();
  live_rows_ = rows.size();
}

int run(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  Session session(out, err);
  CLI::App app("Temper tunes tensor programs for the machine they run on.", "temper");
  app.set_version_flag("--version", std::string("temper ") + std::string(tune::version()));
  app.require_subcommand(1);
  app.fallthrough();
  app.add_flag("--json", session.json, "Print one JSON object on standard output and nothing else there");
  app.add_option("--log-level", session.log_level, "trace, debug, info, warning, error or off")->capture_default_str();
  for (const Command& command : kCommands) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    sub->fallthrough();
    command.declare(*sub, session);
    describe_common(*sub);
  }
  const auto want_json = [&] {  // parsing may have ended before it came to the flag
    for (int i = 1; i < argc; ++i) session.json = session.json || std::string_view(argv[i]) == "--json";
    return session.json;
  };
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      if (!want_json()) return app.exit(error, out, err);
      std::ostringstream text;
      app.exit(error, text, err);
      const char* name = dynamic_cast<const CLI::CallForVersion*>(&error) != nullptr ? "version" : "help";
      out << nlohmann::json{{name, text.str()}}.dump(2) << "\n";
      return 0;
    }
    want_json();
    report(session,
           Error(ErrorCode::InvalidArgument, error.what(), "command line", "temper --help, or temper COMMAND --help"));
    return 2;
  } catch (const Error& error) {
    want_json();
    report(session, error);
    return exit_code(error.code());
  }
  const Interrupts interrupts(session.cancellation);  // ends before the session that it points to
  try {
    set_log_level(parse_log_level(session.log_level));
    const nlohmann::json result = session.action(session);
    if (session.json) out << result.dump(2) << "\n";
    out.flush();
    if (!out)
      throw Error(ErrorCode::Io, "standard output cannot be written", {}, "is the disk full, or the pipe closed?");
    // Whoever asked for a stop wants what comes after this command to stop as well, even if it came too late for it.
    return session.exit_code == 0 && session.cancellation.requested() ? 130 : session.exit_code;
  } catch (const Error& error) {
    report(session, error);
    return exit_code(error.code());
  } catch (const std::filesystem::filesystem_error& error) {
    const std::filesystem::path where = error.path1().empty() ? "the working folder" : error.path1();
    report(session, Error(ErrorCode::Io, error.code().message(), where.string(),
                          "check that the folder exists and may be used"));
    return 1;
  } catch (const std::bad_alloc&) {
    report(session, Error(ErrorCode::Io, "out of memory", {}, "use smaller shapes or a machine with more memory"));
    return 1;
  } catch (const std::exception& error) {
    report(session, Error(ErrorCode::Internal, error.what(), {},
                          "this is a bug in Temper; please report it with the command that led here"));
    return 1;
  }
}

}  // namespace temper::app
