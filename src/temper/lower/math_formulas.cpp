#include "temper/lower/math_formulas.h"

#include <cmath>
#include <initializer_list>
#include <limits>
#include <numbers>
#include <span>

namespace temper::lower {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Arithmetic on one type, with constants made where they are needed.
class Calculator {
 public:
  Calculator(KernelBuilder& b, Value like) : b_(b), type_(b.type(like)) {}

  bool single() const { return type_.scalar == Scalar::F32; }
  Value number(double value) { return b_.const_float(value, type_); }
  Value integer(std::int64_t value) { return b_.const_int(value, {single() ? Scalar::I32 : Scalar::I64, type_.lanes}); }
  Value bits(Value x) { return b_.bitcast(x, single() ? Scalar::I32 : Scalar::I64); }
  Value from_bits(Value x) { return b_.bitcast(x, type_.scalar); }
  Value is(Op comparison, Value x, double limit) { return b_.binary(comparison, x, number(limit)); }
  /// NaN stays NaN in both: the constant is the first operand (see the code generator).
  Value at_least(Value x, double limit) { return b_.binary(Op::Max, number(limit), x); }
  Value at_most(Value x, double limit) { return b_.binary(Op::Min, number(limit), x); }

  /// Horner, coefficients from the lowest power.
  Value polynomial(Value x, std::span<const double> coefficients) {
    Value sum = number(coefficients.back());
    for (std::size_t i = coefficients.size() - 1; i-- > 0;) sum = b_.fma(sum, x, number(coefficients[i]));
    return sum;
  }
  /// The integer nearest to a * b, where that is less than 2^21 (2^50) in size, or NaN: what is added leaves no bits
  /// for fractions. An addition less than rounding the product, and rounding takes two on many processors.
  Value nearest_to_product(Value a, Value b) {
    const Value shift = number(single() ? 0x1.8p23 : 0x1.8p52);
    return b_.sub(b_.fma(a, b, shift), shift);
  }
  Value copy_sign(Value magnitude, Value sign) {
    const Value mask = integer(single() ? std::int64_t{std::numeric_limits<std::int32_t>::min()}
                                        : std::numeric_limits<std::int64_t>::min());
    return from_bits(b_.binary(Op::Or, bits(magnitude), b_.binary(Op::And, bits(sign), mask)));
  }

