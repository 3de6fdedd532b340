// From LLVM module to machine code: LLVM's target machine without any optimisation of the IR.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>
#include <vector>

#include "temper/codegen/codegen.h"

namespace temper::codegen {

/// LLVM's name of the processor to schedule for: the target's own when LLVM knows it, else a generic one of its vector
/// width.
std::string tune_cpu(const target::Target& target);
/// "+avx2,+fma,...".
std::string feature_string(const target::Target& target);

/// Throws Error{Unsupported} when LLVM was built without x86.
std::unique_ptr<llvm::TargetMachine> make_target_machine(const target::Target& target);

/// Consumes `module` (its IR is changed). Bytes of an ELF object, or assembly text. `statistics`, if not null, gets one
/// entry for each function.
std::string generate_code(llvm::TargetMachine& machine, llvm::Module& module, llvm::CodeGenFileType type,
                          std::vector<PhaseStatistics>* statistics);

}  // namespace temper::codegen
