// What random pairs have broken, each for its whole kind: small definitions with the schedule that broke them.
#include <gtest/gtest.h>

#include "check.h"

namespace temper::fuzz {
namespace {

/// "equal", the rule of the refusal, or what went wrong; for this machine and for one with narrower vectors.
std::string outcome(const std::string& compute, const std::string& trace) {
  const target::Target whole = target::detect();
  for (const target::Target& target : {whole, target::limit_vector_bytes(whole, 32)}) {
    Checker checker(target);
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const Outcome o = checker.check_text(compute, trace, seed);
      if (o.kind != Outcome::Kind::Equal) return o.kind == Outcome::Kind::Refused ? o.rule : o.message;
    }
  }
  return "equal";
}

constexpr const char* kMatmul = R"(placeholder A[m: 13, k: 11]: f32
constant B[k: 11, n: 19]: f32
stage C[m: 13, n: 19]: f32
  reducer sum associative commutative identity 0.0 combine #0 + #1
  over [k: 11]
  init 3.0
  body A[m, k] * B[k, n]
stage E[m: 13, n: 19]: f32
  body max(C[m, n], 0.0)
output E
)";

constexpr const char* kCausal = R"(placeholder A[i: 7, j: 24]: f32
stage S[i: 7]: f32
  reducer sum associative commutative identity 0.0 combine #0 + #1
  over [j: 24]
  where i <= j
  body A[i, j]
output S
)";

// A reduce loop inside the vectorised loop: its bounds would differ between lanes, so the condition is a mask.
TEST(Regression, LoopBoundsDoNotDependOnLanes) {
  EXPECT_EQ(outcome(kCausal, "split S i 4 mask\nvectorize S i.1"), "equal");
  EXPECT_EQ(outcome(kCausal, "vectorize S i\nunroll S j"), "equal");
}

constexpr const char* kCausalMatmul = R"(placeholder x0[i: 5, k: 24]: f32
constant x1[k: 24, j: 13]: f32
stage masked[i: 5, j: 13]: f32
  reducer min associative commutative idempotent identity inf combine min(#0, #1)
  over [k: 24]
  where k < i || k == j
  body x0[i, k] * x1[k, j]
output masked
)";
constexpr const char* kParityMatmul = R"(placeholder x0[i: 5, k: 24]: f32
placeholder x1[k: 24, j: 3]: f32
stage masked[i: 5, j: 3]: f32
  reducer sum associative commutative identity 0.0 combine #0 + #1
  over [k: 24]
  where (i + k) % 2 == 0
  body x0[i, k] * x1[k, j]
output masked
)";

// Masks wider than a register, of which whole registers' parts are false whatever the condition: LLVM took such a part
// for true where several accesses share the mask, or where the condition is the same in all lanes.
TEST(Regression, MasksOfSeveralRegisters) {
  EXPECT_EQ(outcome(kCausalMatmul, "split masked j 32 mask\nvectorize masked j.1"), "equal");
  EXPECT_EQ(outcome(kParityMatmul, "split masked j 16 mask\nreorder masked k,i,j.0,j.1\nvectorize masked j.1"),
            "equal");
  EXPECT_EQ(outcome(kParityMatmul,
                    "cache_write masked\nsplit masked j 16 mask\nvectorize masked j.1\n"
                    "compute_at masked_local masked i\nset_scope masked_local register\n"
                    "split masked_local j 16 mask\nreorder masked_local k,i,j.0,j.1\nvectorize masked_local j.1\n"
                    "unroll masked_local i\nunroll masked_local j.0"),
            "equal");
}

// The initial value reads nothing that the terms read, so a producer may be computed at a reduce loop.
TEST(Regression, ProducerAtAReduceLoop) {
  EXPECT_EQ(outcome(kMatmul, "cache_read A C\ncompute_at A_cache C k"), "equal");
  EXPECT_EQ(outcome(kMatmul,
                    "cache_read A C\nsplit C k 4 peel\nreorder C k.0,m,n,k.1\ncompute_at A_cache C k.0\n"
                    "split A_cache k 4 mask\nvectorize A_cache k.1"),
            "equal");
}

TEST(Regression, NothingIsComputedInsideAVectorisedLoop) {
  EXPECT_EQ(outcome(kMatmul, "reorder E n,m\nvectorize E n\ncompute_at C E m"), "AtVectorLoop");
  EXPECT_EQ(outcome(kMatmul, "vectorize E n\ncompute_at C E n"), "AtVectorLoop");
}

