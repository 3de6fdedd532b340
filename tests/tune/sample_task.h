// A small matrix product and a template for it.
#pragma once

#include <string>
#include <vector>

#include "temper/ir/compute.h"
#include "temper/space/template.h"
#include "temper/target/cpu.h"
#include "temper/tune/task.h"

namespace temper::tune::testing {

inline ir::Compute product(std::int64_t m, std::int64_t n, std::int64_t k) {
  const ir::Tensor a = ir::placeholder("A", {m, k});
  const ir::Tensor b = ir::constant("B", {k, n});
  const ir::Axis axis = ir::reduce("k", k);
  return ir::make_compute({ir::define(
      "C", {m, n}, [&](ir::Axis i, ir::Axis j) -> ir::Definition { return ir::sum(a(i, axis) * b(axis, j), {axis}); },
      {"m", "n"})});
}

inline Task sample_task(std::string name = "product", int count = 1, std::int64_t m = 8) {
  Task task = make_task(std::move(name), {{"m", std::to_string(m)}}, product(m, 8, 8), 1, count);
  return task;
}

/// Tiles m, n and k: 4 x 4 x 4 candidates, less those with m and n both 8, plus 3 that a primitive refuses ("bad" 1).
inline std::vector<space::Template> sample_templates(std::vector<std::int64_t> bad = {0}) {
  space::Template tiled;
  tiled.name = "tiled";
  tiled.applies = [](const ir::Compute&, const target::Target&) { return true; };
  tiled.apply = [bad](schedule::Schedule& s, space::Knobs& knobs, const target::Target&) {
    const std::int64_t m = knobs.choice("m", {1, 2, 4, 8}, 1);
    const std::int64_t n = knobs.choice("n", {1, 2, 4, 8}, 1);
    const std::int64_t k = knobs.choice("k", {1, 2, 4, 8}, 1);
    const std::int64_t refuse = knobs.choice("bad", bad, 0);
    knobs.require("tile", {"m", "n"}, [](std::span<const std::int64_t> v) { return v[0] * v[1] < 64; });
    if (knobs.declaring()) return;
    s.split(s.loop("C", "m"), {m});
    s.split(s.loop("C", "n"), {n});
    s.split(s.loop("C", "k"), {k});
    if (refuse != 0) s.vectorize(s.loop("C", "m"));
  };
  return {tiled};
}
inline constexpr int kSampleCandidates = 60;

/// A machine for tests that never run code.
inline target::Target sample_target() {
  target::Target target;
  target.vendor = "TestVendor";
  target.features = {"avx2", "fma"};
  target.vector_bytes = 32;
  target.l1d_bytes = 32 << 10;
  target.l2_bytes = 1 << 20;
  return target;
}

}  // namespace temper::tune::testing
