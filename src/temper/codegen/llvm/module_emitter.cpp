#include "temper/codegen/llvm/module_emitter.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>

#include "temper/codegen/llvm/function_emitter.h"
#include "temper/support/error.h"
#include "temper/target/artifact_abi.h"

namespace temper::codegen {
namespace {

int role_number(lower::BufferRole role) {
  switch (role) {
    case lower::BufferRole::Input: return TEMPER_INPUT;
    case lower::BufferRole::Constant: return TEMPER_CONSTANT;
    case lower::BufferRole::Output: return TEMPER_OUTPUT;
    case lower::BufferRole::Blob: return TEMPER_BLOB;
    case lower::BufferRole::Workspace: return TEMPER_WORKSPACE;
    case lower::BufferRole::Scratch:
    case lower::BufferRole::Stack: break;
  }
  TEMPER_CHECK(false, "scratch and stack are not arguments");
}

/// Builds the constant globals of artifact_abi.h. Field order and padding follow the C structs there.
class Description {
 public:
  explicit Description(llvm::Module& module)
      : module_(module),
        llvm_(module.getContext()),
        pointer_(llvm::PointerType::get(llvm_, 0)),
        i32_(llvm::Type::getInt32Ty(llvm_)),
        i64_(llvm::Type::getInt64Ty(llvm_)) {}

  void emit(const lower::Kernel& kernel, const std::vector<llvm::Function*>& functions) {
    std::vector<llvm::Constant*> buffers, phases;
    for (const lower::Argument& a : kernel.arguments) {
      buffers.push_back(record({string(a.name), i32(role_number(a.role)), i32(static_cast<int>(a.dtype)), i64(a.bytes),
                                i32(a.used_by_run ? 1 : 0), i32(0)}));
    }
    const auto phase = [&](const lower::Phase& p) {
      phases.push_back(record({functions[phases.size()], i64(p.extent), i64(p.scratch_bytes)}));
    };
    for (const lower::Phase& p : kernel.prepare) phase(p);
    const auto split = static_cast<std::ptrdiff_t>(phases.size());
    for (const lower::Phase& p : kernel.run) phase(p);

    llvm::Constant* artifact = record({i32(static_cast<int>(TEMPER_ARTIFACT_MAGIC)), i32(TEMPER_ARTIFACT_ABI_VERSION),
                                       i32(static_cast<int>(buffers.size())), i32(static_cast<int>(split)),
                                       i32(static_cast<int>(kernel.run.size())), i32(0), array("buffers", buffers),
                                       array("prepare", {phases.begin(), phases.begin() + split}),
                                       array("run", {phases.begin() + split, phases.end()})});
    auto* global = new llvm::GlobalVariable(module_, artifact->getType(), true, llvm::GlobalValue::ExternalLinkage,
                                            artifact, TEMPER_ARTIFACT_SYMBOL);
    global->setAlignment(llvm::Align(8));
  }

 private:
  llvm::Constant* i32(int value) { return llvm::ConstantInt::get(i32_, static_cast<std::uint64_t>(value), true); }
  llvm::Constant* i64(std::int64_t value) {
    return llvm::ConstantInt::get(i64_, static_cast<std::uint64_t>(value), true);
  }
  llvm::Constant* record(const std::vector<llvm::Constant*>& fields) {
    return llvm::ConstantStruct::getAnon(llvm_, fields);
  }
  llvm::Constant* global(const llvm::Twine& name, llvm::Constant* value) {
    return new llvm::GlobalVariable(module_, value->getType(), true, llvm::GlobalValue::PrivateLinkage, value, name);
  }
  llvm::Constant* string(const std::string& text) {
    return global("name", llvm::ConstantDataArray::getString(llvm_, text));
  }
  llvm::Constant* array(const char* name, const std::vector<llvm::Constant*>& items) {
    if (items.empty()) return llvm::ConstantPointerNull::get(pointer_);
    return global(name, llvm::ConstantArray::get(llvm::ArrayType::get(items[0]->getType(), items.size()), items));
  }

  llvm::Module& module_;
  llvm::LLVMContext& llvm_;
  llvm::PointerType* pointer_;
  llvm::Type *i32_, *i64_;
};

llvm::Function* declare_phase(llvm::Module& module, const EmitterContext& context, const std::string& name) {
  llvm::LLVMContext& llvm = context.llvm;
  auto* pointer = llvm::PointerType::get(llvm, 0);
  auto* i64 = llvm::Type::getInt64Ty(llvm);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(llvm), {pointer, pointer, i64, i64}, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  const std::string width = std::to_string(context.target.vector_bytes * 8);
  function->addFnAttr("target-cpu", "x86-64");
  function->addFnAttr("tune-cpu", context.tune_cpu);
  function->addFnAttr("target-features", context.features);
  function->addFnAttr("prefer-vector-width", width);  // also where the processor's tuning prefers narrower vectors
  function->addFnAttr("min-legal-vector-width", width);
  function->addFnAttr("no-trapping-math", "true");
  static constexpr const char* kNames[] = {"buffers", "scratch", "begin", "end"};
  for (unsigned i = 0; i < 4; ++i) function->getArg(i)->setName(kNames[i]);
  function->addParamAttr(0, llvm::Attribute::NoAlias);
  function->addParamAttr(1, llvm::Attribute::getWithAlignment(llvm, llvm::Align(64)));
  return function;
}

}  // namespace

std::string phase_name(bool prepare, std::size_t index, const lower::Phase& phase) {
  return (prepare ? "prepare." : "run.") + std::to_string(index) + (phase.name.empty() ? "" : '.' + phase.name);
}

std::unique_ptr<llvm::Module> emit_module(const lower::Kernel& kernel, const EmitterContext& context) {
  auto module = std::make_unique<llvm::Module>("temper", context.llvm);
  std::vector<llvm::Function*> functions;
  for (const bool prepare : {true, false}) {
    const std::vector<lower::Phase>& phases = prepare ? kernel.prepare : kernel.run;
    for (std::size_t i = 0; i < phases.size(); ++i) {
      functions.push_back(declare_phase(*module, context, phase_name(prepare, i, phases[i])));
      FunctionEmitter(kernel, context, *functions.back()).emit(phases[i]);
    }
  }
  Description(*module).emit(kernel, functions);
  return module;
}

}  // namespace temper::codegen