TEST(Regression, StorageLiesOutsideTheComputation) {
  EXPECT_EQ(outcome(kMatmul, "compute_at C E m\nstore_at C E n"), "StoreInside");
  EXPECT_EQ(outcome(kMatmul, "compute_at C E n\nstore_at C E m"), "equal");
}

// Reduce loops that round up take no term past the end.
TEST(Regression, ReduceLoopsThatRoundUp) {
  EXPECT_EQ(outcome(kMatmul, "split C k 4 round_up"), "equal");
  EXPECT_EQ(outcome(kMatmul, "split C k 4 round_up\nunroll C k.1\nvectorize C n"), "equal");
  EXPECT_EQ(outcome(kMatmul,
                    "compute_at C E m\nset_scope C register\nunroll E n\nsplit C k 8 round_up\nvectorize C k.1\n"
                    "unroll C n"),
            "equal");
}

TEST(Regression, ShiftedTermsAreTakenOnce) {
  Checker checker(target::detect());
  EXPECT_THROW(checker.check_text(kMatmul, "split C k 4 shift_inwards"), schedule::ScheduleError);
  // Spatial loops inside a reduce loop would add the overlap twice.
  EXPECT_EQ(outcome(kMatmul, "split C m 4 shift_inwards\nreorder C k,m.0,m.1,n"), "Overlap");
  EXPECT_EQ(outcome(kMatmul, "split C m 4 shift_inwards"), "equal");
  EXPECT_EQ(outcome(kMatmul, "split E m 4 shift_inwards\nparallel E m.0"), "ShiftInwardsParallel");
}

// The width of lane partials is one number; an initial value enters once, whatever the width.
TEST(Regression, LanePartials) {
  const std::string tile = "compute_at C E m\nset_scope C register\nunroll E n\nunroll C n\n";
  EXPECT_EQ(outcome(kMatmul, tile + "split C k 8 mask\nvectorize C k.1"), "equal");
  EXPECT_EQ(outcome(kMatmul, tile + "split C k 1 peel\nvectorize C k.1"), "equal");
  EXPECT_EQ(outcome(kMatmul, tile + "vectorize C k"), "equal");
  EXPECT_EQ(outcome(kMatmul, tile + "split C k 16 peel\nvectorize C k.0"), "VectorLanes");
  EXPECT_EQ(outcome(kMatmul, "vectorize C k"), "MemoryPartials");
}

TEST(Regression, VectorisedLoopsHaveOneShape) {
  EXPECT_EQ(outcome(kMatmul, "split E n 4 mask\nreorder E m,n.0,n.1\nvectorize E n.0"), "VectorLanes");
  EXPECT_EQ(outcome(kMatmul, "split E n 100 peel\nvectorize E n.0"), "equal");
}

// Fourteen lanes of sixteen: widths that are no power of two are masked, and transposed as a whole.
TEST(Regression, OddVectorWidths) {
  for (int lanes : {3, 5, 6, 7, 11, 13, 14, 17}) {
    EXPECT_EQ(outcome(kMatmul, "split E n " + std::to_string(lanes) + " mask\nvectorize E n.1"), "equal") << lanes;
    EXPECT_EQ(outcome(kMatmul, "split E n " + std::to_string(lanes) +
                                   " peel\nreorder E n.0,m,n.1\nvectorize E n.1\nunroll E m\ncompute_at C E n.0\n"
                                   "set_scope C register\nsplit C m 8 mask\nreorder C k,n,m.0,m.1\nvectorize C m.1\n"
                                   "unroll C m.0\nunroll C n"),
              "equal")
        << lanes;
  }
}

TEST(Regression, RegistersAtRoot) { EXPECT_EQ(outcome(kMatmul, "set_scope C register"), "RegisterAtRoot"); }

constexpr const char* kWindow = R"(placeholder A[x: 9]: f32
constant W[k: 3]: f32
stage P[x: 9]: f32
  body A[x] * 2.0
stage C[x: 9]: f32
  reducer sum associative commutative identity 0.0 combine #0 + #1
  over [k: 3]
  where x + k - 1 >= 0 && x + k - 1 < 9
  body P[x + k - 1] * W[k]
output C
)";

