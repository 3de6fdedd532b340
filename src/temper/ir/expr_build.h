// Node construction that checks dtypes but never simplifies: what the parser and rewriters use, so that a tree keeps
// the exact shape it was written in. The operators of expr.h adapt literals and fold integer arithmetic on top of
// these.
#pragma once

#include "temper/ir/expr.h"

namespace temper::ir {

/// Integer literal of an integer or Bool dtype. Throws Error{InvalidArgument} for a floating dtype.
Expr int_literal(std::int64_t value, DType dtype);
/// Throws Error{InvalidArgument} when the operand has no such operation.
Expr exact_unary(UnaryOp op, Expr a);
/// Throws Error{InvalidArgument} when the dtypes differ or have no such operation.
Expr exact_binary(BinaryOp op, Expr a, Expr b);
/// Throws Error{InvalidArgument} when `condition` is not Bool or the branches differ in dtype.
Expr exact_select(Expr condition, Expr then_value, Expr else_value);
/// A cast node, also when the dtype does not change.
Expr exact_cast(Expr a, DType dtype);
/// A read; indices must be i64. Throws Error{InvalidArgument} on rank, dtype or component mismatch.
Expr exact_load(std::shared_ptr<const Stage> stage, int component, std::vector<Expr> index);

}  // namespace temper::ir
