// `temper runner`: times on this machine for tuners on others.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "temper/app/remote.h"
#include "temper/app/session.h"
#include "temper/measure/runner_server.h"
#include "temper/support/error.h"
#include "temper/target/cpu.h"

namespace temper::app {
namespace {

struct RunnerCommand {
  std::string listen, token_file;
};

nlohmann::json serve(Session& s, const RunnerCommand& o) {
  if (o.listen.empty()) {
    throw Error(ErrorCode::InvalidArgument, "a runner has to listen somewhere", "temper runner",
                "give --listen unix:PATH or --listen tcp://HOST:PORT");
  }
  measure::RunnerServerOptions options;
  options.endpoint = protocol::parse_endpoint(o.listen);
  options.token = token_of(o.token_file);
  options.target = target::serialise(target::detect());
  options.report = [&s](const std::string& line) { s.progress(line); };
  measure::RunnerServer server(options);
  const std::string address = server.endpoint().text();
  if (s.json) {
    // The one object comes at the end; whoever starts a runner has to know where it listens now.
    s.err() << "listens on " << address << std::endl;
  } else {
    s.progress("listens on " + address + "; Ctrl-C ends it");
  }
  server.serve(s.cancellation);
  s.progress(fmt::format("stopped after {} sessions", server.sessions()));
  return {{"listened", address}, {"sessions", server.sessions()}};
}

}  // namespace

void declare_runner_command(CLI::App& command, Session& session) {
  const auto o = std::make_shared<RunnerCommand>();
  command.add_option(
      "--listen", o->listen,
      "Where tuners come in: unix:PATH, or tcp://HOST:PORT, which needs a token; tcp://:PORT is for this "
      "machine alone, tcp://0.0.0.0:PORT for every network, tcp://:0 takes a port that is free");
  declare_token(command, o->token_file, "The file that holds the token that lets tuners in");
  command.callback([&session, o] { session.action = [o](Session& s) { return serve(s, *o); }; });
}

}  // namespace temper::app
