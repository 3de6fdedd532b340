#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "temper/app/session.h"
#include "temper/compile/replay.h"
#include "temper/support/error.h"
#include "temper/support/output_file.h"

namespace temper::app {

void declare_replay(CLI::App& command, Session& session) {
  struct Options {
    std::string trace, output;
  };
  auto options = std::make_shared<Options>();
  command.add_option("TRACE", options->trace, "A trace file, as `temper explain --stage trace` writes it")->required();
  command.add_option("-o,--output", options->output, "Where to write the artifact (a shared object)");
  command.callback([&session, options] {
    session.action = [options](Session& s) {
      refuse_overwriting(options->trace, options->output);
      std::ifstream in(options->trace, std::ios::binary);
      if (!in) throw Error(ErrorCode::NotFound, "the trace file cannot be read", options->trace, "check the path");
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      const compile::TraceFile file = compile::parse_trace_file(text);
      compile::Compiler compiler(file.target);
      s.cancellation.throw_if_requested();
      const compile::Compiled compiled = compiler.compile(file.compute, file.trace);
      s.cancellation.throw_if_requested();
      if (!options->output.empty()) {
        OutputFile out(options->output, "the artifact");
        out.write(std::as_bytes(std::span(compiled.artifact.bytes)));
        out.keep();
      }
      const std::string hash = compile::fingerprint(compiled.artifact);
      s.print(hash + " " + std::to_string(compiled.artifact.bytes.size()) + " bytes\n");
      return nlohmann::json{{"artifact_hash", hash}, {"artifact_bytes", compiled.artifact.bytes.size()}};
    };
  });
}

}  // namespace temper::app
