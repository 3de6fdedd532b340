// Partition, border peeling and box inference, piece by piece, and every refusal of `build`.
#include <gtest/gtest.h>

#include "programs.h"
#include "temper/nest/boxes.h"
#include "temper/nest/nest_state.h"
#include "temper/support/random.h"

namespace temper::nest {
namespace {

using schedule::Tail;
using testing::refusal;
using testing::scheduled;

std::string segments(std::int64_t extent, std::int64_t factor, Tail tail, bool vector = false) {
  std::string out;
  for (const SplitSegment& s : split_segments(extent, factor, tail, vector)) {
    out += (out.empty() ? "" : ", ") + std::to_string(s.begin) + ".." + std::to_string(s.end) + " x" +
           std::to_string(s.inner_extent);
    if (s.inner_lanes != s.inner_extent) out += " of " + std::to_string(s.inner_lanes);
    out += " at " + std::to_string(s.scale) + "i";
    if (s.offset != 0) out += (s.offset > 0 ? "+" : "") + std::to_string(s.offset);
  }
  return out;
}

TEST(SplitSegments, EveryTail) {
  EXPECT_EQ(segments(12, 4, Tail::Peel), "0..3 x4 at 4i");
  EXPECT_EQ(segments(14, 4, Tail::Peel), "0..3 x4 at 4i, 3..4 x2 at 4i");
  EXPECT_EQ(segments(3, 4, Tail::Peel), "0..1 x3 at 4i");
  EXPECT_EQ(segments(14, 4, Tail::Mask), "0..3 x4 at 4i, 3..4 x2 at 4i");
  EXPECT_EQ(segments(14, 4, Tail::Mask, true), "0..3 x4 at 4i, 3..4 x2 of 4 at 4i");
  EXPECT_EQ(segments(127, 6, Tail::Balance), "0..17 x6 at 6i, 17..22 x5 at 5i+17");
  EXPECT_EQ(segments(7, 4, Tail::Balance), "0..1 x4 at 4i, 1..2 x3 at 3i+1");
  EXPECT_EQ(segments(14, 4, Tail::RoundUp), "0..4 x4 at 4i");
  EXPECT_EQ(segments(14, 4, Tail::ShiftInwards), "0..3 x4 at 4i, 3..4 x4 at 4i-2");
  EXPECT_EQ(segments(3, 4, Tail::ShiftInwards), "0..1 x3 at 3i");
}

// Every iteration of the split axis is there: once, or, for tails that say so, more often or past the end.
TEST(SplitSegments, CoverTheExtent) {
  for (std::int64_t extent = 1; extent <= 40; ++extent) {
    for (std::int64_t factor = 1; factor <= 17; ++factor) {
      for (Tail tail : {Tail::Peel, Tail::Mask, Tail::Balance, Tail::RoundUp, Tail::ShiftInwards}) {
        std::vector<int> times(static_cast<std::size_t>(extent + factor), 0);
        std::int64_t next = 0;
        for (const SplitSegment& s : split_segments(extent, factor, tail, true)) {
          ASSERT_EQ(s.begin, next);
          next = s.end;
          ASSERT_LE(s.inner_extent, std::max(factor, s.inner_lanes));
          for (std::int64_t o = s.begin; o < s.end; ++o) {
            for (std::int64_t i = 0; i < s.inner_extent; ++i)
              ++times.at(static_cast<std::size_t>(o * s.scale + s.offset + i));
          }
        }
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(times.size()); ++i) {
          const int n = times[static_cast<std::size_t>(i)];
          const std::string where = std::to_string(extent) + " by " + std::to_string(factor) + " " +
                                    std::string(schedule::to_string(tail)) + " at " + std::to_string(i);
          if (i >= extent) {
            ASSERT_EQ(n, tail == Tail::RoundUp && i < analysis::round_up(extent, factor) ? 1 : 0) << where;
          } else if (tail == Tail::ShiftInwards) {
            ASSERT_GE(n, 1) << where;
          } else {
            ASSERT_EQ(n, 1) << where;
          }
        }
      }
    }
  }
}

TEST(VectorWidth, PowersOfTwoThenMultiplesOfSixteen) {
  EXPECT_EQ(vector_width(1), 1);
  EXPECT_EQ(vector_width(3), 4);
  EXPECT_EQ(vector_width(14), 16);
  EXPECT_EQ(vector_width(17), 32);
  EXPECT_EQ(vector_width(33), 48);
}

// ---- boxes

// The box of a form holds every value that the form takes when each axis runs over its range.
TEST(Boxes, HoldEveryValue) {
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    RandomStream random(seed);
    VarSpace vars;
    const std::vector<Var> axes{vars.add("a", {0, 30}), vars.add("b", {0, 30})};
    const Var outer = vars.add("o", {0, 3});
    Affine form(random.uniform_int(-5, 5));
    for (Var v : axes) form.add_scaled(Affine::of(v), random.uniform_int(-3, 3));
    for (int step = 0; step < 2; ++step) {
      const std::int64_t d = random.uniform_int(2, 5);
      if (random.chance(0.3))
        form = vars.floor_div(form, d) * random.uniform_int(1, 2);
      else if (random.chance(0.3))
        form = vars.mod(form, d);
      if (random.chance(0.3)) form += Affine::of(axes[0]);
    }
    const std::vector<Range> ranges{
        {Affine::of(outer, random.uniform_int(0, 3)) + Affine(random.uniform_int(0, 4)), random.uniform_int(1, 6)},
        {Affine(random.uniform_int(0, 9)), random.uniform_int(1, 6)}};
    const Range box = box_of(form, ranges, axes, vars);
    const std::function<std::int64_t(const Affine&, const std::vector<std::int64_t>&)> value =
        [&](const Affine& f, const std::vector<std::int64_t>& at) {
          std::int64_t sum = f.constant;
          for (const analysis::Term& t : f.terms) {
            const auto& info = vars[t.var];
            std::int64_t v = 0;
            if (info.kind == analysis::VarKind::Loop)
              v = t.var == axes[0] ? at[0] : t.var == axes[1] ? at[1] : at[2];
            else if (info.kind == analysis::VarKind::FloorDiv)
              v = analysis::floor_div(value(info.operand, at), info.divisor);
            else
              v = analysis::floor_mod(value(info.operand, at), info.divisor);
            sum += t.coefficient * v;
          }
          return sum;
        };
    for (std::int64_t o = 0; o <= 3; ++o) {
      const std::vector<std::int64_t> fixed{0, 0, o};
      const std::int64_t lo = value(box.base, fixed), a0 = value(ranges[0].base, fixed),
                         b0 = value(ranges[1].base, fixed);
      for (std::int64_t a = 0; a < ranges[0].extent; ++a) {
        for (std::int64_t b = 0; b < ranges[1].extent; ++b) {
          const std::int64_t v = value(form, {a0 + a, b0 + b, o});
          ASSERT_GE(v, lo) << "seed " << seed << ": " << analysis::print(form, vars);
          ASSERT_LT(v, lo + box.extent) << "seed " << seed << ": " << analysis::print(form, vars);
        }
      }
    }
  }
}

