#include "temper/ops/elementary.h"

#include <array>
#include <numbers>

namespace temper::ops {

using ir::Expr;
using ir::UnaryOp;

namespace {

Expr like(const Expr& x, double value) { return ir::literal(value, x.dtype()); }
Expr integer(const Expr& x, std::int64_t value) { return ir::cast(Expr(value), x.dtype()); }

/// coefficients[0] + coefficients[1]·x + …
template <std::size_t N>
Expr polynomial(const Expr& x, const std::array<double, N>& coefficients) {
  Expr sum = like(x, coefficients[N - 1]);
  for (std::size_t i = N - 1; i-- > 0;) sum = sum * x + like(x, coefficients[i]);
  return sum;
}

Expr with_sign_of(const Expr& magnitude, const Expr& x) { return ir::select(x < like(x, 0), -magnitude, magnitude); }

}  // namespace

Expr tan(const Expr& x) { return ir::unary(UnaryOp::Sin, x) / ir::unary(UnaryOp::Cos, x); }

Expr sinh(const Expr& x) {
  // Near zero the exponentials cancel; there the Taylor series has five terms' accuracy.
  const Expr square = x * x;
  const Expr series = x * polynomial(square, std::array{1.0, 1.0 / 6, 1.0 / 120, 1.0 / 5040, 1.0 / 362880});
  return ir::select(ir::abs(x) < like(x, 0.5), series, like(x, 0.5) * (ir::exp(x) - ir::exp(-x)));
}
Expr cosh(const Expr& x) { return like(x, 0.5) * (ir::exp(x) + ir::exp(-x)); }

Expr atan(const Expr& x) {
  // Reduced to |z| <= tan(pi/8), where an odd polynomial is exact to 2e-8 (Moshier, Cephes, atanf).
  constexpr double kTanEighth = 0.41421356237309503, kTan3Eighths = 2.414213562373095;
  const Expr magnitude = ir::abs(x), one = like(x, 1);
  const Expr large = magnitude > like(x, kTan3Eighths), middle = magnitude > like(x, kTanEighth);
  const Expr z =
      ir::select(large, -(one / magnitude), ir::select(middle, (magnitude - one) / (magnitude + one), magnitude));
  const Expr offset =
      ir::select(large, like(x, std::numbers::pi / 2), ir::select(middle, like(x, std::numbers::pi / 4), like(x, 0)));
  const Expr square = z * z;
  const Expr odd =
      polynomial(square, std::array{-3.33329491539e-1, 1.99777106478e-1, -1.38776856032e-1, 8.05374449538e-2});
  return with_sign_of(offset + (z + z * square * odd), x);
}
Expr asin(const Expr& x) { return atan(x / ir::sqrt((like(x, 1) - x) * (like(x, 1) + x))); }
Expr acos(const Expr& x) { return like(x, 2) * atan(ir::sqrt((like(x, 1) - x) / (like(x, 1) + x))); }

Expr log1p(const Expr& x) {
  // The rounding of 1 + x is taken back (Kahan; Higham, Accuracy and Stability of Numerical Algorithms, 1.14.1).
  const Expr one = like(x, 1), sum = one + x;
  return ir::select(sum == one, x, ir::log(sum) * (x / (sum - one)));
}
Expr asinh(const Expr& x) {
  const Expr magnitude = ir::abs(x), square = x * x;
  return with_sign_of(log1p(magnitude + square / (like(x, 1) + ir::sqrt(like(x, 1) + square))), x);
}
Expr acosh(const Expr& x) {
  const Expr above = x - like(x, 1);
  return log1p(above + ir::sqrt(like(x, 2) * above + above * above));
}
Expr atanh(const Expr& x) { return like(x, 0.5) * log1p(like(x, 2) * x / (like(x, 1) - x)); }

Expr truncate(const Expr& x) { return ir::select(x < like(x, 0), ir::unary(UnaryOp::Ceil, x), ir::floor(x)); }

Expr integer_power(const Expr& base, const Expr& exponent) {
  const Expr zero = integer(base, 0), one = integer(base, 1), two = integer(base, 2);
  // By squaring; from 2^6 on only 0, 1 and -1 have powers that are not 0 modulo 2^64.
  Expr result = one, factor = base, rest = exponent;
  const auto is_odd = [&](const Expr& e) { return e - (e / two) * two != zero; };
  for (int bit = 0; bit < 6; ++bit) {
    result = result * ir::select(is_odd(rest), factor, one);
    factor = factor * factor;
    rest = rest / two;
  }
  const Expr sign = ir::select(is_odd(exponent), base, one);  // of the base -1
  const Expr unit = base * base == one;
  const Expr beyond = ir::select(unit, sign, zero);
  return ir::select(exponent < zero || exponent >= integer(base, 64), beyond, result);
}

Expr truncated_remainder(const Expr& a, const Expr& b) {
  if (ir::is_float(a.dtype())) return a - truncate(a / b) * b;
  return a - (a / b) * b;
}

Expr floor_remainder(const Expr& a, const Expr& b) {
  if (ir::is_float(a.dtype())) return a - ir::floor(a / b) * b;
  const Expr zero = integer(a, 0), rest = truncated_remainder(a, b);
  const Expr other_sign = (rest < zero && b > zero) || (rest > zero && b < zero);
  return ir::select(other_sign, rest + b, rest);
}

}  // namespace temper::ops
