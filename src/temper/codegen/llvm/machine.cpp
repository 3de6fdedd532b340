#include "temper/codegen/llvm/machine.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/CodeGen/MachineFrameInfo.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/MachineMemOperand.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/PseudoSourceValue.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetOptions.h>

#include <mutex>

#include "temper/codegen/llvm/process_state.h"
#include "temper/support/error.h"

namespace temper::codegen {
namespace {

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";

/// Microarchitectures whose LLVM name is not our own.
struct TuneName {
  const char* ours;
  const char* llvm;
};
constexpr TuneName kTuneNames[] = {
    {"zen1", "znver1"}, {"zen2", "znver2"}, {"zen3", "znver3"}, {"zen4", "znver4"}, {"zen5", "znver5"},
};

/// Counts what the search wants to know about the code, after register allocation has settled it.
class StatisticsPass : public llvm::MachineFunctionPass {
 public:
  explicit StatisticsPass(std::vector<PhaseStatistics>& out) : MachineFunctionPass(id()), out_(out) {}

  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    PhaseStatistics s;
    s.name = function.getName().str();
    s.stack_bytes = static_cast<std::int64_t>(function.getFrameInfo().getStackSize());
    for (const llvm::MachineBasicBlock& block : function) {
      for (const llvm::MachineInstr& instr : block) {
        if (instr.isMetaInstruction()) continue;
        ++s.instructions;
        for (const llvm::MachineMemOperand* operand : instr.memoperands()) {
          const auto* slot = llvm::dyn_cast_or_null<llvm::FixedStackPseudoSourceValue>(operand->getPseudoValue());
          if (slot == nullptr || !function.getFrameInfo().isSpillSlotObjectIndex(slot->getFrameIndex())) continue;
          s.spills += operand->isStore() ? 1 : 0;
          s.reloads += operand->isLoad() ? 1 : 0;
        }
      }
    }
    out_.push_back(std::move(s));
    return false;
  }
  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }
  llvm::StringRef getPassName() const override { return "Temper statistics"; }

 private:
  /// A pass is identified by an address.
  static char& id() {
    static char unique = 0;
    return unique;
  }
  std::vector<PhaseStatistics>& out_;
};

struct Switch {
  const char* name;
  bool value;
};
/// What the emitted form does not need. Loop strength reduction is superlinear in the number of carried accumulators;
/// code-gen preparation joins the short blocks that the emitter made on purpose; merging of stores compares each with
/// all others of its block, and kernels store whole vectors where they can. LLVM has only process-wide switches for
/// them, which the linker resets.
constexpr Switch kSwitches[] = {{"disable-lsr", true}, {"disable-cgp", true}, {"combiner-store-merging", false}};

void leave_the_code_alone() {
  auto& options = llvm::cl::getRegisteredOptions();
  for (const auto& [name, value] : kSwitches) {
    const auto found = options.find(name);
    TEMPER_CHECK(found != options.end(), std::string("LLVM has no option ") + name);
    auto* option = static_cast<llvm::cl::opt<bool>*>(found->second);
    if (option->getValue() != value) option->setValue(value);
  }
}

}  // namespace

std::string tune_cpu(const target::Target& t) {
  for (const TuneName& n : kTuneNames) {
    if (t.microarchitecture == n.ours) return n.llvm;
  }
  const std::string generic = t.vector_bytes == 64 ? "x86-64-v4" : "x86-64-v3";
  return t.microarchitecture == "unknown" ? generic : t.microarchitecture;
}

std::string feature_string(const target::Target& t) {
  std::string s;
  for (const std::string& f : t.features) s += (s.empty() ? "+" : ",+") + f;
  return s;
}

std::unique_ptr<llvm::TargetMachine> make_target_machine(const target::Target& t) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  std::string message;
  const llvm::Target* x86 = llvm::TargetRegistry::lookupTarget(kTriple, message);
  if (x86 == nullptr) throw Error(ErrorCode::Unsupported, "LLVM cannot generate code for x86-64: " + message, "LLVM");
  llvm::TargetOptions options;
  options.FloatABIType = llvm::FloatABI::Hard;
  std::unique_ptr<llvm::TargetMachine> machine(x86->createTargetMachine(kTriple, "x86-64", feature_string(t), options,
                                                                        llvm::Reloc::PIC_, llvm::CodeModel::Small,
                                                                        llvm::CodeGenOptLevel::Less));
  TEMPER_CHECK(machine != nullptr, "LLVM has no target machine for x86-64");
  return machine;
}

std::string generate_code(llvm::TargetMachine& machine, llvm::Module& module, llvm::CodeGenFileType type,
                          std::vector<PhaseStatistics>* statistics) {
  module.setTargetTriple(kTriple);
  module.setDataLayout(machine.createDataLayout());
  auto& target = static_cast<llvm::LLVMTargetMachine&>(machine);

  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  auto* information = new llvm::MachineModuleInfoWrapperPass(&target);
  std::unique_lock<std::mutex> lock(process_state_mutex());
  leave_the_code_alone();
  llvm::TargetPassConfig* pipeline = target.createPassConfig(passes);
  pipeline->setDisableVerify(true);
  passes.add(pipeline);
  passes.add(information);
  // The order of the kernel is kept: moving loads up costs spills in tiles that fill the register file, and the
  // processor reorders by itself.
  pipeline->disablePass(&llvm::MachineSchedulerID);
  bool failed = pipeline->addISelPasses();
  if (!failed) pipeline->addMachinePasses();
  pipeline->setInitialized();
  lock.unlock();
  if (statistics != nullptr) passes.add(new StatisticsPass(*statistics));
  failed = failed || target.addAsmPrinter(passes, out, nullptr, type, information->getMMI().getContext());
  TEMPER_CHECK(!failed, "LLVM cannot set up code generation");
  passes.add(llvm::createFreeMachineFunctionPass());
  passes.run(module);
  return std::string(bytes);
}

}  // namespace temper::codegen