TEST(Boxes, AreExactForWindows) {
  VarSpace vars;
  const Var y = vars.add("y", {0, 27}), k = vars.add("k", {0, 2}), tile = vars.add("t", {0, 3});
  const Affine form = Affine::of(y, 2) + Affine::of(k) - Affine(1);
  const Range box = box_of(form, {{Affine::of(tile, 7), 7}, {Affine(0), 3}}, {y, k}, vars);
  EXPECT_EQ(analysis::print(box.base, vars), "14*t - 1");
  EXPECT_EQ(box.extent, 2 * 6 + 2 + 1);
}

TEST(Boxes, UnionOfBoxesThatMoveTogether) {
  VarSpace vars;
  const Affine i = Affine::of(vars.add("i", {0, 9}));
  std::vector<Range> box;
  unite(box, {{i, 3}}, {100});
  unite(box, {{i + Affine(-2), 3}}, {100});
  unite(box, {{i + Affine(4), 1}}, {100});
  EXPECT_EQ(analysis::print(box[0].base, vars), "i - 2");
  EXPECT_EQ(box[0].extent, 7);
  unite(box, {{Affine(0), 1}}, {100});
  EXPECT_EQ(analysis::print(box[0].base, vars), "0") << "boxes that move apart take the whole domain";
  EXPECT_EQ(box[0].extent, 100);
}

// ---- borders

constexpr const char* kWindow = R"(placeholder A[x: 100]: f32
stage C[x: 100]: f32
  reducer sum associative commutative identity 0.0 combine #0 + #1
  over [k: 3]
  where x + k - 1 >= 0 && x + k - 1 < 100
  body A[x + k - 1]
