// The spelling of operators in the text form: one table each, shared by the printer and the parser.
#pragma once

#include <array>
#include <string_view>

#include "temper/ir/expr.h"

namespace temper::ir {

struct UnarySpelling {
  UnaryOp op;
  std::string_view name;  ///< written as a call: `exp(x)`
};
inline constexpr std::array<UnarySpelling, 16> kUnarySpellings{{{UnaryOp::Neg, "neg"},
                                                                {UnaryOp::Abs, "abs"},
                                                                {UnaryOp::Not, "not"},
                                                                {UnaryOp::Exp, "exp"},
                                                                {UnaryOp::Log, "log"},
                                                                {UnaryOp::Sqrt, "sqrt"},
                                                                {UnaryOp::Rsqrt, "rsqrt"},
                                                                {UnaryOp::Tanh, "tanh"},
                                                                {UnaryOp::Erf, "erf"},
                                                                {UnaryOp::Sigmoid, "sigmoid"},
                                                                {UnaryOp::Sin, "sin"},
                                                                {UnaryOp::Cos, "cos"},
                                                                {UnaryOp::Floor, "floor"},
                                                                {UnaryOp::Ceil, "ceil"},
                                                                {UnaryOp::Round, "round"},
                                                                {UnaryOp::Sign, "sign"}}};

struct BinarySpelling {
  BinaryOp op;
  std::string_view name;
  int precedence;  ///< 0: written as a call `min(a, b)`; else infix, larger binds tighter, all left-associative
};
inline constexpr std::array<BinarySpelling, 17> kBinarySpellings{{{BinaryOp::Add, "+", 4},
                                                                  {BinaryOp::Sub, "-", 4},
                                                                  {BinaryOp::Mul, "*", 5},
                                                                  {BinaryOp::Div, "/", 5},
                                                                  {BinaryOp::FloorDiv, "//", 5},
                                                                  {BinaryOp::Mod, "%", 5},
                                                                  {BinaryOp::Min, "min", 0},
                                                                  {BinaryOp::Max, "max", 0},
                                                                  {BinaryOp::Pow, "pow", 0},
                                                                  {BinaryOp::Lt, "<", 3},
                                                                  {BinaryOp::Le, "<=", 3},
                                                                  {BinaryOp::Gt, ">", 3},
                                                                  {BinaryOp::Ge, ">=", 3},
                                                                  {BinaryOp::Eq, "==", 3},
                                                                  {BinaryOp::Ne, "!=", 3},
                                                                  {BinaryOp::And, "&&", 2},
                                                                  {BinaryOp::Or, "||", 1}}};

inline std::string_view spelling(UnaryOp op) { return kUnarySpellings[static_cast<std::size_t>(op)].name; }
inline const BinarySpelling& spelling(BinaryOp op) { return kBinarySpellings[static_cast<std::size_t>(op)]; }

}  // namespace temper::ir
