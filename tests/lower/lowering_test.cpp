// What lowering makes of loop programs: which values live in registers, what stands in the innermost loop, where lanes
// are masked or transposed; and that kernels compute what the oracle says.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>

#include "nest/programs.h"
#include "temper/ir/oracle.h"
#include "temper/lower/kernel_interpreter.h"
#include "temper/lower/lower.h"
#include "temper/support/random.h"

namespace temper::lower {
namespace {

Kernel lowered(const std::string& compute, const std::string& trace, const LowerOptions& options = {}) {
  const schedule::Schedule s = nest::testing::scheduled(compute, trace);
  const nest::Program program = nest::build(s);
  nest::verify(program, s);
  Kernel kernel = lower(program, options);
  verify(kernel);
  return kernel;
}

/// Every For below `block`, outermost first.
void collect_loops(const Block& block, std::vector<const Instr*>& out) {
  for (const Instr& instr : block) {
    if (instr.op == Op::For) out.push_back(&instr);
    if (instr.control) {
      collect_loops(instr.control->body, out);
      collect_loops(instr.control->else_body, out);
    }
  }
}
std::vector<const Instr*> innermost_loops(const Kernel& kernel) {
  std::vector<const Instr*> loops, out;
  for (const Phase& phase : kernel.run) collect_loops(phase.body, loops);
  for (const Instr* loop : loops) {
    std::vector<const Instr*> inner;
    collect_loops(loop->control->body, inner);
    if (inner.empty()) out.push_back(loop);
  }
  return out;
}
std::map<Op, int> count(const Block& block) {
  std::map<Op, int> out;
  for (const Instr& instr : block) {
    ++out[instr.op];
    if (!instr.control) continue;
    for (const Block* inner : {&instr.control->body, &instr.control->else_body}) {
      for (const auto& [op, n] : count(*inner)) out[op] += n;
    }
  }
  return out;
}

TEST(Lower, RegisterTileHoldsNothingButProductsInItsLoop) {
  const Kernel kernel = lowered(nest::testing::kGemm, nest::testing::kGemmTrace);
  const std::vector<const Instr*> loops = innermost_loops(kernel);
  ASSERT_EQ(loops.size(), 4U) << "two blocks of columns, two heights";
  const Instr& loop = *loops.front();
  auto ops = count(loop.control->body);
  EXPECT_EQ(ops[Op::Fma], 6 * 4 * 4) << "6 rows, 4 vectors, 4 terms";
  EXPECT_EQ(ops[Op::Load], 6 * 4 + 4 * 4) << "each element of A and vector of B once";
  EXPECT_EQ(loop.control->params.size(), 6U * 4U) << "the accumulators are carried values";
  for (Value v : loop.control->params) EXPECT_EQ(kernel.types[static_cast<std::size_t>(v)], (Type{Scalar::F32, 16}));
  EXPECT_EQ(ops[Op::Store] + ops[Op::Gather] + ops[Op::Scatter], 0);
  EXPECT_EQ(ops[Op::Mod] + ops[Op::FloorDiv] + ops[Op::Select] + ops[Op::Shuffle], 0);
  EXPECT_LE(ops[Op::Mul], 3) << "addresses are computed outside, but for what moves with the loop";
  // The tile of the last columns reads B's padding instead of masking.
  EXPECT_EQ(count(loops.back()->control->body)[Op::Select], 0);
}

TEST(Lower, BordersOfOneAxisDoNotMaskThePaddingOfAnother) {
  // 24 channels fill a vector and a half. What is read for the other half is weights, which are padded; that windows
  // leave the input at its ends has nothing to do with it.
  const Kernel kernel = lowered(R"(placeholder X[x: 20, ic: 5]: f32
constant W[oc: 24, ic: 5, k: 3]: f32
stage A[x: 20, oc: 24]: f32
  reducer sum associative commutative identity 0.0 combine #0 + #1
  over [ic: 5, k: 3]
  where x + k - 1 >= 0 && x + k - 1 < 20
  body X[x + k - 1, ic] * W[oc, ic, k]
stage E[x: 20, oc: 24]: f32
  body max(A[x, oc], 0.0)
output E
)",
                                R"(cache_read W A
set_layout W_cache oc/32%0+0,ic/1%0+0,k/1%0+0,oc/1%32+0
prepared W_cache
split E x 4 peel
split E oc 2x16 mask
reorder E oc.0,x.0,x.1,oc.1,oc.2
fuse E oc.0,x.0
compute_at A E oc.0*x.0
set_scope A register
vectorize E oc.2
unroll E x.1
unroll E oc.1
split A oc 16 round_up
reorder A ic,k,x,oc.0,oc.1
vectorize A oc.1
unroll A k
unroll A x
unroll A oc.0
)");
  const std::vector<const Instr*> loops = innermost_loops(kernel);
  ASSERT_FALSE(loops.empty());
  for (const Instr* loop : loops) {
    auto ops = count(loop->control->body);
    EXPECT_GT(ops[Op::Fma], 0);
    EXPECT_EQ(ops[Op::Select], 0);
  }
}

TEST(Lower, ExponentialsBelowAMaximumOfTheirRowCannotOverflow) {
  const auto kernel = [](const std::string& exponent, const std::string& trace) {
    return lowered(R"(placeholder X[i: 4, j: 32]: f32
stage M[i: 4]: f32
  reducer max associative commutative idempotent identity -inf combine max(#0, #1)
  over [j: 32]
  body X[i, j]
stage E[i: 4, j: 32]: f32
  body exp()" + exponent +
                       R"()
output E
)",
                   trace);
  };
  const auto exponentials = [](const Kernel& k) {
    std::pair<int, int> out{0, 0};
    for (const Phase& phase : k.run) {
      auto ops = count(phase.body);
      out.first += ops[Op::Exp];
      out.second += ops[Op::ExpNonPositive];
    }
    return out;
  };
  EXPECT_EQ(exponentials(kernel("X[i, j] - M[i]", "")), (std::pair{0, 1}));
  EXPECT_EQ(exponentials(kernel("X[i, j] + M[i]", "")), (std::pair{1, 0}));
  // Copies that a schedule makes change nothing.
  EXPECT_EQ(exponentials(kernel("X[i, j] - M[i]", "cache_write M\ncache_read X E\ncompute_at M E i\n")),
            (std::pair{0, 1}));
}

TEST(Lower, LanesAreTransposedAtTheStore) {
  const Kernel kernel = lowered(nest::testing::kConv, nest::testing::kConvTrace);
  int shuffles = 0, inserts = 0, extracts = 0, stores = 0;
  for (const Phase& phase : kernel.run) {
    auto ops = count(phase.body);
    shuffles += ops[Op::Shuffle];
    inserts += ops[Op::Insert];
    extracts += ops[Op::Extract];
    stores += ops[Op::Store];
  }
  // Three segments of 32 channels x 14 pixels: two transposes of 16 x 16 each, at 16 * log2(16) shuffles.
  // Those of the two rows that are not there fall together.
  EXPECT_LE(shuffles, 3 * 2 * 64);
  EXPECT_GE(shuffles, 3 * 2 * 56);
  EXPECT_EQ(inserts + extracts, 0);
  EXPECT_EQ(stores, 3 * 32) << "one masked row of 14 pixels a channel";
}

TEST(Lower, TapsOutsideTheImageAreLeftOut) {
  const Kernel kernel = lowered(nest::testing::kConv, nest::testing::kConvTrace);
  const std::vector<const Instr*> loops = innermost_loops(kernel);
  ASSERT_EQ(loops.size(), 3U) << "left, middle, right";
  std::vector<int> products;
  for (const Instr* loop : loops) products.push_back(count(loop->control->body)[Op::Fma]);
  EXPECT_EQ(products, (std::vector<int>{2 * (14 * 3 - 1), 2 * 14 * 3, 2 * (14 * 3 - 1)}));
}

constexpr const char* kRows = R"(placeholder X[y: 4, x: 7]: f32
constant W[k: 3]: f32
stage A[y: 4, x: 7]: f32
  reducer sum associative commutative identity 0.0 combine #0 + #1
  over [k: 3]
  where x + k - 1 >= 0, x + k - 1 < 7
  body X[y, x + k - 1] * W[k]
output A
)";
constexpr const char* kRowsTrace = R"(cache_write A
split A y 4 peel
split A x 8 mask
reorder A y.0,x.0,y.1,x.1
vectorize A x.1
unroll A y.1
compute_at A_local A x.0
set_scope A_local register
split A_local x 8 mask
reorder A_local k,y,x.0,x.1
vectorize A_local x.1
unroll A_local k
unroll A_local y
unroll A_local x.0
)";

