// Elementary functions as straight-line vector arithmetic. Each works on scalars and vectors alike; coefficients are
// minimax fits of our own (Remez), evaluated by Horner with fused multiply-adds. Special values follow C99, annex F.
#pragma once

#include "temper/lower/kernel_builder.h"

namespace temper::lower {

/// Error bounds are the largest found over the whole range, in units in the last place of the result; tests hold them.
///
/// Exp, F32: 1.0 ulp. n = round(x / ln 2); r = x - n ln 2 in two parts; e^r by degree 6; 2^n by Ldexp. Overflow gives
/// infinity, underflow subnormals and zero. F64: 1.5 ulp, degree 11.
Value exp_formula(KernelBuilder& b, Value x);
/// e^x for x up to 0, or NaN: it cannot overflow, so that end is not watched. F32: 2 ulp and 0.25 |x| ulp more, so at
/// any x less than 2 ulp of 1, the largest result. n = round(x log2 e), f = x log2 e - n rounded once, 2^f by degree 5:
/// three operations fewer than Exp. F64: as Exp.
Value exp_non_positive_formula(KernelBuilder& b, Value x);
/// Log, F32: 1.0 ulp. x = 2^n m with m in [sqrt 1/2, sqrt 2); log m = f - f^2/2 + f^3 P(f), f = m - 1. Subnormals
/// included. F64: 1.5 ulp, by the series of atanh.
Value log_formula(KernelBuilder& b, Value x);
/// Tanh, F32 and F64: 2 ulp. x + x^3 P(x^2) below 0.625, else 1 - 2 / (e^2|x| + 1) with the sign of x.
Value tanh_formula(KernelBuilder& b, Value x);
/// 1 / (1 + e^-x), F32 and F64: 2.5 ulp. From e^-|x|, so that both tails keep their digits.
Value sigmoid_formula(KernelBuilder& b, Value x);
/// Erf, F32 only: 1.5 ulp. x + x Q(x^2) below 0.9, else 1 - e^P(|x|) with the sign of x.
Value erf_formula(KernelBuilder& b, Value x);
/// Sin and Cos, F32 only: 1 ulp for |x| up to 2^45 (pi/2 is known to 106 bits); beyond, some number within [-1, 1]. In
/// F64 inside.
Value sin_formula(KernelBuilder& b, Value x);
Value cos_formula(KernelBuilder& b, Value x);
/// x^y, F32 only: 1 ulp. 2^(y log2 |x|) in F64 inside, with the sign and the special values of C's pow.
Value pow_formula(KernelBuilder& b, Value x, Value y);
/// 1 / sqrt(x), by a correctly rounded root and division: 1.5 ulp. F32 and F64.
Value rsqrt_formula(KernelBuilder& b, Value x);
/// -1, 0 or 1; zeros and NaN as they are. F32 and F64.
Value sign_formula(KernelBuilder& b, Value x);

}  // namespace temper::lower