 private:
  KernelBuilder& b_;
  Type type_;
};

// (e^r - 1 - r) / r^2 on |r| <= ln(2)/2.
constexpr double kExpF32[] = {0x1.fffffcp-2, 0x1.55548ap-3, 0x1.55584ep-5, 0x1.123f30p-7, 0x1.6ad14ap-10};
constexpr double kExpF64[] = {
    0.5000000000000013,    0.166666666666667,     0.04166666666651435,   0.008333333333306903,  0.001388888894732487,
    0.0001984126991801922, 2.480148959636708e-05, 2.755721575107665e-06, 2.763141195874116e-07, 2.5118029669968548e-08};
// (log(1+f) - f + f^2/2) / f^3 on 1+f in [sqrt 1/2, sqrt 2].
constexpr double kLogF32[] = {0x1.555554p-2, -0x1.00022ap-2, 0x1.99a03cp-3, -0x1.54718cp-3,
                              0x1.22d4a4p-3, -0x1.0d86b2p-3, 0x1.058556p-3, -0x1.391e50p-4};
// (log((1+t)/(1-t)) - 2t) / t^3, in t^2, on t up to (sqrt 2 - 1)/(sqrt 2 + 1).
constexpr double kLogF64[] = {0.6666666666666666,  0.4000000000000633,  0.28571428569058477, 0.2222222265094095,
                              0.18181775332556385, 0.15387105375743373, 0.13249787147575917, 0.13254351322519894};
// (tanh(x)/x - 1) / x^2, in x^2, on x up to 0.625.
constexpr double kTanhF32[] = {-0x1.555532p-2, 0x1.1106f6p-3, -0x1.b835a4p-5, 0x1.51f8cep-6, -0x1.750ce4p-8};
constexpr double kTanhF64[] = {-0.33333333333332876,   0.13333333333264918,   -0.05396825393248354,
                               0.021869487601993937,   -0.008863221319634731, 0.003591991573604462,
                               -0.0014549704905236892, 0.0005863525303349405, -0.00022863333239325263,
                               7.7219280365937e-05,    -1.610759417838198e-05};
// erf(x)/x - 1, in x^2, on x up to 0.9; and log(erfc(x)) on 0.9 to 3.93.
constexpr double kErfSmall[] = {0x1.06eba6p-3,  -0x1.8126ecp-2, 0x1.ce1b86p-4,
                                -0x1.b69b96p-6, 0x1.479c9ep-8,  -0x1.3ba9cep-11};
constexpr double kErfLarge[] = {-0x1.5d1706p-13, -0x1.20b752p+0, -0x1.4621b8p-1, -0x1.aa733cp-4,
                                0x1.6d9d20p-6,   -0x1.91cd84p-9, 0x1.9fb276p-13};
// (sin(x)/x - 1)/x^2 and (cos(x) - 1 + x^2/2)/x^4, in x^2, on |x| <= pi/4.
constexpr double kSin[] = {-0.166666666414258, 0.0083333293621879, -0.0001983932710719849, 2.718237010425171e-06};
constexpr double kCos[] = {0.04166666662247728, -0.0013888883722629113, 2.4799511763472563e-05, -2.720954764563028e-07};
// 2^f on |f| <= 1/2, 1 at 0.
constexpr double kExp2F32[] = {1, 0x1.62e42ap-1, 0x1.ebf9c4p-3, 0x1.c6b6dcp-5, 0x1.3ce8aap-7, 0x1.5bda58p-10};
// log2((1+t)/(1-t)) / t, in t^2; and 2^f on |f| <= 1/2.
constexpr double kLog2[] = {2.885390081777849,   0.9617966941152138,  0.5770779417715621,
                            0.41220931680926204, 0.31990288594239535, 0.2829425529724028};
constexpr double kExp2[] = {0.9999999999997602,    0.6931471805464053,     0.24022650698902812,
                            0.05550410939783444,   0.009618128539643831,   0.0013333451634381115,
                            0.0001540385294852483, 1.5309852209252946e-05, 1.31757936787381e-06};

/// e^x for x within `low`..`high`, or NaN.
Value exp_between(KernelBuilder& b, Value x) {
  Calculator c(b, x);
  // ln 2 in two parts: the high one has trailing zeros, so that n times it is exact.
  const double high = c.single() ? 0x1.62e400p-1 : 0x1.62e42fefa0000p-1;
  const double low = c.single() ? 0x1.7f7d1cp-20 : 0x1.cf79abc9e3b3ap-40;
  const Value n = c.nearest_to_product(x, c.number(std::numbers::log2e));
  Value r = b.fma(n, c.number(-high), x);
  r = b.fma(n, c.number(-low), r);
  const Value q = c.single() ? c.polynomial(r, kExpF32) : c.polynomial(r, kExpF64);
  const Value one = c.number(1);
  return b.binary(Op::Ldexp, b.fma(b.fma(q, r, one), r, one), n);
}

/// Below, e^x is 0 in F32.
constexpr double kExpIsZeroF32 = -104;

/// e^x for x up to the largest whose e^x is finite, or NaN.
Value exp_to_largest(KernelBuilder& b, Value x) {
  Calculator c(b, x);
  // Minus infinity itself would give NaN in the reduction.
  return exp_between(b, c.at_least(x, c.single() ? kExpIsZeroF32 : -746));
}

/// A positive number as 2^exponent * mantissa, mantissa in [sqrt 1/2, sqrt 2). Both of x's type.
struct Split {
  Value exponent, mantissa;
};
Split split(KernelBuilder& b, Value x) {
  Calculator c(b, x);
  const int width = c.single() ? 23 : 52, bias = c.single() ? 127 : 1023;
  const std::int64_t root_half = c.single() ? 0x3f3504f3 : 0x3fe6a09e667f3bcd;
  const std::int64_t one = std::int64_t{bias} << width;
  const Value subnormal = c.is(Op::Lt, x, c.single() ? 0x1p-126 : 0x1p-1022);
  const Value scaled = b.select(subnormal, b.mul(x, c.number(std::ldexp(1.0, width))), x);
  const Value shifted = b.add(c.bits(scaled), c.integer(one - root_half));
  const Value biased = b.binary(Op::LShr, shifted, c.integer(width));
  const Value fraction = b.binary(Op::And, shifted, c.integer((std::int64_t{1} << width) - 1));
  const Value exponent = b.cast(biased, b.type(x).scalar);
  return {b.sub(exponent, b.select(subnormal, c.number(bias + width), c.number(bias))),
          c.from_bits(b.add(fraction, c.integer(root_half)))};
}

/// Angle modulo pi/2, in F64, and the quadrant (0..3).
struct Reduced {
  Value angle, quadrant;
};
Reduced reduce(KernelBuilder& b, Value wide, double first_quadrant) {
  Calculator c(b, wide);
  const Value n = b.unary(Op::Round, b.mul(wide, c.number(2 / std::numbers::pi)));
  Value r = b.fma(n, c.number(-0x1.921fb54442d18p+0), wide);
  r = b.fma(n, c.number(-0x1.1a62633145c07p-54), r);
  r = c.at_most(c.at_least(r, -1), 1);  // past the range of the reduction
  const Value turned = b.add(n, c.number(first_quadrant));
  const Value quadrant = b.fma(b.unary(Op::Floor, b.mul(turned, c.number(0.25))), c.number(-4), turned);
  return {r, quadrant};
}

Value sine(KernelBuilder& b, Value x, double first_quadrant) {
  const Value wide = b.cast(x, Scalar::F64);
  Calculator c(b, wide);
  const Reduced reduced = reduce(b, wide, first_quadrant);
  const Value r = reduced.angle, z = b.mul(r, r);
  const Value sin = b.fma(b.mul(r, z), c.polynomial(z, kSin), r);
  const Value cos = b.fma(b.mul(z, z), c.polynomial(z, kCos), b.fma(z, c.number(-0.5), c.number(1)));
  const Value odd = b.binary(Op::Or, c.is(Op::Eq, reduced.quadrant, 1), c.is(Op::Eq, reduced.quadrant, 3));
  const Value value = b.select(odd, cos, sin);
  return b.cast(b.select(c.is(Op::Ge, reduced.quadrant, 2), b.unary(Op::Neg, value), value), Scalar::F32);
}

}  // namespace

