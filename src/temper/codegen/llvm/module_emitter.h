// A kernel as an LLVM module: one internal function for each phase and the constant `temper_artifact` that describes
// them.
#pragma once

#include <llvm/IR/Module.h>

#include <memory>

#include "temper/codegen/codegen.h"

namespace temper::codegen {

/// What an emitter must know of the machine and the caller's wishes.
struct EmitterContext {
  llvm::LLVMContext& llvm;
  const target::Target& target;
  bool contract = true;
  std::string tune_cpu;  ///< LLVM's name of the processor to schedule for
  std::string features;  ///< LLVM's feature string
};

/// Name of a phase's function: "run.0.name".
std::string phase_name(bool prepare, std::size_t index, const lower::Phase& phase);

std::unique_ptr<llvm::Module> emit_module(const lower::Kernel& kernel, const EmitterContext& context);

}  // namespace temper::codegen