// A row of pixels in a vector: where a window leaves the row, its weight is 0 for all rows, instead of a choice for
// each.
TEST(Lower, LanesOutsideTheWindowAddZeros) {
  const Kernel kernel = lowered(kRows, kRowsTrace);
  auto ops = count(kernel.run.front().body);
  EXPECT_EQ(ops[Op::Fma], 4 * 3);
  EXPECT_EQ(ops[Op::Select], 2) << "the weights of the first and the last tap";
}

constexpr const char* kMatmul = R"(placeholder A[m: 5, k: 9]: f32
constant B[k: 9, n: 13]: f32
stage C[m: 5, n: 13]: f32
  reducer sum associative commutative identity 0.0 combine #0 + #1
  over [k: 9]
  init 3.0
  body A[m, k] * B[k, n]
stage E[m: 5, n: 13]: f32
  body max(C[m, n], 0.0)
output E
)";

TEST(Lower, LanesOfHeldInputsAreShuffled) {
  // Three taps over every second place of a row that is held in one vector.
  const Kernel kernel = lowered(R"(placeholder X[y: 4, x: 14]: f32
constant W[k: 3]: f32
stage A[y: 4, x: 7]: f32
  reducer sum associative commutative identity 0.0 combine #0 + #1
  over [k: 3]
  where x * 2 + k - 1 >= 0, x * 2 + k - 1 < 14
  body X[y, x * 2 + k - 1] * W[k]
output A
)",
                                R"(cache_write A
split A x 8 mask
vectorize A x.1
unroll A x.0
parallel A y
compute_at A_local A y
set_scope A_local register
cache_read X A_local
compute_at X_cache A y
set_scope X_cache register
split X_cache x 16 mask
unroll X_cache y
unroll X_cache x.0
vectorize X_cache x.1
split A_local x 8 mask
reorder A_local k,y,x.0,x.1
vectorize A_local x.1
unroll A_local k
unroll A_local y
unroll A_local x.0
)");
  auto ops = count(kernel.run.front().body);
  EXPECT_EQ(ops[Op::Shuffle], 3);
  EXPECT_EQ(ops[Op::Load], 1 + 3) << "the row, and the weights";
  EXPECT_EQ(ops[Op::Gather] + ops[Op::Insert] + ops[Op::Extract], 0);
}

