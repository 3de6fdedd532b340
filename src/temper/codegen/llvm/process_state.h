// What LLVM and lld keep once per process.
#pragma once

#include <mutex>

namespace temper::codegen {

/// Held while a code generation pipeline is set up (it reads LLVM's command-line options) and while the linker runs (it
/// resets them, and keeps its own state in globals).
std::mutex& process_state_mutex();

}  // namespace temper::codegen