// Terms that do not exist may index outside a register stage.
TEST(Regression, MaskedIndexOutsideARegisterStage) {
  EXPECT_EQ(outcome(kWindow,
                    "split C x 4 balance\nreorder C x.0,k,x.1\nunroll C k\nunroll C x.1\ncompute_at P C x.0\n"
                    "set_scope P register\nunroll P x"),
            "equal");
  EXPECT_EQ(outcome(kWindow,
                    "split C x 8 mask\nreorder C x.0,k,x.1\nunroll C k\nvectorize C x.1\ncompute_at P C x.0\n"
                    "set_scope P register\nsplit P x 8 mask\nvectorize P x.1\nunroll P x.0"),
            "equal");
}

constexpr const char* kJoined = R"(placeholder A[x: 5]: f32
placeholder B[x: 6]: f32
stage C[x: 11]: f32
  body select(x < 5, A[x], B[x - 5])
stage D[x: 11]: f32
  body select(x < 2 || x >= 7, 1.0, A[x - 2])
output C
output D
)";

// Both branches of a select are evaluated; the one not taken touches no memory.
TEST(Regression, TheBranchNotTakenIsMasked) {
  EXPECT_EQ(outcome(kJoined, ""), "equal");
  EXPECT_EQ(outcome(kJoined, "split C x 8 mask\nvectorize C x.1\nsplit D x 4 mask\nvectorize D x.1"), "equal");
  EXPECT_EQ(outcome(kJoined, "unroll C x\nunroll D x"), "equal");
}

// A register element written inside a loop is not there after it.
TEST(Regression, ValuesDoNotOutliveTheirLoop) {
  EXPECT_EQ(outcome(kMatmul,
                    "split E m 1 peel\nfuse E m.0,m.1\nsplit C m 4 mask\nfuse C m.0,m.1\ncompute_at C E m.0*m.1\n"
                    "set_scope C register\nunroll E n\nunroll C n"),
            "equal");
  const std::string late =
      outcome(kMatmul, "compute_at C E n\nstore_at C E m\nset_scope C register\nunroll C m\nunroll C n");
  EXPECT_EQ(late.rfind("Unsupported: an index of a register stage is not constant", 0), 0U) << late;
}

// A padded layout that is no blob, read past the domain by a tile that rounds up.
TEST(Regression, PaddedLayouts) {
  for (const char* prepared : {"", "prepared B_cache\n"}) {
    EXPECT_EQ(
        outcome(kMatmul, std::string("cache_read B C\nset_layout B_cache n/16%0+0,k/1%0+0,n/1%16+0\n") + prepared +
                             "split E m 6 balance\nsplit E n 1x16 mask\nreorder E n.0,m.0,m.1,n.1,n.2\n"
                             "fuse E n.0,m.0\ncompute_at C E n.0*m.0\nset_scope C register\nvectorize E n.2\n"
                             "unroll E m.1\nunroll E n.1\nparallel E n.0*m.0\nsplit C n 16 round_up\n"
                             "reorder C k,m,n.0,n.1\nvectorize C n.1\nunroll C m\nunroll C n.0"),
        "equal");
  }
}

TEST(Regression, RoundingUpPastTheEndOfAnInputIsRefused) {
  EXPECT_EQ(outcome(kMatmul, "split E n 16 round_up"), "OutOfBounds");
  EXPECT_EQ(outcome(kMatmul, "split C n 16 round_up"), "OutOfBounds");
}

// Taps of a window in a register tile next to a border that both taps and pixels cross.
TEST(Regression, RoundedTapsAndPixels) {
  EXPECT_EQ(outcome(kWindow,
                    "split C x 4 mask\nsplit C k 2 round_up\nreorder C x.0,k.0,k.1,x.1\nunroll C k.1\n"
                    "vectorize C x.1"),
            "equal");
}

constexpr const char* kRows = R"(placeholder X[i: 5, j: 19]: f32
stage top[i: 5]: f32
  reducer max associative commutative idempotent identity -inf combine max(#0, #1)
  over [ja: 19]
  body X[i, ja]
stage e[i: 5, j: 19]: f32
  body exp(X[i, j] - top[i])
stage total[i: 5]: f32
  reducer sum associative commutative identity 0.0 combine #0 + #1
  over [jb: 19]
  body e[i, jb]
stage out[i: 5, j: 19]: f32
  body e[i, j] / total[i]
output out
)";

