// Text of single instructions, for messages that point at one.
#pragma once

#include <string>

#include "temper/lower/kernel.h"

namespace temper::lower {

/// "f32", "i64", "i1", ...
std::string_view to_string(Scalar scalar);
/// "f32", "f32x16".
std::string to_string(const Type& type);
/// One instruction without the blocks it may hold: "%7:f32x16 = fma %1, %2, %3".
std::string print(const Kernel& kernel, const Instr& instr);

}  // namespace temper::lower