TEST(Lower, LanePartialsBecomeAHorizontalSum) {
  const Kernel kernel = lowered(kMatmul, "compute_at C E n\nset_scope C register\nsplit C k 8 mask\nvectorize C k.1\n");
  auto ops = count(kernel.run[0].body);
  EXPECT_EQ(ops[Op::Shuffle], 4) << "8 -> 4 -> 2 lanes, two halves each";
  EXPECT_EQ(ops[Op::Extract], 2);
  EXPECT_EQ(ops[Op::Gather], 2) << "B's column, for the whole block and for the last";
}

// Columns that several rows of an unrolled block read are gathered once.
TEST(Lower, EqualGathersAreOne) {
  const Kernel kernel =
      lowered("placeholder A[i: 16, j: 9]: f32\nstage E[j: 8, i: 16]: f32\n  body A[i, j] + A[i, j + 1]\noutput E\n",
              "unroll E j\nsplit E i 8 peel\nreorder E i.0,j,i.1\nvectorize E i.1\n");
  EXPECT_EQ(count(kernel.run[0].body)[Op::Gather], 9);
}

// A column that is written between two reads is gathered again.
TEST(Lower, AGatherAfterAStoreIsAnother) {
  const Kernel kernel = lowered(kMatmul, "split C m 5 peel\nreorder C m.0,n,k,m.1\nvectorize C m.1\nunroll C k\n");
  EXPECT_EQ(count(kernel.run[0].body)[Op::Gather], 9 + 9) << "a column of A and the sums so far, for each term";
}

