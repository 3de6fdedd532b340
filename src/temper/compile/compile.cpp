#include "temper/compile/compile.h"

#include <algorithm>
#include <chrono>

#include "temper/lower/lower.h"
#include "temper/support/error.h"

namespace temper::compile {

namespace {

class Stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

constexpr const char* kPasses[] = {"nest", "verify-nest", "lower", "verify-kernel", "expand-math", "codegen"};
constexpr const char* kOptional[] = {"verify-nest", "verify-kernel"};

}  // namespace

std::vector<std::string> pass_names() { return {std::begin(kPasses), std::end(kPasses)}; }

Compiler::Compiler(const target::Target& target) : generator_(target) {}

Compiled Compiler::compile(const schedule::Schedule& schedule, const CompileOptions& options) {
  for (const std::string& pass : options.disabled_passes) {
    if (std::find(std::begin(kOptional), std::end(kOptional), pass) == std::end(kOptional)) {
      throw Error(ErrorCode::InvalidArgument, "pass '" + pass + "' cannot be disabled", "--disable-pass",
                  "these can: verify-nest, verify-kernel");
    }
  }
  if (!options.dump_after.empty() &&
      std::find(std::begin(kPasses), std::end(kPasses), options.dump_after) == std::end(kPasses)) {
    std::string known;
    for (const char* pass : kPasses) known += (known.empty() ? "" : ", ") + std::string(pass);
    throw Error(ErrorCode::InvalidArgument, "there is no pass '" + options.dump_after + "'", "--dump-after",
                "passes: " + known);
  }
  const auto enabled = [&](const char* pass) {
    return std::find(options.disabled_passes.begin(), options.disabled_passes.end(), pass) ==
           options.disabled_passes.end();
  };
  Compiled out;
  Stopwatch watch;
  const nest::Program program = nest::build(schedule, options.nest);
  if (enabled("verify-nest")) nest::verify(program, schedule);
  out.nest_seconds = watch.lap();
  if (options.dump_after == "nest" || options.dump_after == "verify-nest") out.dump = nest::print(program);
  lower::Kernel kernel = lower::lower(program);
  if (enabled("verify-kernel")) lower::verify(kernel);
  if (options.dump_after == "lower" || options.dump_after == "verify-kernel") out.dump = lower::print(kernel);
  lower::expand_math(kernel);
  out.lower_seconds = watch.lap();
  if (options.dump_after == "expand-math") out.dump = lower::print(kernel);
  codegen::CodegenOptions generate = options.codegen;
  generate.keep_llvm_ir = generate.keep_llvm_ir || options.keep_texts || options.dump_after == "codegen";
  generate.keep_assembly = generate.keep_assembly || options.keep_texts;
  codegen::Generated generated = generator_.generate(kernel, generate);
  out.codegen_seconds = watch.lap();
  if (options.dump_after == "codegen") out.dump = generated.llvm_ir;
  out.artifact = std::move(generated.artifact);
  out.phases = std::move(generated.phases);
  out.llvm_ir = std::move(generated.llvm_ir);
  out.assembly = std::move(generated.assembly);
  if (options.keep_texts) {
    out.schedule_text = schedule::print(schedule);
    out.loops_text = nest::print(program);
    out.kernel_text = lower::print(kernel);
  }
  return out;
}

Compiled Compiler::compile(const ir::Compute& compute, const schedule::Trace& trace, const CompileOptions& options) {
  schedule::Schedule schedule(compute);
  schedule::replay(schedule, trace);
  return compile(schedule, options);
}

}  // namespace temper::compile
