// A compute with one stage of every kind that primitives treat differently, and schedules from the text of a trace.
#pragma once

#include <string>

#include "temper/schedule/trace.h"

namespace temper::schedule::testing {

/// C: sum over (k, j); F: a reducer that is not commutative; G: one that is neither; T: a tuple; P: elementwise over
/// constants; H: elementwise; E: the output.
inline constexpr const char* kExample = R"(placeholder A[i0: 10, i1: 12]: f32
constant W[i0: 12, i1: 8]: f32
stage C[m: 10, n: 8]: f32
  reducer sum associative commutative identity 0.0 combine #0 + #1
  over [k: 12, j: 2]
  body A[m, k] * W[k, n]
stage F[m: 10]: f32
  reducer first associative idempotent identity 0.0 combine select(#0 == 0.0, #1, #0)
  over [a: 4, b: 3]
  body A[m, a * 3 + b]
stage G[m: 10]: f32
  reducer folded identity 0.0 combine #1 - #0
  over [k: 12]
  body A[m, k]
stage T[m: 10]: f32, f32
  reducer tuple_sum associative commutative identity 0.0, 0.0 combine #0 + #2, #1 + #3
  over [k: 12]
  body A[m, k], A[m, k] * A[m, k]
stage U[m: 10]: f32, f32
  body T[m], T.1[m]
stage P[k: 12, n: 8]: f32
  body W[k, n] * 2.0
stage H[m: 10, n: 8]: f32
  body C[m, n] + P[m, n]
stage E[m: 10, n: 8]: f32
  body H[m, n] + F[m] + G[m] + U[m] * U.1[m] + P[m, n]
output E
)";

inline Schedule replayed(const std::string& trace) {
  Schedule schedule(ir::parse_compute(kExample));
  replay(schedule, parse_trace(trace));
  return schedule;
}

}  // namespace temper::schedule::testing
