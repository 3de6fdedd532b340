// temper-replay FILE [OUTPUT]: rebuilds the kernel of a trace file, prints the hash and size of its bytes, and writes
// them to OUTPUT when that is given. Exit codes as `temper`.
#include <fstream>
#include <iostream>
#include <iterator>

#include "temper/compile/replay.h"
#include "temper/support/error.h"

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::cerr << "usage: temper-replay FILE [OUTPUT]\n";
    return 2;
  }
  try {
    std::ifstream in(argv[1], std::ios::binary);
    if (!in)
      throw temper::Error(temper::ErrorCode::NotFound, "the trace file cannot be read", argv[1], "check the path");
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const temper::compile::TraceFile file = temper::compile::parse_trace_file(text);
    temper::compile::Compiler compiler(file.target);
    const temper::compile::Compiled compiled = compiler.compile(file.compute, file.trace);
    if (argc == 3) {
      std::ofstream out(argv[2], std::ios::binary);
      out.write(reinterpret_cast<const char*>(compiled.artifact.bytes.data()),
                static_cast<std::streamsize>(compiled.artifact.bytes.size()));
      if (!out.flush())
        throw temper::Error(temper::ErrorCode::Io, "the artifact cannot be written", argv[2], "is the disk full?");
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