// What fused axes take apart is put together again in addresses: vectors run across rows, with no gather.
TEST(Lower, FusedAxesAreContiguous) {
  const Kernel kernel = lowered(
      "placeholder A[i: 6, j: 20]: f32\nstage P[i: 6, j: 20]: f32\n  body A[i, j] * 2.0\n"
      "stage E[i: 6, j: 20]: f32\n  body P[i, j] + A[i, j]\noutput E\n",
      "fuse_axes P i j\nfuse_axes E i j\nsplit P i_j 8 peel\nvectorize P i_j.1\nsplit E i_j 8 peel\n"
      "vectorize E i_j.1\n");
  ASSERT_EQ(kernel.run.size(), 2U);
  for (const Phase& phase : kernel.run) {
    std::map<Op, int> ops = count(phase.body);
    EXPECT_EQ(ops[Op::Gather], 0);
    EXPECT_EQ(ops[Op::FloorDiv] + ops[Op::Mod], 0) << "no index is divided";
    EXPECT_GT(ops[Op::Load], 0);
  }
}

int prefetches(const std::string& compute, const std::string& trace) {
  int found = 0;
  for (const Phase& phase : lowered(compute, trace).run) found += count(phase.body)[Op::Prefetch];
  return found;
}

TEST(Lower, PrefetchesTheLinesOfALaterIteration) {
  const std::string compute =
      "placeholder A[m: 6, k: 64]: f32\nplaceholder B[k: 64, n: 32]: f32\nstage C[m: 6, n: 32]: f32\n"
      "  reducer sum associative commutative identity 0.0 combine #0 + #1\n  over [k: 64]\n"
      "  body A[m, k] * B[k, n]\noutput C\n";
  const std::string tile = "split C k 4 peel\nreorder C k.0,k.1,m,n\n";
  EXPECT_EQ(prefetches(compute, tile), 0);
  EXPECT_EQ(prefetches(compute, tile + "prefetch B C k.1 8\n"), 2) << "a row of 32 numbers is two lines";
  EXPECT_EQ(prefetches(compute, tile + "prefetch B C k.0 1\n"), 8) << "four rows";
  EXPECT_EQ(prefetches(compute, tile + "prefetch A C k.0 1\nprefetch B C k.0 1\n"), 14)
      << "and one line of each row of A";
  EXPECT_EQ(prefetches(compute, tile + "prefetch B C m 1\n"), 0) << "B does not depend on m";
}

TEST(Lower, PrefetchesAShareOfALaterBlock) {
  const std::string compute =
      "placeholder A[m: 6, k: 64]: f32\nplaceholder B[n: 8, k: 64]: f32\nstage C[n: 8, m: 6]: f32\n"
      "  reducer sum associative commutative identity 0.0 combine #0 + #1\n  over [k: 64]\n"
      "  body A[m, k] * B[n, k]\nstage D[n: 8, m: 6]: f32\n  body C[n, m] * 2.0\noutput D\n";
  const std::string base = "compute_at C D m\nsplit C k 32 peel\n";
  EXPECT_EQ(prefetches(compute, base + "prefetch_ahead B C k.0 1 D n m*1\n"), 1);
  EXPECT_EQ(prefetches(compute, base + "prefetch_ahead B C k.0 3 D n m*3\n"), 3);
  EXPECT_EQ(prefetches(compute, base + "prefetch_ahead B C k.0 1 D m -\n"), 0) << "B is the same for all m";
  EXPECT_EQ(prefetches(compute, base + "prefetch_ahead B C k.0 1 D n m*1\nunroll D m\n"), 6) << "six turns known";
  EXPECT_THROW(prefetches(compute, base + "prefetch_ahead B C k.0 65 D n -\n"), Error) << "too many for one place";
}

