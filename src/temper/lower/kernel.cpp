#include "temper/lower/kernel.h"

#include <array>

#include "temper/support/error.h"

namespace temper::lower {
namespace {

struct ScalarFacts {
  int bytes;
  bool is_float;
};
constexpr std::array<ScalarFacts, 7> kScalars{{
    {1, false},  // I1: one byte where it lives in memory
    {1, false},  // I8
    {1, false},  // U8
    {4, false},  // I32
    {8, false},  // I64
    {4, true},   // F32
    {8, true},   // F64
}};
const ScalarFacts& facts(Scalar scalar) { return kScalars.at(static_cast<std::size_t>(scalar)); }

constexpr std::array kOpNames{
    "const_int", "const_float", "const_mask",
    "iota",      "undef",       "add",
    "sub",       "mul",         "div",
    "floor_div", "mod",         "min",
    "max",       "fma",         "neg",
    "abs",       "not",         "and",
    "or",        "xor",         "lt",
    "le",        "gt",          "ge",
    "eq",        "ne",          "select",
    "sqrt",      "floor",       "ceil",
    "round",     "exp",         "exp_non_positive",
    "log",       "tanh",        "erf",
    "sigmoid",   "sin",         "cos",
    "pow",       "rsqrt",       "sign",
    "cast",      "bitcast",     "shl",
    "lshr",      "ldexp",       "broadcast",
    "extract",   "insert",      "shuffle",
    "load",      "store",       "gather",
    "scatter",   "prefetch",    "for",
    "if",
};
static_assert(kOpNames.size() == static_cast<std::size_t>(Op::If) + 1);

}  // namespace

bool is_float(Scalar scalar) { return facts(scalar).is_float; }
int bytes(Scalar scalar) { return facts(scalar).bytes; }

Scalar scalar_of(ir::DType dtype) {
  switch (dtype) {
    case ir::DType::F32: return Scalar::F32;
    case ir::DType::F64: return Scalar::F64;
    case ir::DType::I8: return Scalar::I8;
    case ir::DType::U8: return Scalar::U8;
    case ir::DType::I32: return Scalar::I32;
    case ir::DType::I64: return Scalar::I64;
    case ir::DType::Bool: return Scalar::I8;
  }
  TEMPER_CHECK(false, "an element type that does not exist");
}

std::string_view to_string(Op op) { return kOpNames.at(static_cast<std::size_t>(op)); }

}  // namespace temper::lower
