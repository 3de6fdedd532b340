// Runs a kernel one lane at a time, exactly as kernel.h defines it: the reference that code generators are checked
// against.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "temper/lower/kernel.h"

namespace temper::lower {

/// Memory of each argument, in the order of `Kernel::arguments`; at least `Argument::bytes` each.
using ArgumentMemory = std::vector<std::span<std::byte>>;

/// Runs all phases of the entry, iterations in order. Scratch, stack and undefined lanes hold a pattern that spoils
/// what depends on them. The kernel must be verified. Throws Error{Internal} that names the instruction when an access
/// leaves its buffer.
void interpret_prepare(const Kernel& kernel, const ArgumentMemory& arguments);
void interpret_run(const Kernel& kernel, const ArgumentMemory& arguments);

}  // namespace temper::lower