// The sum reads A through E alone, which is computed in its loop.
TEST(Lower, PrefetchesWhatAStageInsideTheLoopReads) {
  const std::string compute =
      "placeholder A[i: 4, j: 64]: f32\nstage E[i: 4, j: 64]: f32\n  body A[i, j] * 2.0\n"
      "stage S[i: 4]: f32\n  reducer sum associative commutative identity 0.0 combine #0 + #1\n  over [k: 64]\n"
      "  body E[i, k]\n"
      "stage O[i: 4, j: 64]: f32\n  body E[i, j] / S[i]\noutput O\n";
  const std::string base = "split S k 32 peel\ncompute_at S O i\n";
  EXPECT_EQ(prefetches(compute, base + "compute_at E S k.0\nstore_at E O i\nprefetch A S k.0 2\n"), 2)
      << "32 numbers are two lines";
  EXPECT_THROW(prefetches(compute, base + "compute_at E O i\nprefetch A S k.0 2\n"), schedule::ScheduleError)
      << "E is done before";
}

// Where P is read is not known ahead, but P does not read A.
TEST(Lower, PrefetchesBesideAStageThatIsReadAnywhere) {
  const std::string compute =
      "placeholder A[i: 4, j: 64]: f32\nplaceholder B[i: 4]: f32\nplaceholder I[i: 4]: i64\n"
      "stage P[i: 4]: f32\n  body B[i] * 2.0\n"
      "stage R[i: 4, j: 64]: f32\n  body A[i, j] * P[I[i]]\noutput R\n";
  EXPECT_EQ(prefetches(compute, "split R j 32 peel\ncompute_at P R j.0\nprefetch A R j.0 2\n"), 2);
}

TEST(Lower, TailsAreMasked) {
  const Kernel kernel = lowered(kMatmul, "split E n 8 mask\nunroll E n.0\nvectorize E n.1");
  std::vector<const Instr*> loops = innermost_loops(kernel);
  const Block& body = loops.back()->control->body;
  std::vector<std::size_t> arguments;
  for (const Instr& instr : body) {
    if (instr.op == Op::Store) arguments.push_back(instr.args.size());
  }
  EXPECT_EQ(arguments, (std::vector<std::size_t>{2, 3})) << "a whole vector, then one under a mask";
}

std::string refusal(const std::string& trace, const LowerOptions& options = {}) {
  try {
    lowered(kMatmul, trace, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Unsupported);
    return error.what();
  }
  return "accepted";
}

TEST(Lower, Refusals) {
  EXPECT_EQ(refusal("compute_at C E m\nset_scope C register"),
            "an index of a register stage is not constant: C.n\n  at: stage C\n"
            "  hint: a register stage needs every loop between its storage and its uses unrolled or vectorised");
  EXPECT_EQ(refusal("unroll E m\nunroll E n\nunroll C m\nunroll C n\nunroll C k", {.max_block_instructions = 1000}),
            "the kernel grows beyond 1000 instructions\n  hint: unroll less");
  EXPECT_EQ(refusal("compute_at C E n\nset_scope C register\nsplit C k 4 peel\nvectorize C k.1"),
            "lane partials of 4 lanes meet a vector of 1\n  at: stage C\n"
            "  hint: a register stage needs every loop between its storage and its uses unrolled or vectorised");
}

// ---- against the oracle

/// Another value for an element of an argument.
struct Placed {
  std::string argument;
  std::size_t element;
  float value;
};