constexpr const char* kBatched = R"(placeholder A[b: 3, m: 5, k: 11]: f32
constant B[k: 11, n: 19]: f32
stage C[b: 3, m: 5, n: 19]: f32
  reducer sum associative commutative identity 0.0 combine #0 + #1
  over [k: 11]
  body A[b, m, k] * B[k, n]
stage E[b: 3, m: 5, n: 19]: f32
  body max(C[b, m, n], 0.0)
output E
)";

// Fused axes of producer and consumer are tiled as one axis: boxes on it are exact, so the tile stays in registers.
TEST(Regression, FusedAxesAreTiledInRegisters) {
  EXPECT_EQ(outcome(kBatched,
                    "fuse_axes C b m\nfuse_axes E b m\nsplit E b_m 4 peel\nsplit E n 8 mask\n"
                    "reorder E b_m.0,n.0,b_m.1,n.1\nvectorize E n.1\nunroll E b_m.1\ncompute_at C E n.0\n"
                    "set_scope C register\nsplit C n 8 mask\nreorder C k,b_m,n.0,n.1\nvectorize C n.1\n"
                    "unroll C b_m\nunroll C n.0"),
            "equal");
  EXPECT_EQ(outcome(kBatched, "fuse_axes E b m\nfuse_axes E b_m n\nsplit E b_m_n 16 mask\nvectorize E b_m_n.1"),
            "equal");
}

// Softmax as rows: the shared exponential is stored at the row and computed once.
TEST(Regression, SharedStageStoredAtTheRow) {
  EXPECT_EQ(outcome(kRows,
                    "parallel out i\ncompute_at top out i\ncompute_at total out i\ncompute_at e out i\n"
                    "split e j 8 mask\nvectorize e j.1\nsplit out j 8 mask\nvectorize out j.1"),
            "equal");
  EXPECT_EQ(outcome(kRows,
                    "parallel out i\ncompute_at top out i\nset_scope top register\nsplit top ja 8 mask\n"
                    "vectorize top ja.1\ncompute_at total out i\nset_scope total register\nsplit total jb 8 mask\n"
                    "vectorize total jb.1\ncompute_at e out i\nsplit e j 8 mask\nvectorize e j.1"),
            "equal");
}

// Every second and every third element of a row, in vectors with a tail, up to the row's very last element, and between
// borders: runs and shuffles instead of a gather.
TEST(Regression, ShortStridesAreLoadedInRuns) {
  const auto rows = [](int size, int out, int stride, int pad) {
    const std::string e = std::to_string(stride), place = "x * " + e + " + k - " + std::to_string(pad);
    return "placeholder X[i: 3, w: " + std::to_string(size) + "]: f32\nstage Y[i: 3, x: " + std::to_string(out) +
           "]: f32\n  reducer sum associative commutative identity 0.0 combine #0 + #1\n  over [k: 3]\n  where " +
           place + " >= 0, " + place + " < " + std::to_string(size) + "\n  body X[i, " + place + "]\noutput Y\n";
  };
  for (const int stride : {2, 3, 4, 5}) {
    for (const int out : {16, 21, 37}) {
      for (const int pad : {0, 1}) {
        const std::string text = rows((out - 1) * stride + 3 - 2 * pad, out, stride, pad);
        for (const char* tail : {"mask", "peel", "shift_inwards"}) {
          EXPECT_EQ(
              outcome(text.c_str(), ("split Y x 8 " + std::string(tail) + "\nvectorize Y x.1\nunroll Y k").c_str()),
              "equal")
              << stride << ' ' << out << ' ' << pad;
        }
      }
    }
  }
}

// All terms are in the border, so nothing but the prefetch touches the constant.
TEST(Regression, AConstantThatIsOnlyPrefetched) {
  EXPECT_EQ(
      outcome("constant W[a: 4]: f32\nstage Y[i: 5]: f32\n  reducer sum associative commutative identity 0.0 combine "
              "#0 + #1\n  over [k: 3]\n  where i - k - 9 >= 0\n  body W[i - k - 9]\noutput Y\n",
              "prefetch W Y i 1"),
      "equal");
}

