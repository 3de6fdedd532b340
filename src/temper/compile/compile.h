// From a definition and a trace to an artifact: schedule, nest, verify, lower, expand math, generate. Knows no operator
// and no template, so a recorded trace rebuilds its kernel in any process, byte for byte.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "temper/codegen/codegen.h"
#include "temper/ir/compute.h"
#include "temper/nest/build.h"
#include "temper/schedule/trace.h"
#include "temper/target/cpu.h"

namespace temper::compile {

struct CompileOptions {
  nest::BuildOptions nest;
  codegen::CodegenOptions codegen;
  bool keep_texts = false;                   ///< fill the text fields below
  std::string dump_after;                    ///< a pass of `pass_names()`: fill `dump` with what it leaves
  std::vector<std::string> disabled_passes;  ///< passes that may be left out, see `pass_names()`
};

struct Compiled {
  codegen::Artifact artifact;
  std::vector<codegen::PhaseStatistics> phases;
  double nest_seconds = 0, lower_seconds = 0, codegen_seconds = 0;
  std::string schedule_text, loops_text, kernel_text, llvm_ir, assembly, dump;
};

/// Names of the passes, in order, for --dump-after and --disable-pass.
std::vector<std::string> pass_names();

/// Compiles for one target; construction costs milliseconds, so keep one per thread.
class Compiler {
 public:
  /// Throws as codegen::Generator.
  explicit Compiler(const target::Target& target);
  /// Throws schedule::ScheduleError, Error{Unsupported} (limits), Error{Internal}.
  Compiled compile(const schedule::Schedule& schedule, const CompileOptions& options = {});
  Compiled compile(const ir::Compute& compute, const schedule::Trace& trace, const CompileOptions& options = {});

 private:
  codegen::Generator generator_;
};

}  // namespace temper::compile
