// Where kernels are timed: on this machine, or by a runner on another one.
#pragma once

#include <memory>
#include <string>

#include "temper/app/session.h"
#include "temper/support/clock.h"
#include "temper/target/cpu.h"
#include "temper/tune/hardware_test.h"

namespace temper::app {

struct RunnerChoice {
  std::string address;     ///< as protocol::parse_endpoint takes it; empty: this machine
  std::string token_file;  ///< empty: the environment variable TEMPER_RUNNER_TOKEN, if it is set
  bool is_remote() const { return !address.empty(); }
};

/// --runner and --token-file.
void declare_runner(CLI::App& command, RunnerChoice& choice);
/// --token-file.
void declare_token(CLI::App& command, std::string& token_file, const std::string& text);
/// The token of the file, or of the environment variable; empty when neither is given. Throws as protocol::read_token
/// and protocol::check_token.
std::string token_of(const std::string& token_file);

struct Hardware {
  target::Target target;
  std::unique_ptr<tune::HardwareTest> test;  ///< null: this machine, not started
};

/// Connects where a runner was chosen; says so, and whatever becomes of the connection. Throws Error{InvalidArgument}
/// when `threads` are more than there are CPUs here or there, and as `tune::start_remote`. Borrows session and clock.
Hardware choose_hardware(Session& session, const RunnerChoice& choice, int threads, const Clock& clock);

}  // namespace temper::app
