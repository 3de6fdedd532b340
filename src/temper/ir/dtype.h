// Element types.
#pragma once

#include <cstdint>
#include <string_view>

namespace temper::ir {

/// Values equal `enum temper_dtype` of the artifact interface.
enum class DType : std::uint8_t { F32 = 0, F64 = 1, I8 = 2, U8 = 3, I32 = 4, I64 = 5, Bool = 6 };

/// Bytes of one element in memory.
int bytes(DType dtype);
bool is_float(DType dtype);
/// "f32", "i64", "bool", ...
std::string_view to_string(DType dtype);
/// Inverse of `to_string`. Throws Error{InvalidArgument} for an unknown name.
DType parse_dtype(std::string_view name);

}  // namespace temper::ir
