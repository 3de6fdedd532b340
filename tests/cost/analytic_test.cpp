#include "temper/cost/analytic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "search/toy_space.h"
#include "temper/cost/model_scorer.h"
#include "temper/cost/program_facts.h"
#include "temper/nest/build.h"

namespace temper::cost {
namespace {

using ir::Axis;
using nest::StorageKind;
using schedule::Schedule;
using schedule::Tail;

/// A core with 32 vectors of 512 bits, whatever machine the tests run on.
target::Target avx512() {
  target::Target target;
  target.vector_bytes = 64;
  target.vector_registers = 32;
  target.l1d_bytes = 32 << 10;
  target.l2_bytes = 1 << 20;
  target.l3_bytes = 32 << 20;
  target.physical_cores = target.logical_cpus = 4;
  return target;
}

ir::Compute matmul(std::int64_t m, std::int64_t n, std::int64_t k) {
  const ir::Tensor a = ir::placeholder("A", {m, k}), b = ir::placeholder("B", {k, n});
  const Axis kk = ir::reduce("k", k);
  const ir::Tensor c =
      ir::define("C", {m, n}, [&](Axis i, Axis j) { return ir::sum(a(i, kk) * b(kk, j), {kk}); }, {"m", "n"});
  const ir::Tensor e =
      ir::define("E", {m, n}, [&](Axis i, Axis j) { return ir::Definition(c(i, j) + 1.0F); }, {"m", "n"});
  return ir::make_compute({e});
}

struct Tile {
  std::int64_t rows = 4, vectors = 4, lanes = 16;
  bool parallel = false;
  bool column_order = false;  ///< blocks of columns outside blocks of rows
};

/// The register-tiled product: C in registers at the tile of E, k innermost.
Schedule tiled(const ir::Compute& compute, const Tile& tile) {
  Schedule s(compute);
  const auto m = s.split(s.loop("E", "m"), {tile.rows});
  const auto n = s.split(s.loop("E", "n"), {tile.vectors, tile.lanes});
  if (tile.column_order) {
    s.reorder({n[0], m[0], m[1], n[1], n[2]});
  } else {
    s.reorder({m[0], n[0], m[1], n[1], n[2]});
  }
  s.vectorize(n[2]);
  s.unroll(m[1]);
  s.unroll(n[1]);
  s.compute_at("C", tile.column_order ? m[0] : n[0]);
  s.set_scope("C", schedule::Scope::Register);
  const auto cn = s.split(s.loop("C", "n"), {tile.lanes});
  s.reorder({s.loop("C", "k"), s.loop("C", "m"), cn[0], cn[1]});
  s.vectorize(cn[1]);
  s.unroll(s.loop("C", "m"));
  s.unroll(cn[0]);
  if (tile.parallel) s.parallel(tile.column_order ? n[0] : m[0]);
  return s;
}

ProgramFacts facts_of(const Schedule& schedule) { return program_facts(nest::build(schedule), schedule); }
Analysis analysis_of(const Schedule& schedule, int threads = 1) {
  return analyse(nest::build(schedule), schedule, avx512(), threads);
}
double feature(const Analysis& analysis, const std::string& name) {
  const auto& names = analytic_features();
  return analysis.features[static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin())];
}
const StatementFacts& update_of(const ProgramFacts& facts) {
  for (const PhaseFacts& phase : facts.phases) {
    for (const StatementFacts& statement : phase.statements) {
      if (statement.kind == nest::Statement::Kind::Update) return statement;
    }
  }
  throw Error(ErrorCode::NotFound, "no update");
}
const AccessFacts& read_of(const StatementFacts& statement, const nest::Program& program, const std::string& stage) {
  for (const AccessFacts& access : statement.accesses) {
    const nest::Storage& storage = program.storages[static_cast<std::size_t>(access.storage)];
    if (!access.write && program.stages[static_cast<std::size_t>(storage.stage)]->name == stage) return access;
  }
  throw Error(ErrorCode::NotFound, "no read of " + stage);
}

TEST(ProgramFacts, CountsExecutionsAndOperations) {
  const ir::Compute compute = matmul(64, 128, 32);
  for (const Schedule& schedule : {Schedule(compute), tiled(compute, {})}) {
    const StatementFacts update = update_of(facts_of(schedule));
    EXPECT_EQ(update.executions(), 64.0 * 128 * 32);
    EXPECT_EQ(update.operations.fused, 1);
    EXPECT_EQ(update.operations.simple, 0);
    EXPECT_EQ(update.operations.special, 0);
  }
}

TEST(ProgramFacts, UnevenTilesCountEveryElementOnce) {
  for (const Tail tail : {Tail::Peel, Tail::Balance}) {
    const ir::Compute compute = matmul(127, 128, 8);
    Schedule s(compute);
    s.split(s.loop("C", "m"), {6}, tail);
    double executions = 0;
    for (const PhaseFacts& phase : facts_of(s).phases) {
      for (const StatementFacts& statement : phase.statements) {
        if (statement.kind == nest::Statement::Kind::Update) executions += statement.executions();
      }
    }
    EXPECT_EQ(executions, 127.0 * 128 * 8);
  }
}

TEST(ProgramFacts, StridesFollowTheLoops) {
  const ir::Compute compute = matmul(64, 128, 32);
  const Schedule schedule = tiled(compute, {});
  const nest::Program program = nest::build(schedule);
  const StatementFacts update = update_of(program_facts(program, schedule));
  // Loops: row tiles, column tiles, k, rows, vectors, lanes.
  EXPECT_THAT(read_of(update, program, "A").strides, ::testing::ElementsAre(4 * 32, 0, 1, 32, 0, 0));
  EXPECT_THAT(read_of(update, program, "B").strides, ::testing::ElementsAre(0, 64, 128, 0, 16, 1));
  EXPECT_EQ(read_of(update, program, "C").kind, StorageKind::Register);
  EXPECT_EQ(update.live_vector_bytes, 4 * 64 * 4);
  EXPECT_EQ(update.live_scalars, 0);
}

TEST(ProgramFacts, FootprintsCountLinesOnce) {
  const std::vector<LoopFacts> loops{{.trips = 10}, {.trips = 8}, {.trips = 16}};
  AccessFacts access;
  access.storage_bytes = 1e9;
  access.strides = {1000, 0, 1};
  EXPECT_EQ(footprint(access, loops, 2, 64), 64);
  EXPECT_EQ(footprint(access, loops, 1, 64), 64);
  EXPECT_EQ(footprint(access, loops, 0, 64), 640);
  access.strides = {16, 0, 1};  // the outer loop continues where the inner one ended
  EXPECT_EQ(footprint(access, loops, 0, 64), 640);
  access.strides = {0, 0, 100};  // each element on a line of its own
  EXPECT_EQ(footprint(access, loops, 0, 64), 16 * 64);
  access.strides = {1000, 1000, 1};  // a window that slides over rows: 10 + 8 - 1 rows
  EXPECT_EQ(footprint(access, loops, 0, 64), 17 * 64);
  access.storage_bytes = 200;
  EXPECT_EQ(footprint(access, loops, 0, 64), 200);
}

TEST(ProgramFacts, InlinedStagesAreComputedWhereTheyAreRead) {
  const ir::Tensor x = ir::placeholder("x", {64});
  const ir::Tensor y = ir::define("y", {64}, [&](Axis i) { return ir::Definition(ir::exp(x(i))); });
  const ir::Tensor z = ir::define("z", {64}, [&](Axis i) { return ir::Definition(y(i) / (y(i) + 2.0F)); });
  Schedule s(ir::make_compute({z}));
  s.compute_inline("y");
  const ProgramFacts facts = facts_of(s);
  ASSERT_EQ(facts.phases.size(), 1u);
  const StatementFacts& define = facts.phases[0].statements[0];
  EXPECT_EQ(define.operations.special, 2);
  EXPECT_EQ(define.operations.divide, 1);
  EXPECT_EQ(define.operations.simple, 1);
  ASSERT_EQ(define.accesses.size(), 2u);
  EXPECT_EQ(define.accesses[0].kind, StorageKind::Input);
  EXPECT_TRUE(define.accesses[1].write);
}

TEST(Analytic, RanksWhatIsKnownAboutTiles) {
  const ir::Compute compute = matmul(384, 512, 256);
  const auto seconds = [&](const Tile& tile) { return analysis_of(tiled(compute, tile)).seconds; };
  const double good = seconds({.rows = 6, .vectors = 4});
  // The naive nest: C accumulates through memory, one element at a time.
  EXPECT_GT(analysis_of(Schedule(compute)).seconds, 10 * good);
  // Too few accumulators to hide the latency of a multiply-add.
  EXPECT_GT(seconds({.rows = 1, .vectors = 1}), 3 * good);
  EXPECT_GT(seconds({.rows = 2, .vectors = 2}), 1.3 * good);
  // More accumulators than registers.
  EXPECT_GT(seconds({.rows = 12, .vectors = 4}), 1.2 * good);
  // Vectors of a quarter of the width.
  EXPECT_GT(seconds({.rows = 6, .vectors = 4, .lanes = 4}), 2 * good);
  // Close to the peak of two multiply-adds a cycle at the clock that is assumed.
  const double peak = 384.0 * 512 * 256 / 16 / 2 / 3e9;
  EXPECT_GT(good, peak);
  EXPECT_LT(good, 1.6 * peak);
}

TEST(Analytic, CountsRegistersAndAccumulators) {
  const ir::Compute compute = matmul(384, 512, 256);
  const Analysis six = analysis_of(tiled(compute, {.rows = 6, .vectors = 4}));
  EXPECT_NEAR(std::exp2(feature(six, "accumulators")) - 1, 24, 0.01);
  EXPECT_NEAR(std::exp2(feature(six, "registers")) - 1, 24 + 4 + 1, 2);
  EXPECT_EQ(feature(six, "spill_cycles"), 0);
  EXPECT_GT(feature(analysis_of(tiled(compute, {.rows = 12, .vectors = 4})), "spill_cycles"), 0);
  EXPECT_NEAR(feature(six, "vector_efficiency"), 1, 1e-9);
}

TEST(Analytic, TrafficComesFromWhatDoesNotFit) {
  const auto bytes = [](std::int64_t m, std::int64_t n, std::int64_t k, const std::string& level,
                        bool column_order = false) {
    const Analysis analysis = analysis_of(tiled(matmul(m, n, k), {.rows = 8, .column_order = column_order}));
    return std::exp2(feature(analysis, level)) - 1;
  };
  // 3 matrices of 16 KB each: past L1, inside L2.
  EXPECT_GT(bytes(64, 64, 64, "l2_bytes"), 0);
  EXPECT_EQ(bytes(64, 64, 64, "l3_bytes"), 0);
  // Of 4 MB each: past L2, inside L3.
  EXPECT_GT(bytes(1024, 1024, 1024, "l3_bytes"), 4e6);
  EXPECT_EQ(bytes(1024, 1024, 1024, "memory_bytes"), 0);
  // Rows outermost read all of B again for every 8 rows; columns outermost keep a panel of B (256 KB) in L2.
  EXPECT_GT(bytes(1024, 1024, 1024, "l3_bytes"), 4 * bytes(1024, 1024, 1024, "l3_bytes", true));
}

TEST(Analytic, ThreadsShareWhatIsParallel) {
  const ir::Compute compute = matmul(384, 512, 256);
  const Schedule parallel = tiled(compute, {.rows = 6, .vectors = 4, .parallel = true});
  const double one = analysis_of(parallel, 1).seconds, two = analysis_of(parallel, 2).seconds;
  EXPECT_LT(two, 0.6 * one);
  EXPECT_GT(two, 0.5 * one);
  const Schedule serial = tiled(compute, {.rows = 6, .vectors = 4});
  EXPECT_EQ(analysis_of(serial, 1).seconds, analysis_of(serial, 2).seconds);
  // Three blocks on two threads: one waits.
  const Schedule three = tiled(matmul(18, 512, 256), {.rows = 6, .vectors = 4, .parallel = true});
  EXPECT_NEAR(feature(analysis_of(three, 2), "imbalance"), 4.0 / 3, 1e-9);
}

TEST(Analytic, PreparedStagesCostNothingPerRun) {
  const ir::Tensor w = ir::constant("w", {64, 64}), x = ir::placeholder("x", {64, 64});
  const ir::Tensor packed =
      ir::define("packed", {64, 64}, [&](Axis i, Axis j) { return ir::Definition(ir::exp(w(i, j))); });
  const ir::Tensor y =
      ir::define("y", {64, 64}, [&](Axis i, Axis j) { return ir::Definition(packed(j, i) + x(i, j)); });
  const ir::Compute compute = ir::make_compute({y});
  Schedule every_time(compute), prepared(compute);
  prepared.prepared("packed");
  EXPECT_LT(analysis_of(prepared).seconds, 0.5 * analysis_of(every_time).seconds);
}

TEST(Analytic, AModelScorerRanksSchedulesBeforeAnythingRan) {
  const ir::Compute compute = matmul(384, 512, 256);
  const search::FakeSpace space({{"tile", {{"rows", {1, 2, 4, 6, 12}}, {"vectors", {0, 1, 2, 4}}}, {}}});
  const auto materialise = [&](const search::Candidate& candidate) {
    const std::vector<std::int64_t> v = search::values(space, candidate);
    if (v[0] == 12) throw Error(ErrorCode::Unsupported, "twelve rows");
    return tiled(compute, {.rows = v[0], .vectors = v[1]});  // no vectors: a split into nothing is refused
  };
  ModelScorer scorer(FeatureExtractor(space, target_facts(avx512(), 1), analytic_features()),
                     make_cost_model("xgboost", {}), schedule_analysis(materialise, avx512(), 1), {}, nullptr, 4);
  std::vector<search::Candidate> candidates;
  for (std::int32_t rows = 0; rows < 5; ++rows) {
    for (std::int32_t vectors = 0; vectors < 4; ++vectors) candidates.push_back({0, {rows, vectors}});
  }
  const std::vector<double> scores = scorer.score(candidates);
  EXPECT_EQ(std::max_element(scores.begin(), scores.end()) - scores.begin(), 3 * 4 + 3);  // six rows, four vectors
  for (std::size_t i = 0; i < scores.size(); ++i) EXPECT_EQ(std::isfinite(scores[i]), i % 4 != 0 && i / 4 != 4) << i;
  const auto broken = [&](const search::Candidate&) -> Schedule { throw Error(ErrorCode::Internal, "a bug"); };
  EXPECT_THROW(schedule_analysis(broken, avx512(), 1)(candidates[0]), Error);
}

TEST(Analytic, FeaturesMatchTheirNamesAndAreFinite) {
  const Analysis analysis = analysis_of(tiled(matmul(64, 128, 32), {}));
  ASSERT_EQ(analysis.features.size(), analytic_features().size());
  for (const double value : analysis.features) EXPECT_TRUE(std::isfinite(value));
  EXPECT_EQ(target_facts(avx512(), 2).size(), 6u);
}

}  // namespace
}  // namespace temper::cost