// Lanes of a register stage that come from one vector, from two, and from more.
TEST(Regression, StridedLanesOfARegisterStage) {
  const auto window = [](int width, int outputs) {
    const std::string w = std::to_string(width);
    return "placeholder in[n: 2, y: 9, x: " + w + R"(]: f32
constant weight[n: 2, kh: 3, kw: 3]: f32
stage conv[n: 2, y: 5, x: )" +
           std::to_string(outputs) + R"(]: f32
  reducer sum associative commutative identity 0.0 combine #0 + #1
  over [kh: 3, kw: 3]
  where y * 2 + kh - 1 >= 0, y * 2 + kh - 1 < 9, x * 2 + kw - 1 >= 0, x * 2 + kw - 1 < )" +
           w + R"(
  body in[n, y * 2 + kh - 1, x * 2 + kw - 1] * weight[n, kh, kw]
output conv
)";
  };
  const auto held = [](int lanes, int held_lanes) {
    const std::string v = std::to_string(lanes);
    return "cache_write conv\nsplit conv y 2 peel\nsplit conv x 1x" + v + R"( mask
reorder conv n,x.0,y.0,y.1,x.1,x.2
fuse conv n,x.0,y.0
vectorize conv x.2
unroll conv y.1
unroll conv x.1
parallel conv n*x.0*y.0
compute_at conv_local conv n*x.0*y.0
set_scope conv_local register
cache_read in conv_local
compute_at in_cache conv n*x.0*y.0
set_scope in_cache register
split in_cache x )" +
           std::to_string(held_lanes) + R"( mask
unroll in_cache n
unroll in_cache y
unroll in_cache x.0
vectorize in_cache x.1
split conv_local x )" +
           v + R"( mask
reorder conv_local kh,kw,n,y,x.0,x.1
vectorize conv_local x.1
unroll conv_local kh
unroll conv_local kw
unroll conv_local n
unroll conv_local y
unroll conv_local x.0
)";
  };
  for (const auto& [lanes, held_lanes] : {std::pair{4, 16}, std::pair{8, 16}, std::pair{8, 8}, std::pair{8, 4}}) {
    EXPECT_EQ(outcome(window(13, 7), held(lanes, held_lanes)), "equal") << lanes << " from " << held_lanes;
    EXPECT_EQ(outcome(window(40, 20), held(lanes, held_lanes)), "equal") << lanes << " from " << held_lanes;
  }
}

// Squares that are turned in registers, with ends along both sides.
TEST(Regression, ACopyIsTurnedSquareBySquare) {
  constexpr const char* kTransposed = R"(placeholder B[b: 2, n: 19, k: 37]: f32
stage T[b: 2, k: 37, n: 19]: f32
  body B[b, n, k]
output T
)";
  for (const char* lanes : {"16", "8", "4"}) {
    const std::string v = lanes;
    EXPECT_EQ(outcome(kTransposed, "cache_read B T\nsplit T k " + v + " peel\nsplit T n " + v +
                                       " mask\nreorder T b,k.0,n.0,k.1,n.1\nunroll T k.1\nvectorize T n.1\n"
                                       "parallel T b\ncompute_at B_cache T n.0\nset_scope B_cache register\n"
                                       "split B_cache k " +
                                       v +
                                       " mask\nunroll B_cache b\nunroll B_cache n\nunroll B_cache k.0\n"
                                       "vectorize B_cache k.1"),
              "equal")
        << v;
  }
}

// An element that all lanes share was read although no lane was left: here for rows behind the last.
TEST(Regression, AVectorWithoutLanesReadsNothing) {
  constexpr const char* kCompute = R"(placeholder a[i0: 5, i1: 2]: f32
placeholder b[i0: 2, i1: 7]: f32
placeholder c[i0: 5, i1: 7]: f32
stage product[i: 5, j: 7]: f32
  reducer sum associative commutative identity 0.0 combine #0 + #1
  over [k: 2]
  body a[i, k] * b[k, j]
stage scaled[i0: 5, i1: 7]: f32
  body product[i0, i1] * c[i0, i1]
stage out[i0: 5, i1: 7]: f32
  body max(scaled[i0, i1], 0.0)
output out
)";
  EXPECT_EQ(outcome(kCompute, R"(fuse_axes product i j
split out i1 6 mask
reorder out i0,i1.0,i1.1
compute_at scaled out i1.0
split scaled i0 4x2 round_up
split scaled i1 8 round_up
vectorize scaled i1.1
compute_at product scaled i1.0
split product i_j 4 peel
vectorize product i_j.1
unroll product k
unroll product i_j.0
)"),
            "equal");
}

}  // namespace
}  // namespace temper::fuzz
