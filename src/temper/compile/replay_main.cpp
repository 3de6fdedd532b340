// temper-replay FILE [OUTPUT]: rebuilds the kernel of a trace file, prints the hash and size of its bytes, and writes
// them to OUTPUT when that is given. Exit codes as `temper`.
#include <fstream>
#include <iostream>
#include <iterator>
#include <span>
#include <string_view>

#include "temper/compile/replay.h"
#include "temper/support/error.h"
#include "temper/support/output_file.h"

int main(int argc, char** argv) {
  constexpr const char* kUsage = "usage: temper-replay FILE [OUTPUT]\n";
  if (argc == 2 && (argv[1] == std::string_view("--help") || argv[1] == std::string_view("-h"))) {
    std::cout << kUsage
              << "Rebuilds the kernel of a trace file, as `temper explain --stage trace` writes it; prints "
                 "the hash and size\nof its bytes, and writes them to OUTPUT when that is given.\n";
    return 0;
  }
  if (argc < 2 || argc > 3) {
    std::cerr << kUsage;
    return 2;
  }
  try {
    if (argc == 3) temper::refuse_overwriting(argv[1], argv[2]);
    std::ifstream in(argv[1], std::ios::binary);
    if (!in)
      throw temper::Error(temper::ErrorCode::NotFound, "the trace file cannot be read", argv[1], "check the path");
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const temper::compile::TraceFile file = temper::compile::parse_trace_file(text);
    temper::compile::Compiler compiler(file.target);
    const temper::compile::Compiled compiled = compiler.compile(file.compute, file.trace);
    if (argc == 3) {
      temper::OutputFile out(argv[2], "the artifact");
      out.write(std::as_bytes(std::span(compiled.artifact.bytes)));
      out.keep();
    }
    std::cout << temper::compile::fingerprint(compiled.artifact) << " " << compiled.artifact.bytes.size() << "\n";
    return 0;
  } catch (const temper::Error& error) {
    std::cerr << "temper-replay: " << error.what() << "\n";
    return temper::exit_code(error.code());
  } catch (const std::exception& error) {
    std::cerr << "temper-replay: " << error.what() << "\n";
    return 1;
  }
}
