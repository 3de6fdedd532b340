// Schedules from text, and the programs that they give.
#pragma once

#include <string>

#include "temper/nest/build.h"
#include "temper/schedule/trace.h"

namespace temper::nest::testing {

inline schedule::Schedule scheduled(const std::string& compute, const std::string& trace) {
  const ir::Compute parsed = ir::parse_compute(compute);
  ir::verify(parsed);
  schedule::Schedule s(parsed);
  schedule::replay(s, schedule::parse_trace(trace));
  return s;
}

/// The rule of the refusal by `build` or `verify`; "accepted" otherwise.
inline std::string refusal(const std::string& compute, const std::string& trace, const BuildOptions& options = {}) {
  try {
    const schedule::Schedule s = scheduled(compute, trace);
    verify(build(s, options), s);
  } catch (const schedule::ScheduleError& error) {
    return error.what();
  }
  return "accepted";
}

inline constexpr const char* kGemm = R"(placeholder A[m: 127, k: 102]: f32
constant B[k: 102, n: 100]: f32
placeholder bias[n: 100]: f32
stage C[m: 127, n: 100]: f32
  reducer sum associative commutative identity 0.0 combine #0 + #1
  over [k: 102]
  body A[m, k] * B[k, n]
stage E[m: 127, n: 100]: f32
  body max(C[m, n] + bias[n], 0.0)
output E
)";

inline constexpr const char* kGemmTrace = R"(cache_read B C
set_layout B_cache n/64%0+0,k/1%0+0,n/1%64+0
prepared B_cache
split E m 6 balance
split E n 4x16 mask
reorder E n.0,m.0,m.1,n.1,n.2
fuse E n.0,m.0
compute_at C E n.0*m.0
set_scope C register
vectorize E n.2
unroll E m.1
unroll E n.1
parallel E n.0*m.0
split C k 4 peel
split C n 16 round_up
reorder C k.0,k.1,m,n.0,n.1
vectorize C n.1
unroll C k.1
unroll C m
unroll C n.0
)";

inline constexpr const char* kConv = R"(placeholder X[ic: 3, h: 42, w: 42]: f32
constant W[oc: 32, ic: 3, kh: 3, kw: 3]: f32
stage A[oc: 32, y: 42, x: 42]: f32
  reducer sum associative commutative identity 0.0 combine #0 + #1
  over [ic: 3, kh: 3, kw: 3]
  where y + kh - 1 >= 0 && y + kh - 1 < 42, x + kw - 1 >= 0 && x + kw - 1 < 42
  body X[ic, y + kh - 1, x + kw - 1] * W[oc, ic, kh, kw]
stage E[oc: 32, y: 42, x: 42]: f32
  body max(A[oc, y, x], 0.0)
output E
)";

inline constexpr const char* kConvTrace = R"(cache_read W A
set_layout W_cache oc/32%0+0,ic/1%0+0,kh/1%0+0,kw/1%0+0,oc/1%32+0
prepared W_cache
split E oc 32 peel
split E x 14 mask
reorder E oc.0,y,x.0,oc.1,x.1
compute_at A E x.0
set_scope A register
vectorize E x.1
unroll E oc.1
split A oc 16 peel
reorder A ic,kh,kw,x,y,oc.0,oc.1
vectorize A oc.1
unroll A kw
unroll A x
unroll A y
unroll A oc.0
)";

}  // namespace temper::nest::testing