output C
)";

std::string program_text(const char* compute, const std::string& trace, const BuildOptions& options = {}) {
  const schedule::Schedule s = scheduled(compute, trace);
  const Program program = build(s, options);
  verify(program, s);
  return print(program);
}

TEST(Borders, SerialTapsBecomeLoopBounds) {
  EXPECT_EQ(program_text(kWindow, ""), R"(run C:
  for C.x in 0..100:
    init C[C.x]
    reduce C.k in 0..3, from ceil((-C.x + 1) / 1), to floor((-C.x + 100) / 1):
      update C[C.x] over k = C.k
)");
}

TEST(Borders, UnrolledTapsCutTheLoop) {
  EXPECT_EQ(program_text(kWindow, "unroll C k"), R"(run C:
  for C.x in 0..1:
    init C[0]
    reduce C.k in 0..3  unrolled:
      update C[0] over k = C.k where C.k - 1 >= 0
  for C.x in 1..99:
    init C[C.x]
    reduce C.k in 0..3  unrolled:
      update C[C.x] over k = C.k
  for C.x in 99..100:
    init C[99]
    reduce C.k in 0..3  unrolled:
      update C[99] over k = C.k where -C.k + 1 >= 0
)");
}

TEST(Borders, WideBordersAreMasked) {
  const std::string text = program_text(kWindow, "unroll C k", {256, 0});
  EXPECT_NE(text.find("for C.x in 0..1:"), std::string::npos) << text;
  const char* wide = R"(placeholder A[x: 100]: f32
stage C[x: 100]: f32
  reducer sum associative commutative identity 0.0 combine #0 + #1
  over [k: 21]
  where x + k - 10 >= 0 && x + k - 10 < 100
  body A[x + k - 10]
output C
)";
  EXPECT_EQ(program_text(wide, "unroll C k"), R"(run C:
  for C.x in 0..10:
    init C[C.x]
    reduce C.k in 0..21  unrolled:
      update C[C.x] over k = C.k where C.x + C.k - 10 >= 0
  for C.x in 10..90:
    init C[C.x]
    reduce C.k in 0..21  unrolled:
      update C[C.x] over k = C.k
  for C.x in 90..100:
    init C[C.x]
    reduce C.k in 0..21  unrolled:
      update C[C.x] over k = C.k where -C.x - C.k + 109 >= 0
)");
}

TEST(Borders, ParallelLoopsBranch) {
  const std::string text = program_text(kWindow, "unroll C k\nparallel C x");
  EXPECT_NE(text.find("parallel C.x in 100:\n    when C.x in 0..1:\n"), std::string::npos) << text;
  EXPECT_NE(text.find("    when C.x in 1..99:\n"), std::string::npos) << text;
}

// A transposed convolution of stride two: unrolled over the parity, every tap is there or not.
TEST(Borders, ParityFolds) {
  const char* transposed = R"(placeholder A[x: 10]: f32
constant W[k: 4]: f32
stage C[x: 20]: f32
  reducer sum associative commutative identity 0.0 combine #0 + #1
  over [k: 4]
  where (x + 1 - k) % 2 == 0, (x + 1 - k) // 2 >= 0 && (x + 1 - k) // 2 < 10
  body A[(x + 1 - k) // 2] * W[k]
output C
)";
  const std::string text = program_text(transposed, "split C x 2 peel\nunroll C x.1\nunroll C k");
  EXPECT_NE(text.find("over k = C.k where -((C.x.1 - C.k + 1) % 2) == 0"), std::string::npos)
      << "the parity does not depend on the outer loop:\n"
      << text;
}

// Two tensors joined: each piece of the loop reads one of them, through inlined stages as well.
constexpr const char* kJoined = R"(placeholder A[x: 24]: f32
placeholder B[x: 40]: f32
stage J[x: 64]: f32
  body select(x < 24, A[x], B[x - 24])
stage C[x: 64]: f32
  body J[x] * 2.0
output C
)";

TEST(Borders, ChoicesCutTheLoop) {
  EXPECT_EQ(program_text(kJoined, "compute_inline J\nsplit C x 16 mask\nvectorize C x.1"), R"(run C:
  for C.x.0 in 0..1:
    for C.x.1 in 0..16  vectorized x16:
      define C[C.x.1]
  for C.x.0 in 1..2:
    for C.x.1 in 0..16  vectorized x16:
      define C[C.x.1 + 16]
  for C.x.0 in 2..4:
    for C.x.1 in 0..16  vectorized x16:
      define C[16*C.x.0 + C.x.1]
)");
}