Value exp_formula(KernelBuilder& b, Value x) {
  Calculator c(b, x);
  // Beyond, the result is infinity.
  return exp_to_largest(b, c.at_most(x, c.single() ? 89 : 710));
}

Value exp_non_positive_formula(KernelBuilder& b, Value x) {
  Calculator c(b, x);
  if (!c.single()) return exp_to_largest(b, x);
  const Value limited = c.at_least(x, kExpIsZeroF32), log2e = c.number(std::numbers::log2e);
  const Value n = c.nearest_to_product(limited, log2e);
  const Value f = b.fma(limited, log2e, b.unary(Op::Neg, n));
  return b.binary(Op::Ldexp, c.polynomial(f, kExp2F32), n);
}

Value log_formula(KernelBuilder& b, Value x) {
  Calculator c(b, x);
  const Split s = split(b, x);
  const Value f = b.sub(s.mantissa, c.number(1));
  const double high = c.single() ? 0x1.62e400p-1 : 0x1.62e42fefa0000p-1;
  const double low = c.single() ? 0x1.7f7d1cp-20 : 0x1.cf79abc9e3b3ap-40;
  Value small;  // log(mantissa) - f
  if (c.single()) {
    small = b.mul(b.mul(f, f), b.fma(f, c.polynomial(f, kLogF32), c.number(-0.5)));
  } else {
    // With t = f / (2 + f): log(1+f) = 2t + t^3 R and 2t = f - t f, so the rest is t (t^2 R - f).
    const Value t = b.binary(Op::Div, f, b.add(f, c.number(2)));
    const Value z = b.mul(t, t);
    small = b.mul(t, b.fma(z, c.polynomial(z, kLogF64), b.unary(Op::Neg, f)));
  }
  Value y = b.add(b.fma(s.exponent, c.number(low), small), f);
  y = b.fma(s.exponent, c.number(high), y);
  const Value not_positive = b.select(c.is(Op::Eq, x, 0), c.number(-kInfinity), c.number(kNan));
  y = b.select(c.is(Op::Gt, x, 0), y, not_positive);
  return b.select(c.is(Op::Eq, x, kInfinity), x, y);
}

