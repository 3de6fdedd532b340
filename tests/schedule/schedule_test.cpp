// What each primitive does to the loops, and that a trace replays to the same schedule.
#include <gtest/gtest.h>

#include "temper/schedule/trace.h"

namespace temper::schedule {
namespace {

constexpr const char* kCompute = R"(placeholder A[m: 10, k: 12]: f32
constant B[k: 12, n: 8]: f32
stage C[m: 10, n: 8]: f32
  reducer sum associative commutative identity 0.0 combine #0 + #1
  over [k: 12]
  where k <= m
  init 1.0
  body A[m, k] * B[k, n]
stage D[m: 10, n: 8]: f32
  body C[m, n] + 1.0
stage E[m: 10, n: 8]: f32
  body max(D[m, n], C[m, n])
output E
)";

Schedule scheduled(const std::string& trace) {
  Schedule s(ir::parse_compute(kCompute));
  replay(s, parse_trace(trace));
  return s;
}

/// The lines of `print` that belong to one stage.
std::string stage_text(const Schedule& s, const std::string& stage) {
  std::string out;
  bool inside = false;
  const std::string text = print(s);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    if (line.rfind(' ', 0) != 0) inside = line == stage || line.rfind(stage + " ", 0) == 0;
    if (inside) out += line + "\n";
    at = end + 1;
  }
  return out;
}

TEST(Schedule, StartsWithOneSerialLoopPerAxis) {
  EXPECT_EQ(print(scheduled("")), R"(A
B
C
  for m
    for n
      reduce k
D
  for m
    for n
E
  for m
    for n
)");
}

TEST(Schedule, Split) {
  EXPECT_EQ(stage_text(scheduled("split C m 4 peel\nsplit C k 2x3 balance"), "C"), R"(C
  for m.0
    for m.1
      for n
        reduce k.0
          reduce k.1
            reduce k.2
  split m by 4 (peel)
  split k by 6 (balance)
  split k.r1 by 3 (balance)
)");
}

TEST(Schedule, FuseAndReorder) {
  EXPECT_EQ(stage_text(scheduled("split C m 5 peel\nreorder C n,m.0,m.1\nfuse C n,m.0"), "C"), R"(C
  for n*m.0
    for m.1
      reduce k
  split m by 5 (peel)
)");
  EXPECT_EQ(stage_text(scheduled("reorder C k,m"), "C"), R"(C
  reduce k
    for n
      for m
)") << "the listed loops trade places, the others stay";
}

TEST(Schedule, Annotations) {
  EXPECT_EQ(stage_text(scheduled("parallel C m\nvectorize C n\nunroll C k"), "C"), R"(C
  for m  parallel
    for n  vectorized
      reduce k  unrolled
)");
}

TEST(Schedule, PrefetchPrintsBelowTheLoops) {
  EXPECT_EQ(stage_text(scheduled("prefetch A C k 4\nprefetch B C k 2"), "C"), R"(C
  for m
    for n
      reduce k
  prefetch A k + 4
  prefetch B k + 2
)");
}

TEST(Schedule, SharedPrefetchesPrintWhoseTurnItIs) {
  EXPECT_EQ(
      stage_text(scheduled("compute_at C E n\nprefetch_ahead A C k 2 E m n*2\nprefetch_ahead B C k 1 E n -"), "C"),
      R"(C  at E.n
  for m
    for n
      reduce k
  prefetch A k, 2 lines of m + 1 from n*2
  prefetch B k, 1 lines of n + 1 from 0
)");
}

TEST(Schedule, Placement) {
  const Schedule s = scheduled("compute_at C E n\nstore_at C E m\ncompute_inline D\nset_scope C register");
  EXPECT_EQ(stage_text(s, "C").substr(0, stage_text(s, "C").find('\n')), "C  at E.n  stored at E.m  register");
  EXPECT_EQ(stage_text(s, "D"), "D  inline\n");
  const Schedule root = scheduled("compute_at C E n\nstore_at C E m\ncompute_root C");
  EXPECT_EQ(stage_text(root, "C").substr(0, 2), "C\n");
}

TEST(Schedule, CacheReadRedirectsOneReader) {
  const Schedule s = scheduled("cache_read C D");
  const auto reads = [&](const char* stage) {
    std::string out;
    for (int r : reads_of(s, s.stage(stage))) out += s[r].definition->name + " ";
    return out;
  };
  EXPECT_EQ(reads("D"), "C_cache ");
  EXPECT_EQ(reads("C_cache"), "C ");
  EXPECT_EQ(reads("E"), "D C ");
  std::string order;
  for (int stage : topological_order(s)) order += s[stage].definition->name + " ";
  EXPECT_EQ(order, "A B C C_cache D E ");
}

