// Elementary functions and integer arithmetic written with those that expressions have. Relative accuracy is that of
// f32: a few units in the last place of a float, also near zero.
#pragma once

#include "temper/ir/expr.h"

namespace temper::ops {

ir::Expr tan(const ir::Expr& x);
ir::Expr sinh(const ir::Expr& x);
ir::Expr cosh(const ir::Expr& x);
ir::Expr asin(const ir::Expr& x);
ir::Expr acos(const ir::Expr& x);
ir::Expr atan(const ir::Expr& x);
ir::Expr asinh(const ir::Expr& x);
ir::Expr acosh(const ir::Expr& x);
ir::Expr atanh(const ir::Expr& x);
/// log(1 + x)
ir::Expr log1p(const ir::Expr& x);
/// Towards zero.
ir::Expr truncate(const ir::Expr& x);

/// base^exponent of one integer type, modulo its range; a negative exponent gives 0, unless the base is 1 or -1.
ir::Expr integer_power(const ir::Expr& base, const ir::Expr& exponent);
/// Remainder with the sign of the divisor, of any number that may be zero: a mod 0 is a.
ir::Expr floor_remainder(const ir::Expr& a, const ir::Expr& b);
/// Remainder with the sign of the dividend (C's fmod, and % of integers).
ir::Expr truncated_remainder(const ir::Expr& a, const ir::Expr& b);

}  // namespace temper::ops
