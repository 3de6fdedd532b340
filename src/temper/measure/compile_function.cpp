#include "temper/measure/compile_function.h"

#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "temper/compile/compile.h"
#include "temper/ir/compute.h"
#include "temper/schedule/schedule.h"
#include "temper/schedule/trace.h"
#include "temper/support/error.h"
#include "temper/target/cpu.h"

namespace temper::measure {
namespace {

struct NumberOption {
  const char* name;
  void (*set)(compile::CompileOptions&, int);
};
constexpr std::array<NumberOption, 3> kNumberOptions{
    {{"contract", [](compile::CompileOptions& o, int value) { o.codegen.contract = value != 0; }},
     {"max_bodies", [](compile::CompileOptions& o, int value) { o.nest.max_bodies = value; }},
     {"max_border_cuts", [](compile::CompileOptions& o, int value) { o.nest.max_border_cuts = value; }}}};

void set_option(compile::CompileOptions& options, const std::string& name, const std::string& text) {
  for (const NumberOption& option : kNumberOptions) {
    if (name != option.name) continue;
    int value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || stop != text.data() + text.size()) {
      throw Error(ErrorCode::InvalidArgument, "build option " + name + " takes a number, not '" + text + "'");
    }
    option.set(options, value);
    return;
  }
  throw Error(ErrorCode::InvalidArgument, "there is no build option '" + name + "'");
}

compile::CompileOptions options_of(const protocol::BuildOptions& message) {
  compile::CompileOptions options;
  options.codegen.keep_llvm_ir = message.keep_ir();
  options.codegen.keep_assembly = message.keep_assembly();
  options.keep_texts = message.keep_ir() || message.keep_assembly();
  options.disabled_passes.assign(message.disabled_passes().begin(), message.disabled_passes().end());
  for (const auto& [name, text] : message.other()) set_option(options, name, text);
  return options;
}

/// A compiler for the target it was last asked for.
class CachedCompiler {
 public:
  compile::Compiler& for_target(const std::string& text) {
    if (!compiler_ || text != target_text_) {
      compiler_.emplace(target::parse_target(text));
      target_text_ = text;
    }
    return *compiler_;
  }

 private:
  std::string target_text_;
  std::optional<compile::Compiler> compiler_;
};

void add_step(protocol::BuildReply& reply, const char* name, double seconds) {
  protocol::StepSeconds& step = *reply.add_steps();
  step.set_step(name);
  step.set_seconds(seconds);
}

protocol::BuildReply fail(protocol::Failure failure, const char* reason) {
  protocol::BuildReply reply;
  reply.set_failure(failure);
  reply.set_reason(reason);
  return reply;
}

protocol::BuildReply compile_request(CachedCompiler& cache, const protocol::BuildRequest& request) {
  try {
    const compile::CompileOptions options = options_of(request.options());
    const ir::Compute compute = ir::parse_compute(request.compute());
    const schedule::Trace trace = schedule::parse_trace(request.trace());
    const compile::Compiled compiled = cache.for_target(request.target()).compile(compute, trace, options);
    protocol::BuildReply reply;
    reply.set_artifact(compiled.artifact.bytes.data(), compiled.artifact.bytes.size());
    reply.set_ir(compiled.llvm_ir);
    reply.set_assembly(compiled.assembly);
    add_step(reply, "nest", compiled.nest_seconds);
    add_step(reply, "lower", compiled.lower_seconds);
    add_step(reply, "codegen", compiled.codegen_seconds);
    return reply;
  } catch (const schedule::ScheduleError& error) {
    return fail(protocol::FAILURE_INVALID_SCHEDULE, error.what());
  } catch (const Error& error) {
    const bool limit = error.code() == ErrorCode::Unsupported;
    const bool schedule = error.code() == ErrorCode::InvalidArgument;
    return fail(limit      ? protocol::FAILURE_RESOURCE_LIMIT
                : schedule ? protocol::FAILURE_INVALID_SCHEDULE
                           : protocol::FAILURE_COMPILE_ERROR,
                error.what());
  }
}

}  // namespace

BuildFunction make_compile_function() {
  return [cache = std::make_shared<CachedCompiler>()](const protocol::BuildRequest& request) {
    return compile_request(*cache, request);
  };
}

}  // namespace temper::measure
