// A small product and a schedule of it, written with the public language: this room knows no operator.
#pragma once

#include "temper/ir/compute.h"
#include "temper/schedule/schedule.h"
#include "temper/target/cpu.h"

namespace temper::compile::testing {

inline ir::Compute product(std::int64_t m = 5, std::int64_t n = 24, std::int64_t k = 7) {
  const ir::Tensor a = ir::placeholder("A", {m, k}), b = ir::constant("B", {k, n});
  const ir::Axis over = ir::reduce("k", k);
  const ir::Tensor c =
      ir::define("C", {m, n}, [&](ir::Axis i, ir::Axis j) { return ir::sum(a(i, over) * b(over, j), {over}); });
  return ir::make_compute({c});
}

inline schedule::Schedule scheduled(const ir::Compute& compute) {
  schedule::Schedule s(compute);
  const auto j = s.split(s.loop("C", "i1"), {8}, schedule::Tail::Mask);
  s.reorder({s.loop("C", "i0"), j[0], s.loop("C", "k"), j[1]});
  s.vectorize(j[1]);
  s.parallel(s.loop("C", "i0"));
  return s;
}

/// What generated code needs.
inline bool can_generate(const target::Target& target) { return target.has("avx2") && target.has("fma"); }

}  // namespace temper::compile::testing
