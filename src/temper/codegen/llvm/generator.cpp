#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Support/raw_ostream.h>

#include <chrono>

#include "temper/codegen/codegen.h"
#include "temper/codegen/llvm/link.h"
#include "temper/codegen/llvm/machine.h"
#include "temper/codegen/llvm/module_emitter.h"
#include "temper/support/error.h"

namespace temper::codegen {

struct Generator::State {
  target::Target target;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::string tune, features;
};

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

void require(const target::Target& target, const char* feature) {
  if (target.has(feature)) return;
  throw Error(ErrorCode::Unsupported, std::string("the target lacks ") + feature, target.model_name,
              "Temper needs a processor with AVX2 and FMA");
}

std::string text(const llvm::Module& module) {
  std::string s;
  llvm::raw_string_ostream out(s);
  module.print(out, nullptr);
  return out.str();
}

#ifndef NDEBUG
void check(const llvm::Module& module) {
  std::string s;
  llvm::raw_string_ostream out(s);
  TEMPER_CHECK(!llvm::verifyModule(module, &out), "emitted LLVM IR is malformed: " + out.str() + text(module));
}
#else
void check(const llvm::Module&) {}
#endif

}  // namespace

Generator::Generator(const target::Target& target) : state_(std::make_unique<State>()) {
  for (const char* feature : {"avx2", "fma", "bmi", "bmi2"}) require(target, feature);
  state_->target = target;
  state_->machine = make_target_machine(target);
  state_->tune = tune_cpu(target);
  if (!state_->machine->getMCSubtargetInfo()->isCPUStringValid(state_->tune)) {
    throw Error(ErrorCode::Unsupported, "LLVM does not know the processor '" + state_->tune + "'", target.model_name);
  }
  state_->features = feature_string(target);
}
Generator::~Generator() = default;
Generator::Generator(Generator&&) noexcept = default;
Generator& Generator::operator=(Generator&&) noexcept = default;

Generated Generator::generate(const lower::Kernel& kernel, const CodegenOptions& options) {
  Generated result;
  Stopwatch watch;
  // A context of its own for each kernel: types and constants of a shared one would pile up.
  {
    llvm::LLVMContext context;
    const EmitterContext emitter{context, state_->target, options.contract, state_->tune, state_->features};
    const std::unique_ptr<llvm::Module> module = emit_module(kernel, emitter);
    check(*module);
    result.emit_seconds = watch.lap();
    if (options.keep_llvm_ir) result.llvm_ir = text(*module);
    if (options.keep_assembly) {
      const std::unique_ptr<llvm::Module> copy = emit_module(kernel, emitter);
      result.assembly = generate_code(*state_->machine, *copy, llvm::CodeGenFileType::AssemblyFile, nullptr);
    }
    watch.lap();
    const std::string object =
        generate_code(*state_->machine, *module, llvm::CodeGenFileType::ObjectFile, &result.phases);
    result.machine_seconds = watch.lap();
    result.artifact = link_shared_object(object);
    result.link_seconds = watch.lap();
  }
  return result;
}

Generated generate(const lower::Kernel& kernel, const target::Target& target, const CodegenOptions& options) {
  return Generator(target).generate(kernel, options);
}

}  // namespace temper::codegen
