#include "temper/app/remote.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "temper/app/options.h"
#include "temper/protocol/token.h"
#include "temper/tune/processes.h"

namespace temper::app {
namespace {

constexpr const char* kTokenVariable = "TEMPER_RUNNER_TOKEN";

}  // namespace

void declare_token(CLI::App& command, std::string& token_file, const std::string& text) {
  command.add_option("--token-file", token_file, text + fmt::format("; without it {} is read", kTokenVariable));
}

void declare_runner(CLI::App& command, RunnerChoice& choice) {
  command.add_option("--runner", choice.address,
                     "Time on another machine, where temper runner --listen runs: tcp://HOST:PORT or unix:PATH");
  declare_token(command, choice.token_file, "With --runner: the file that holds the runner's token");
}

std::string token_of(const std::string& token_file) {
  if (!token_file.empty()) return protocol::read_token(token_file);
  const char* text = std::getenv(kTokenVariable);  // NOLINT(concurrency-mt-unsafe): nothing here changes it
  if (text == nullptr || *text == '\0') return {};
  protocol::check_token(text, fmt::format("environment variable {}", kTokenVariable));
  return text;
}

Hardware choose_hardware(Session& session, const RunnerChoice& choice, int threads, const Clock& clock) {
  if (!choice.is_remote()) {
    check_timed_threads(threads);
    return {target::detect(), nullptr};
  }
  measure::RemoteRunnerOptions options;
  options.endpoint = protocol::parse_endpoint(choice.address);
  options.token = token_of(choice.token_file);
  options.threads = threads;
  options.report = [&session](const std::string& line) { session.progress(line); };
  tune::RemoteHardware remote = tune::start_remote(options, session.cancellation, clock);
  session.progress(fmt::format("times on {}: {}", options.endpoint.text(), remote.target.model_name));
  return {std::move(remote.target), std::move(remote.test)};
}

}  // namespace temper::app