TEST(Schedule, CacheWriteMovesTheDefinition) {
  const Schedule s = scheduled("cache_write C");
  EXPECT_EQ(stage_text(s, "C"), "C\n  for m\n    for n\n");
  EXPECT_EQ(stage_text(s, "C_local"), "C_local\n  for m\n    for n\n      reduce k\n");
  EXPECT_EQ(ir::print(s[s.stage("C")].definition->body[0]), "C_local[m, n]");
  EXPECT_EQ(ir::print(s[s.stage("C_local")].definition->body[0]), "A[m, k] * B[k, n]");
}

TEST(Schedule, RFactorKeepsInitAndConditions) {
  const Schedule s = scheduled("rfactor C k 5");
  const ir::Stage& partial = *s[s.stage("C_rf")].definition;
  const ir::Stage& total = *s[s.stage("C")].definition;
  EXPECT_EQ(ir::print(partial.body[0]), "A[m, k_block * 5 + k] * B[k_block * 5 + k, n]");
  ASSERT_EQ(partial.where.size(), 2U);
  EXPECT_EQ(ir::print(partial.where[0]), "k_block * 5 + k <= m");
  EXPECT_EQ(ir::print(partial.where[1]), "k_block * 5 + k < 12") << "five does not divide twelve";
  EXPECT_TRUE(partial.init.empty()) << "the initial value enters once, in the total";
  EXPECT_EQ(total.init.size(), 1U);
  EXPECT_TRUE(total.where.empty());
  EXPECT_EQ(ir::print(total.body[0]), "C_rf[k_block, m, n]");
  EXPECT_EQ(stage_text(s, "C"), "C\n  for m\n    for n\n      reduce k_block\n");
}

TEST(Schedule, FuseAxesRewritesTheDefinitionAndItsReaders) {
  const Schedule s = scheduled("fuse_axes C m n");
  const ir::Stage& fused = *s[s.stage("C")].definition;
  EXPECT_EQ(stage_text(s, "C"), "C\n  for m_n\n    reduce k\n");
  EXPECT_EQ(ir::print(fused.body[0]), "A[m_n // 8, k] * B[k, m_n % 8]");
  EXPECT_EQ(ir::print(fused.where[0]), "k <= m_n // 8");
  EXPECT_EQ(fused.axes[0].extent().value(), 80);
  EXPECT_EQ(ir::print(s[s.stage("D")].definition->body[0]), "C[m * 8 + n] + 1.0");
  EXPECT_EQ(ir::print(s[s.stage("E")].definition->body[0]), "max(D[m, n], C[m * 8 + n])");
}

