// Code generation: a kernel becomes an artifact, a position-independent shared object in memory that describes itself
// (temper/target/artifact_abi.h) and needs nothing else to run: no library, no undefined symbol.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "temper/lower/kernel.h"
#include "temper/target/cpu.h"

namespace temper::codegen {

/// The bytes of a shared object. Equal kernels, targets and options give equal bytes.
struct Artifact {
  std::vector<std::byte> bytes;
};

struct CodegenOptions {
  bool keep_llvm_ir = false;   ///< fill `Generated::llvm_ir`
  bool keep_assembly = false;  ///< fill `Generated::assembly`; generates the code a second time
  bool contract = true;        ///< let `a*b + c` round once; everything else is never reassociated
};

/// What the machine code of one phase is made of.
struct PhaseStatistics {
  std::string name;             ///< "prepare.0.pack", "run.1.main"
  int instructions = 0;         ///< machine instructions
  int spills = 0, reloads = 0;  ///< stores to and loads from spill slots: above 0 in a hot loop is a bad tile
  std::int64_t stack_bytes = 0;
};

struct Generated {
  Artifact artifact;
  std::string llvm_ir, assembly;
  std::vector<PhaseStatistics> phases;  ///< prepare's, then run's
  double emit_seconds = 0, machine_seconds = 0, link_seconds = 0;
};

/// Generates code for one target. Construction costs milliseconds, so keep one. Not for use from two threads at once;
/// use one per thread: linking and the set-up of LLVM's passes take turns, the rest runs side by side. Each kernel
/// leaves about 1 KB behind in LLVM, so a process that generates millions should be renewed now and then.
class Generator {
 public:
  /// Throws Error{Unsupported} when the target lacks AVX2 and FMA, or when this build of LLVM does not know it.
  explicit Generator(const target::Target& target);
  ~Generator();
  Generator(Generator&&) noexcept;
  Generator& operator=(Generator&&) noexcept;

  /// `kernel` must be verified, and `lower::expand_math` must have run on it. Throws Error{Unsupported} when it holds
  /// an elementary function that was not expanded, Error{Internal} when LLVM or the linker refuse.
  Generated generate(const lower::Kernel& kernel, const CodegenOptions& options = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// One kernel for one target, with a generator of its own.
Generated generate(const lower::Kernel& kernel, const target::Target& target, const CodegenOptions& options = {});

}  // namespace temper::codegen