TEST(Borders, ChoicesCutNoLoopOfAnotherStage) {
  EXPECT_EQ(program_text(kJoined, "split C x 8 peel\ncompute_at J C x.0"), R"(run C:
  for C.x.0 in 0..8:
    local J[8*C.x.0 : 8]
    for J.x in 0..8:
      define J[8*C.x.0 + J.x]
    for C.x.1 in 0..8:
      define C[8*C.x.0 + C.x.1]
)");
}

TEST(Borders, TooManyChoicesCutNothing) {
  // 40 tensors of two elements.
  std::string compute, body = "T39[x - 78]";
  for (int i = 0; i < 40; ++i) compute += "placeholder T" + std::to_string(i) + "[x: 2]: f32\n";
  for (int i = 38; i >= 0; --i) {
    body = "select(x < " + std::to_string(2 * i + 2) + ", T" + std::to_string(i) + "[x - " + std::to_string(2 * i) +
           "], " + body + ")";
  }
  compute += "stage C[x: 80]: f32\n  body " + body + "\noutput C\n";
  EXPECT_EQ(program_text(compute.c_str(), ""), "run C:\n  for C.x in 0..80:\n    define C[C.x]\n");
}

// ---- prefetches

TEST(Prefetches, AreDealtOutToTilesOfABlock) {
  const std::string text = program_text(
      testing::kGemm,
      "cache_read B C\nset_layout B_cache n/16%0+0,k/1%0+0,n/1%16+0\nprepared B_cache\n"
      "split E m 32 peel\nsplit E n 16 mask\nreorder E n.0,m.0,m.1,n.1\nfuse E n.0,m.0\n"
      "compute_at C E n.0*m.0\nsplit C k 8 peel\nreorder C k.0,k.1,m,n\nprefetch_ahead B_cache C k.0 2 E n.0 m.0*2");
  EXPECT_NE(text.find("        reduce C.k.0 in 0..12:\n"
                      "          prefetch B_cache[8*C.k.0 : 8, 16*E.n.0 + 16 : 16] 2 lines from 2*E.m.0\n"),
            std::string::npos)
      << text;
}

// ---- refusals

TEST(Refusals, Prefetches) {
  using testing::kGemm;
  EXPECT_EQ(refusal(kGemm, "prefetch_ahead B C k 1 E n -"),
            "NotOutside: 'B' is dealt out by a loop that is not outside: n\n  at: stage C, loop k");
  EXPECT_EQ(refusal(kGemm, "compute_at C E m\nprefetch_ahead B C k 1 E m n*1"),
            "NotOutside: 'B' is dealt out by a loop that is not outside: n\n  at: stage C, loop k");
  EXPECT_EQ(refusal(kGemm, "split E n 16 mask\nreorder E n.0,n.1,m\nvectorize E n.1\nprefetch C E m 2"),
            "AtVectorLoop: 'C' is prefetched inside a vectorised loop\n  at: stage E, loop m");
  EXPECT_EQ(refusal(kGemm, "compute_at C E n\nprefetch C E m 2"),
            "UnreachableStage: 'C' is not stored outside of the loop that prefetches it\n  at: stage E, loop m");
  EXPECT_EQ(refusal(kGemm, "compute_at C E m\nset_scope C register\nprefetch C E n 1"),
            "RegisterStage: 'C' lives in registers, which need no prefetch\n  at: stage E, loop n");
  EXPECT_EQ(refusal(kGemm, "prefetch A C k 2\ncache_read A C"),
            "NotAConsumer: 'A' is not read any more\n  at: stage C, loop k");
  EXPECT_EQ(
      refusal("placeholder A[i: 8]: f32\nplaceholder I[i: 8]: i64\nstage R[i: 8]: f32\n  body A[I[i]]\noutput R\n",
              "prefetch A R i 2"),
      "OpaqueIndex: 'A' is read at indices that are not known ahead\n  at: stage R, loop i");
}