/// Whole numbers, but for those that are placed. What differs from the oracle; empty: nothing.
std::string run(const std::string& compute_text, const std::string& trace, const std::vector<Placed>& placed = {}) {
  const ir::Compute compute = ir::parse_compute(compute_text);
  Kernel kernel = lowered(compute_text, trace);
  std::vector<std::vector<std::byte>> memory;
  ArgumentMemory arguments;
  RandomStream random(7);
  std::size_t output = 0;
  for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
    memory.emplace_back(static_cast<std::size_t>(kernel.arguments[i].bytes));
    if (kernel.arguments[i].role == BufferRole::Output) output = i;
  }
  ir::Inputs inputs;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const Argument& argument = kernel.arguments[i];
    if (argument.role == BufferRole::Input || argument.role == BufferRole::Constant) {
      for (std::size_t at = 0; at + 4 <= memory[i].size(); at += 4) {
        const auto v = static_cast<float>(random.uniform_int(-5, 5));
        std::memcpy(memory[i].data() + at, &v, 4);
      }
      for (const Placed& p : placed) {
        if (p.argument == argument.name) std::memcpy(memory[i].data() + p.element * 4, &p.value, 4);
      }
      inputs[argument.name] = memory[i];
    }
    arguments.emplace_back(memory[i]);
  }
  interpret_prepare(kernel, arguments);
  interpret_run(kernel, arguments);
  ir::Oracle oracle(compute, inputs);
  const std::vector<double> want = oracle.all(*compute.outputs[0]);
  for (std::size_t i = 0; i < want.size(); ++i) {
    float got = 0;
    std::memcpy(&got, memory[output].data() + i * 4, 4);
    if (std::isnan(got) && std::isnan(want[i])) continue;
    if (got != want[i] && !(std::abs(got - want[i]) <= 1e-5 * (1 + std::abs(want[i]))))
      return "element " + std::to_string(i) + " is " + std::to_string(got) + ", not " + std::to_string(want[i]);
  }
  return {};
}

TEST(Lower, WhatLiesOutsideOfAWindowDoesNoHarm) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  // The weight of the left neighbour, which the first pixel has not; the last pixel of a row, which lies before the
  // first one of the next.
  EXPECT_EQ(run(kRows, kRowsTrace), "");
  EXPECT_EQ(run(kRows, kRowsTrace, {{"W", 0, kInfinite}}), "");
  EXPECT_EQ(run(kRows, kRowsTrace, {{"X", 6, kInfinite}, {"X", 14, std::nanf("")}}), "");
  EXPECT_EQ(run(kRows, "split A x 8 mask\nvectorize A x.1\nunroll A k", {{"W", 2, kInfinite}}), "");
}

TEST(Lower, KernelsEqualTheOracle) {
  EXPECT_EQ(run(nest::testing::kGemm, nest::testing::kGemmTrace), "");
  EXPECT_EQ(run(nest::testing::kConv, nest::testing::kConvTrace), "");
  for (const char* trace :
       {"", "vectorize E n\nunroll C k\nparallel C m", "compute_at C E m\nset_scope C register\nunroll E n\nunroll C n",
        "compute_at C E n\nset_scope C register\nsplit C k 8 mask\nvectorize C k.1",
        "split E n 8 mask\nvectorize E n.1\nunroll E m\nreorder E n.0,m,n.1\ncompute_at C E n.0\nset_scope C register\n"
        "split C m 4 mask\nreorder C k,n,m.0,m.1\nvectorize C m.1\nunroll C m.0\nunroll C n",
        "split C m 5 peel\nreorder C m.0,n,k,m.1\nvectorize C m.1\nunroll C k",
        "split C n 4 shift_inwards\nvectorize C n.1\nfuse E m,n",
        "split E n 3 mask\nvectorize E n.1\nset_layout C n/4%0+1,m/1%0+2,n/1%4+0"}) {
    EXPECT_EQ(run(kMatmul, trace), "") << trace;
  }
}

}  // namespace
}  // namespace temper::lower
