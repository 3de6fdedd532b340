// The reducers that ship: identity and combine function of each, as expressions like any user-defined one.
#include <cstdint>
#include <limits>

#include "temper/ir/compute.h"
#include "temper/ir/expr_build.h"
#include "temper/support/error.h"

namespace temper::ir {
namespace {

/// The largest (sign > 0) or smallest value of a dtype.
Expr extreme(DType dtype, int sign) {
  const bool high = sign > 0;
  switch (dtype) {
    case DType::F32:
    case DType::F64: {
      const double infinity = std::numeric_limits<double>::infinity();
      return literal(high ? infinity : -infinity, dtype);
    }
    case DType::I8: return int_literal(high ? 127 : -128, dtype);
    case DType::U8: return int_literal(high ? 255 : 0, dtype);
    case DType::I32:
      return int_literal(high ? std::numeric_limits<std::int32_t>::max() : std::numeric_limits<std::int32_t>::min(),
                         dtype);
    case DType::I64:
      return int_literal(high ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min(),
                         dtype);
    case DType::Bool: break;
  }
  throw Error(ErrorCode::InvalidArgument, "bool has no largest or smallest value", {}, "reduce conditions as i32");
}

Reducer simple(std::string name, Expr identity, BinaryOp op, DType dtype, bool idempotent) {
  Reducer reducer;
  reducer.name = std::move(name);
  reducer.identity = {std::move(identity)};
  reducer.combine = {exact_binary(op, param(0, dtype), param(1, dtype))};
  reducer.idempotent = idempotent;
  return reducer;
}

/// (value, index): the candidate wins when its value is better, or equal with a smaller index.
Reducer arg_reducer(std::string name, DType value, DType index, BinaryOp better, int identity_sign) {
  if (is_float(index) || index == DType::Bool) {
    throw Error(ErrorCode::InvalidArgument, "the index of '" + name + "' must be an integer type");
  }
  const Expr old_value = param(0, value), old_index = param(1, index);
  const Expr new_value = param(2, value), new_index = param(3, index);
  const Expr take = binary(better, new_value, old_value) || (new_value == old_value && new_index < old_index);
  Reducer reducer;
  reducer.name = std::move(name);
  reducer.identity = {extreme(value, identity_sign), extreme(index, +1)};
  reducer.combine = {select(take, new_value, old_value), select(take, new_index, old_index)};
  reducer.idempotent = true;
  return reducer;
}

}  // namespace

Reducer sum_reducer(DType dtype) { return simple("sum", literal(0, dtype), BinaryOp::Add, dtype, false); }
Reducer product_reducer(DType dtype) { return simple("product", literal(1, dtype), BinaryOp::Mul, dtype, false); }
Reducer max_reducer(DType dtype) { return simple("max", extreme(dtype, -1), BinaryOp::Max, dtype, true); }
Reducer min_reducer(DType dtype) { return simple("min", extreme(dtype, +1), BinaryOp::Min, dtype, true); }

Reducer tuple_sum_reducer(DType dtype, int arity) {
  if (arity < 1) throw Error(ErrorCode::InvalidArgument, "a tuple reducer needs at least one component");
  Reducer reducer;
  reducer.name = "tuple_sum";
  for (int i = 0; i < arity; ++i) {
    reducer.identity.push_back(literal(0, dtype));
    reducer.combine.push_back(exact_binary(BinaryOp::Add, param(i, dtype), param(arity + i, dtype)));
  }
  return reducer;
}

Reducer argmax_reducer(DType value, DType index) { return arg_reducer("argmax", value, index, BinaryOp::Gt, -1); }
Reducer argmin_reducer(DType value, DType index) { return arg_reducer("argmin", value, index, BinaryOp::Lt, +1); }

}  // namespace temper::ir