Value tanh_formula(KernelBuilder& b, Value x) {
  Calculator c(b, x);
  const Value a = b.unary(Op::Abs, x);
  const Value z = b.mul(x, x);
  const Value p = c.single() ? c.polynomial(z, kTanhF32) : c.polynomial(z, kTanhF64);
  const Value small = b.fma(b.mul(a, z), p, a);
  // From 10 (20) on it is 1; the limit keeps the exponential finite.
  const Value e = exp_between(b, b.mul(c.at_most(a, c.single() ? 10 : 20), c.number(2)));
  const Value large = b.sub(c.number(1), b.binary(Op::Div, c.number(2), b.add(e, c.number(1))));
  return c.copy_sign(b.select(c.is(Op::Lt, a, 0.625), small, large), x);
}

Value sigmoid_formula(KernelBuilder& b, Value x) {
  Calculator c(b, x);
  const Value one = c.number(1);
  const Value e = exp_to_largest(b, b.unary(Op::Neg, b.unary(Op::Abs, x)));
  return b.binary(Op::Div, b.select(c.is(Op::Lt, x, 0), e, one), b.add(e, one));
}

Value erf_formula(KernelBuilder& b, Value x) {
  Calculator c(b, x);
  const Value a = b.unary(Op::Abs, x);
  const Value small = b.fma(a, c.polynomial(b.mul(x, x), kErfSmall), a);
  const Value large = b.sub(c.number(1), exp_between(b, c.polynomial(c.at_most(a, 3.93), kErfLarge)));
  return c.copy_sign(b.select(c.is(Op::Lt, a, 0.9), small, large), x);
}

Value sin_formula(KernelBuilder& b, Value x) { return sine(b, x, 0); }
Value cos_formula(KernelBuilder& b, Value x) { return sine(b, x, 1); }

Value pow_formula(KernelBuilder& b, Value x, Value y) {
  Calculator c(b, x);
  const Value magnitude = b.unary(Op::Abs, x);
  const Split s = split(b, magnitude);
  const Value exponent = b.cast(s.exponent, Scalar::F64), mantissa = b.cast(s.mantissa, Scalar::F64),
              power = b.cast(y, Scalar::F64);
  Calculator w(b, power);
  const Value one = w.number(1);
  const Value t = b.binary(Op::Div, b.sub(mantissa, one), b.add(mantissa, one));
  Value log2 = b.fma(t, w.polynomial(b.mul(t, t), kLog2), exponent);
  log2 = b.select(c.is(Op::Eq, x, 0), w.number(-kInfinity), log2);
  log2 = b.select(c.is(Op::Eq, magnitude, kInfinity), w.number(kInfinity), log2);
  log2 = b.select(b.binary(Op::Ne, x, x), w.number(kNan), log2);
  const Value scaled = w.at_most(w.at_least(b.mul(power, log2), -200), 200);
  const Value n = b.unary(Op::Round, scaled);
  const Value result = b.cast(b.binary(Op::Ldexp, w.polynomial(b.sub(scaled, n), kExp2), n), Scalar::F32);

  // A negative base: the power must be whole, and an odd one keeps the sign.
  const Value half = b.mul(y, c.number(0.5));
  const Value whole = b.binary(Op::Eq, b.unary(Op::Floor, y), y);
  const Value even = b.binary(Op::Eq, b.unary(Op::Floor, half), half);
  const Value odd = b.binary(Op::And, whole, b.unary(Op::Not, even));
  const Value signed_result = b.select(odd, c.copy_sign(result, x), result);
  const Value undefined =
      b.binary(Op::And, b.binary(Op::And, c.is(Op::Lt, x, 0), c.is(Op::Gt, x, -kInfinity)), b.unary(Op::Not, whole));
  const Value value = b.select(undefined, c.number(kNan), signed_result);
  // 1^y and x^0 are 1 whatever the other is, and so is (-1)^inf.
  const Value minus_one_to_infinity =
      b.binary(Op::And, c.is(Op::Eq, x, -1), c.is(Op::Eq, b.unary(Op::Abs, y), kInfinity));
  const Value is_one =
      b.binary(Op::Or, b.binary(Op::Or, c.is(Op::Eq, x, 1), c.is(Op::Eq, y, 0)), minus_one_to_infinity);
  return b.select(is_one, c.number(1), value);
}

Value rsqrt_formula(KernelBuilder& b, Value x) {
  Calculator c(b, x);
  return b.binary(Op::Div, c.number(1), b.unary(Op::Sqrt, x));
}

Value sign_formula(KernelBuilder& b, Value x) {
  Calculator c(b, x);
  return b.select(c.is(Op::Gt, x, 0), c.number(1), b.select(c.is(Op::Lt, x, 0), c.number(-1), x));
}

}  // namespace temper::lower
