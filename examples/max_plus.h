// An operator that Temper does not know: the max-plus matrix product, C[i,j] = max over k of A[i,k] + B[k,j], which
// relaxes all paths of length two in a graph. Its reducer is declared here, its template is written here, and
// everything else (search, verification, code, measurement, records) is the same as for any operator that ships.
#pragma once

#include <temper/temper.h>

#include <limits>

namespace example {

using namespace temper;

/// `a ⊕ b` is the larger one. Any reducer is declared like this: an identity and how two values are combined; what is
/// true of it (associative, commutative) decides which primitives a schedule may use.
inline ir::Reducer larger() {
  ir::Reducer reducer;
  reducer.name = "larger";
  reducer.identity = {ir::literal(-std::numeric_limits<double>::infinity(), ir::DType::F32)};
  const ir::Expr so_far = ir::param(0, ir::DType::F32), next = ir::param(1, ir::DType::F32);
  reducer.combine = {ir::select(so_far > next, so_far, next)};
  reducer.associative = reducer.commutative = reducer.idempotent = true;
  return reducer;
}

inline ir::Compute max_plus(std::int64_t m, std::int64_t n, std::int64_t k) {
  const ir::Tensor a = ir::placeholder("A", {m, k}), b = ir::constant("B", {k, n});
  const ir::Axis over = ir::reduce("k", k);
  const ir::Tensor c = ir::define(
      "C", {m, n}, [&](ir::Axis i, ir::Axis j) { return ir::reduction(larger(), {a(i, over) + b(over, j)}, {over}); });
  return ir::make_compute({c});
}

/// A tile of `rows` x `vectors` whole vectors is computed in registers, over all of k, then stored.
inline void max_plus_tiled(schedule::Schedule& s, space::Knobs& knobs, const target::Target& target) {
  using schedule::Tail;
  const std::int64_t lanes = target.vector_bytes / 4;
  const std::int64_t rows = knobs.choice("rows", {1, 2, 3, 4, 5, 6, 8, 10, 12}, 4);
  const std::int64_t vectors = knobs.choice("vectors", {1, 2, 3, 4}, 2);
  const std::int64_t unroll = knobs.choice("unroll", {1, 2, 4}, 1);
  const std::int64_t packed = knobs.choice("packed", {0, 1}, 1);
  knobs.require("register file", {"rows", "vectors"},
                [registers = target.vector_registers](auto v) { return v[0] * v[1] + v[1] + 1 <= registers; });
  if (knobs.declaring()) return;

  const std::string tile = s.cache_write("C");
  if (packed == 1) {  // B in panels as wide as the tile, once, when B is known
    const std::string panels = s.cache_read("B", tile);
    s.set_layout(panels, {{1, vectors * lanes, 0, 0}, {0, 1, 0, 0}, {1, 1, vectors * lanes, 0}});
    s.prepared(panels);
  }
  const auto i = s.split(s.loop("C", "i0"), {rows}, Tail::Balance);
  const auto j = s.split(s.loop("C", "i1"), {vectors, lanes}, Tail::Mask);
  s.reorder({j[0], i[0], i[1], j[1], j[2]});
  s.unroll(i[1]);
  s.unroll(j[1]);
  s.vectorize(j[2]);
  s.compute_at(tile, i[0]);
  s.set_scope(tile, schedule::Scope::Register);

  const auto lane = s.split(s.loop(tile, "i1"), {lanes}, packed == 1 ? Tail::RoundUp : Tail::Mask);
  const schedule::Loop row = s.loop(tile, "i0");
  const auto k = s.split(s.loop(tile, "k"), {unroll}, Tail::Peel);
  s.reorder({k[0], k[1], row, lane[0], lane[1]});
  s.unroll(k[1]);
  s.unroll(row);
  s.unroll(lane[0]);
  s.vectorize(lane[1]);
}

}  // namespace example