TEST(Refusals, Texts) {
  using testing::kConv;
  using testing::kGemm;
  EXPECT_EQ(refusal(kGemm, "split E m 6 peel\nsplit E n 7 peel\nreorder E m.1,n.1\n", {.max_bodies = 1}),
            "TooManyBodies: partition gives more than 1 bodies\n  at: stage E\n"
            "  hint: choose factors that divide, or another tail");
  EXPECT_EQ(refusal(kGemm, "split E m 6 peel\nfuse E m.0,m.1"),
            "RaggedFuse: the number of iterations of 'm.1' varies, so it cannot be fused\n  at: stage E, loop m.0*m.1");
  EXPECT_EQ(refusal(kGemm, "split E m 6 balance\nsplit E m.0 2 peel"),
            "RaggedSplit: 'm.0' counts blocks of two sizes, so it cannot be split again\n  at: stage E, loop m.0\n"
            "  hint: choose a factor that divides 127, or the tail round_up");
  EXPECT_EQ(refusal(kGemm, "split E m 6 shift_inwards\nparallel E m.0"),
            "ShiftInwardsParallel: two threads would write the same elements\n  at: stage E, loop m.0\n"
            "  hint: use another tail");
  EXPECT_EQ(refusal(kGemm, "set_layout C n/1%0+0,m/1%0+0\ncompute_at C E m\nset_scope C register"),
            "RegisterLayout: a stage in registers has no layout\n  at: stage C");
  EXPECT_EQ(refusal(kGemm, "set_scope C register"),
            "RegisterAtRoot: a stage at root cannot live in registers\n  at: stage C\n"
            "  hint: compute_at a loop of its consumer");
  EXPECT_EQ(refusal(kGemm, "vectorize E n"),
            "VectorLanes: a vector of 112 lanes is too wide; the limit is 64\n  at: stage E, loop n\n"
            "  hint: split the loop first");
  EXPECT_EQ(refusal(kGemm, "split E n 7 mask\nvectorize E n.0"),
            "VectorLanes: the iterations of a vectorised loop are not all alike\n  at: stage E, loop n.0\n"
            "  hint: vectorise the innermost loop of the split");
  EXPECT_EQ(refusal(kGemm, "compute_at C E m\nset_scope C register\nsplit C k 17 peel\nvectorize C k.0"),
            "VectorLanes: the width of the lane partials is not constant\n  at: stage C, loop k.0\n"
            "  hint: vectorise the innermost loop of the split");
  EXPECT_EQ(refusal(kGemm, "split C k 8 mask\nvectorize C k.1"),
            "MemoryPartials: a vectorised reduce loop needs its stage in registers\n  at: stage C, loop k.1\n"
            "  hint: cache_write the stage and set_scope it to register");
  EXPECT_EQ(refusal(kGemm, "split E n 16 mask\nvectorize E n.1\ncompute_at C E n.1"),
            "AtVectorLoop: a stage is computed or stored inside a vectorised loop\n  at: stage E, loop n.1\n"
            "  hint: choose a loop outside 'n.1'");
  EXPECT_EQ(refusal(kGemm, "compute_at C E m\nstore_at C E n"),
            "StoreInside: the stage is computed outside the loop that it is stored at\n  at: stage C\n"
            "  hint: store it at a loop outside the one it is computed at");
  EXPECT_EQ(refusal(kGemm, "parallel C m\ncompute_at C E m"),
            "ParallelInside: only the outermost loop of a stage at root can be parallel\n  at: stage C, loop m");
  EXPECT_EQ(refusal(kConv, "reorder A ic,kh,kw,oc,y,x\nfuse A y,x"),
            "FusedInsideReduce: a fused loop stands inside a reduce loop\n  at: stage A, loop y*x\n"
            "  hint: reorder it outwards, or leave its loops apart");
  EXPECT_EQ(refusal(kGemm, "cache_read A C\ncompute_at A_cache C m\ncompute_at C E m\ncache_read bias E"), "accepted");
  const char* shared = R"(placeholder A[i: 8]: f32
stage P[i: 8]: f32
  body A[i] * 2.0
stage Q[i: 8]: f32
  body P[i] + 1.0
stage R[i: 8]: f32
  body P[i] + Q[i]
output R
)";
  EXPECT_EQ(refusal(shared, "compute_at P Q i"),
            "UnreachableStage: 'P' is not computed before 'R' reads it\n  at: stage P\n"
            "  hint: compute it at a loop that encloses every reader, or use store_at");
}

}  // namespace
}  // namespace temper::nest
