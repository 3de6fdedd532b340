#include "temper/cost/loop_features.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "temper/nest/build.h"

namespace temper::cost {
namespace {

using ir::Axis;
using schedule::Schedule;

target::Target avx512() {
  target::Target target;
  target.vector_bytes = 64;
  target.vector_registers = 32;
  target.l1d_bytes = 32 << 10;
  target.l2_bytes = 1 << 20;
  target.l3_bytes = 32 << 20;
  return target;
}

/// E = C + 1 with C[m,n] += A[m,k] * B[k,n] in registers: `rows` x `vectors` x 16 at a time, k unrolled `unroll` times.
std::map<std::string, double> features(std::int64_t rows, std::int64_t vectors, std::int64_t unroll,
                                       std::int64_t size = 96) {
  const ir::Tensor a = ir::placeholder("A", {size, size}), b = ir::placeholder("B", {size, size});
  const Axis k = ir::reduce("k", size);
  const ir::Tensor c =
      ir::define("C", {size, size}, [&](Axis i, Axis j) { return ir::sum(a(i, k) * b(k, j), {k}); }, {"m", "n"});
  const ir::Tensor e =
      ir::define("E", {size, size}, [&](Axis i, Axis j) { return ir::Definition(c(i, j) + 1.0F); }, {"m", "n"});
  Schedule s(ir::make_compute({e}));
  const auto m = s.split(s.loop("E", "m"), {rows});
  const auto n = s.split(s.loop("E", "n"), {vectors, 16});
  s.reorder({m[0], n[0], m[1], n[1], n[2]});
  s.vectorize(n[2]);
  s.unroll(m[1]);
  s.unroll(n[1]);
  s.compute_at("C", n[0]);
  s.set_scope("C", schedule::Scope::Register);
  const auto cn = s.split(s.loop("C", "n"), {16});
  const auto ck = s.split(s.loop("C", "k"), {unroll});
  s.reorder({ck[0], ck[1], s.loop("C", "m"), cn[0], cn[1]});
  s.vectorize(cn[1]);
  for (const schedule::Loop loop : {ck[1], s.loop("C", "m"), cn[0]}) s.unroll(loop);
  const target::Target target = avx512();
  const std::vector<double> values = loop_features(program_facts(nest::build(s), s), target);
  std::map<std::string, double> result;
  for (std::size_t i = 0; i < values.size(); ++i) result[std::string(loop_feature_table()[i].name)] = values[i];
  return result;
}

double count(double log2) { return std::exp2(log2) - 1; }

TEST(LoopFeatures, TellTheBlockOfAProduct) {
  std::map<std::string, double> f = features(4, 2, 3);
  EXPECT_NEAR(count(f["lanes"]), 16, 1e-9);
  EXPECT_NEAR(count(f["vectors"]), 1, 1e-9);
  EXPECT_DOUBLE_EQ(f["lanes_in_use"], 1);
  EXPECT_NEAR(count(f["copies"]), 8, 1e-9);
  EXPECT_NEAR(count(f["reduce_copies"]), 3, 1e-9);
  EXPECT_NEAR(count(f["block_instructions"]), 24, 1e-9);
  EXPECT_NEAR(count(f["block_vector_loads"]), 6, 1e-9);  // of B: 2 vectors for each of 3 steps
  EXPECT_NEAR(count(f["block_broadcasts"]), 12, 1e-9);   // of A: 4 rows for each of them
  EXPECT_NEAR(count(f["block_gathers"]), 0, 1e-9);
  EXPECT_NEAR(f["broadcasts_per_instruction"], 0.5, 1e-9);
  EXPECT_NEAR(f["vector_loads_per_instruction"], 0.25, 1e-9);
  EXPECT_NEAR(count(f["chains"]), 8, 1e-9);
  EXPECT_NEAR(count(f["serial_trips_1"]), 32, 1e-9);
  EXPECT_EQ(f["serial_reduces_1"], 1);
  EXPECT_EQ(f["serial_reduces_2"], 0);
  EXPECT_NEAR(f["fused_share"], 96.0 / 97, 1e-3);
  EXPECT_NEAR(f["main_share"], 96.0 / 97, 1e-3);  // one addition behind 96 multiply-adds
}

TEST(LoopFeatures, AWiderTileIsReusedMore) {
  std::map<std::string, double> narrow = features(1, 1, 1), wide = features(6, 3, 1);
  EXPECT_GT(wide["register_pressure"], narrow["register_pressure"]);
  EXPECT_LT(wide["broadcasts_per_instruction"], narrow["broadcasts_per_instruction"]);
  EXPECT_GT(narrow["chain_bound"], wide["chain_bound"]);
  EXPECT_GT(narrow["iterations_per_instruction"], wide["iterations_per_instruction"]);
}

TEST(LoopFeatures, RowsAPageApartMeetInOneSet) {
  EXPECT_EQ(features(4, 2, 1, 96)["conflicts_1"], 0);
  // A step of k moves B by a row of 4096 bytes: 1024 rows in one set.
  EXPECT_GT(features(4, 2, 1, 1024)["conflicts_1"], 8);
}

TEST(LoopFeatures, AreFiniteForAProgramOfCopies) {
  const ir::Tensor a = ir::placeholder("A", {7, 5});
  const ir::Tensor b = ir::define("B", {5, 7}, [&](Axis i, Axis j) { return ir::Definition(a(j, i)); });
  const Schedule s(ir::make_compute({b}));
  const target::Target target = avx512();
  const std::vector<double> values = loop_features(program_facts(nest::build(s), s), target);
  EXPECT_EQ(values.size(), loop_feature_table().size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_TRUE(std::isfinite(values[i])) << loop_feature_table()[i].name;
}

}  // namespace
}  // namespace temper::cost
