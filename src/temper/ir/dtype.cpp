#include "temper/ir/dtype.h"

#include <array>
#include <string>

#include "temper/support/error.h"

namespace temper::ir {
namespace {

struct DTypeFacts {
  DType dtype;
  std::string_view name;
  int bytes;
  bool is_float;
};
constexpr std::array<DTypeFacts, 7> kFacts{{{DType::F32, "f32", 4, true},
                                            {DType::F64, "f64", 8, true},
                                            {DType::I8, "i8", 1, false},
                                            {DType::U8, "u8", 1, false},
                                            {DType::I32, "i32", 4, false},
                                            {DType::I64, "i64", 8, false},
                                            {DType::Bool, "bool", 1, false}}};

const DTypeFacts& facts(DType dtype) { return kFacts[static_cast<std::size_t>(dtype)]; }

}  // namespace

int bytes(DType dtype) { return facts(dtype).bytes; }
bool is_float(DType dtype) { return facts(dtype).is_float; }
std::string_view to_string(DType dtype) { return facts(dtype).name; }

DType parse_dtype(std::string_view name) {
  for (const DTypeFacts& entry : kFacts) {
    if (entry.name == name) return entry.dtype;
  }
  throw Error(ErrorCode::InvalidArgument, "unknown element type '" + std::string(name) + "'", {},
              "expected one of f32, f64, i8, u8, i32, i64, bool");
}

}  // namespace temper::ir