TEST(Schedule, FuseAxesOfAnOutputAndOfAReduction) {
  const Schedule s = scheduled("fuse_axes E m n");
  EXPECT_EQ(ir::print(s[s.stage("E")].definition->body[0]), "max(D[m_n // 8, m_n % 8], C[m_n // 8, m_n % 8])");
  Schedule pool(ir::parse_compute(R"(placeholder X[i: 4, j: 6]: f32
stage S[i: 4]: f32
  reducer sum associative commutative identity 0.0 combine #0 + #1
  over [a: 3, b: 2]
  init 1.0
  body X[i, a * 2 + b]
output S
)"));
  replay(pool, parse_trace("fuse_axes S a b"));
  EXPECT_EQ(ir::print(pool[pool.stage("S")].definition->body[0]), "X[i, a_b // 2 * 2 + a_b % 2]");
  EXPECT_EQ(stage_text(pool, "S"), "S\n  for i\n    reduce a_b\n");
}

TEST(Schedule, GapsStayWithTheOutput) {
  const ir::Compute compute = ir::parse_compute(R"(placeholder X[i: 4, j: 6]: f32
stage S[a: 2, b: 2, j: 6] strides 40, 20, 2: f32
  body X[a * 2 + b, j]
output S
)");
  Schedule s(compute);
  replay(s, parse_trace("cache_write S"));
  EXPECT_EQ(s[s.stage("S")].definition->strides, (std::vector<std::int64_t>{40, 20, 2}));
  EXPECT_TRUE(s[s.stage("S_local")].definition->strides.empty());
  Schedule fused(compute);
  replay(fused, parse_trace("fuse_axes S a b"));
  EXPECT_EQ(fused[fused.stage("S")].definition->strides, (std::vector<std::int64_t>{20, 2}));
  try {
    replay(fused, parse_trace("fuse_axes S a_b j"));
    ADD_FAILURE() << "no error";
  } catch (const ScheduleError& error) {
    EXPECT_EQ(error.rule(), "Gaps");
  }
}

// Definitions are immutable: a change upstream gives every reader a new one, whatever memory the old ones had.
TEST(Schedule, ChangesReachReadersOfReaders) {
  std::string compute = "placeholder A[i: 4]: f32\nstage s0[i: 4]: f32\n  body A[i] * 2.0\n";
  for (int i = 1; i < 12; ++i) {
    compute += "stage s" + std::to_string(i) + "[i: 4]: f32\n  body s" + std::to_string(i - 1) + "[i] + s" +
               std::to_string(i / 2) + "[i]\n";
    if (i == 1) compute.replace(compute.rfind("s0[i] + s0[i]"), 13, "s0[i] + A[i]");
  }
  compute += "output s11\n";
  for (int round = 0; round < 20; ++round) {
    Schedule s(ir::parse_compute(compute));
    for (int i = 0; i < 6; ++i) s.cache_write("s" + std::to_string(i));
    for (int i = 0; i < 4; ++i) s.cache_read("s" + std::to_string(i), "s" + std::to_string(i + 1) + "_local");
    for (std::size_t stage = 0; stage < s.stages().size(); ++stage)
      ASSERT_NO_THROW(reads_of(s, static_cast<int>(stage))) << "a stage reads a definition that is gone";
  }
}

TEST(Schedule, LayoutsPrint) {
  const Schedule s = scheduled("cache_read B C\nset_layout B_cache n/4%0+1,k/1%0+0,n/1%4+0\nprepared B_cache");
  EXPECT_EQ(stage_text(s, "B_cache"), "B_cache  prepared  layout [n/4+1] [k] [n%4]\n  for k\n    for n\n");
}

TEST(Schedule, PreparedLooksThroughInlinedStages) {
  const char* copies = "cache_read B C\ncache_read B_cache C\ncompute_inline B_cache\nprepared B_cache_cache";
  EXPECT_EQ(stage_text(scheduled(copies), "B_cache_cache"), "B_cache_cache  prepared\n  for k\n    for n\n");
  try {
    (void)scheduled("cache_read A C\ncache_read A_cache C\ncompute_inline A_cache\nprepared A_cache_cache");
    ADD_FAILURE() << "no error";
  } catch (const ScheduleError& error) {
    EXPECT_EQ(error.rule(), "NotConstant");
  }
}

// ---- trace

constexpr const char* kTrace = R"(cache_read B C
set_layout B_cache n/4%0+1,k/1%0+0,n/1%4+0
prepared B_cache
fuse_axes D m n
rfactor C k 3
cache_write C
split E m 4x2 balance
split E n 3 shift_inwards
reorder E n.0,m.0,m.1,m.2,n.1
fuse E n.0,m.0
parallel E n.0*m.0
vectorize E n.1
unroll E m.1
compute_inline D
compute_at C E m.1
store_at C E n.0*m.0
compute_root C
compute_at C_local C n
prefetch C_rf C_local k_block 4
prefetch_ahead C_rf C_local n 2 C m n*4,m*2
set_scope C_local register
)";

TEST(Trace, HasALineForEveryPrimitive) {
  for (const Primitive& primitive : primitives())
    EXPECT_NE(("\n" + std::string(kTrace)).find("\n" + std::string(primitive.name) + " "), std::string::npos)
        << primitive.name;
}

TEST(Trace, PrintsWhatItReads) {
  EXPECT_EQ(print(parse_trace(kTrace)), kTrace);
  EXPECT_EQ(parse_trace("# a comment\n\n  split   C m 4 peel \n"), (Trace{{"split", {"C", "m", "4", "peel"}}}));
}

TEST(Trace, ReplaysToTheSameSchedule) {
  const Schedule first = scheduled(kTrace);
  EXPECT_EQ(print(first.trace()), kTrace) << "every primitive records itself as it was written";
  const Schedule second = scheduled(print(first.trace()));
  EXPECT_EQ(print(second), print(first));
  EXPECT_EQ(second.trace(), first.trace());
}

}  // namespace
}  // namespace temper::schedule
