// Every precondition of every primitive, with the whole text that a user reads when it does not hold.
#include <gtest/gtest.h>

#include <functional>

#include "example.h"

namespace temper::schedule {
namespace {

using testing::replayed;

struct Case {
  const char* trace;  ///< the last line is refused
  const char* text;
};

std::string refusal(const std::string& trace) {
  const std::size_t last = trace.rfind('\n');
  const std::string before = last == std::string::npos ? "" : trace.substr(0, last);
  Schedule schedule = replayed(before);
  const std::string untouched = print(schedule);
  const Trace steps = schedule.trace();
  try {
    replay(schedule, parse_trace(trace.substr(before.empty() ? 0 : last + 1)));
  } catch (const ScheduleError& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    EXPECT_EQ(std::string(error.what()).rfind(error.rule() + ": ", 0), 0U) << "a text starts with its rule";
    EXPECT_EQ(print(schedule), untouched) << "a primitive that fails leaves the schedule as it was";
    EXPECT_EQ(schedule.trace(), steps);
    return error.what();
  } catch (const Error& error) {
    return std::string("no ScheduleError: ") + error.what();
  }
  return "accepted";
}

void check(std::initializer_list<Case> cases) {
  for (const Case& c : cases) EXPECT_EQ(refusal(c.trace), c.text) << c.trace;
}

TEST(Primitives, Lookup) {
  check({
      {R"(split X m 4 peel)", R"(UnknownStage: there is no stage 'X'
  hint: stages: A, W, C, F, G, T, U, P, H, E)"},
      {R"(split C z 4 peel)", R"(UnknownLoop: there is no loop 'z'
  at: stage C)"},
  });
}

TEST(Primitives, Split) {
  check({
      {R"(split C m 4 peel
split C m 2 peel)",
       R"(NotALoop: 'm' was split or fused; it is no loop any more
  at: stage C, loop m
  hint: use the loops that came of it)"},
      {R"(unroll C m
split C m 4 peel)",
       R"(AnnotatedLoop: 'm' is already unrolled
  at: stage C, loop m
  hint: apply splits, fuses and orders before annotations)"},
      {R"(split C m 0 peel)", R"(EmptyFactor: a factor must be at least 1, not 0
  at: stage C, loop m)"},
      {R"(split C k 5 shift_inwards)",
       R"(NotIdempotent: shift_inwards takes some terms twice; reducer 'sum' is not idempotent
  at: stage C, loop k
  hint: use another tail)"},
      {R"(fuse C m,n
split C m*n 4 peel)",
       R"(NotALoop: a fused loop cannot be split
  at: stage C, loop m*n
  hint: split first, then fuse)"},
      {R"(split A i0 2 peel)", R"(Placeholder: the stage is an input, it has no loops
  at: stage A)"},
  });
}

TEST(Primitives, Fuse) {
  check({
      {R"(split C m 4 peel
fuse C m,n)",
       R"(NotALoop: 'm' was split or fused; it is no loop any more
  at: stage C, loop m
  hint: use the loops that came of it)"},
      {R"(vectorize C n
fuse C m,n)",
       R"(AnnotatedLoop: 'n' is already vectorized
  at: stage C, loop n
  hint: apply splits, fuses and orders before annotations)"},
      {R"(fuse C n,m)", R"(NotAdjacent: 'm' does not follow 'n'
  at: stage C, loop m
  hint: reorder first)"},
      {R"(reorder C m,k,n,j
fuse C m,n)",
       R"(NotAdjacent: 'n' does not follow 'm'
  at: stage C, loop n
  hint: reorder first)"},
      {R"(fuse C n,k)", R"(MixedReduce: a reduce loop cannot be fused with a spatial one
  at: stage C, loop k)"},
      {R"(fuse C m,n
split H m 2 peel
fuse C m*n,k)",
       R"(NotALoop: a fused loop cannot be fused again
  at: stage C, loop m*n
  hint: fuse all loops at once)"},
  });
}

TEST(Primitives, Reorder) {
  check({
      {R"(split C m 4 peel
reorder C m,n)",
       R"(NotALoop: 'm' was split or fused; it is no loop any more
  at: stage C, loop m
  hint: use the loops that came of it)"},
      {R"(reorder C m,n,m)", R"(DuplicateLoop: 'm' is listed twice
  at: stage C, loop m)"},
      {R"(reorder F b,a)", R"(NotCommutative: reducer 'first' is not commutative; its reduce loops keep their order
  at: stage F, loop b)"},
      {R"(split C m 4 peel
reorder C m.1,m.0)",
       R"(InnerBeforeOuter: 'm.0' must stay outside 'm.1'
  at: stage C, loop m.0)"},
  });
}

TEST(Primitives, Parallel) {
  check({
      {R"(split C m 4 peel
parallel C m)",
       R"(NotALoop: 'm' was split or fused; it is no loop any more
  at: stage C, loop m
  hint: use the loops that came of it)"},
      {R"(unroll C m
parallel C m)",
       R"(AnnotatedLoop: 'm' is already unrolled
  at: stage C, loop m
  hint: apply splits, fuses and orders before annotations)"},
      {R"(reorder C k,m,n,j
parallel C k)",
       R"(ReduceLoop: iterations of a reduce loop depend on each other
  at: stage C, loop k
  hint: use rfactor)"},
      {R"(parallel C n)", R"(NotOutermost: only the outermost loop can be parallel
  at: stage C, loop n
  hint: fuse or reorder it outwards)"},
  });
}

TEST(Primitives, Vectorize) {
  check({
      {R"(split C n 4 peel
vectorize C n)",
       R"(NotALoop: 'n' was split or fused; it is no loop any more
  at: stage C, loop n
  hint: use the loops that came of it)"},
      {R"(unroll C n
vectorize C n)",
       R"(AnnotatedLoop: 'n' is already unrolled
  at: stage C, loop n
  hint: apply splits, fuses and orders before annotations)"},
      {R"(vectorize C n
vectorize C m)",
       R"(TwoVectorLoops: 'n' is vectorised already
  at: stage C, loop m)"},
      {R"(vectorize F b)", R"(NotAssociative: lane partials need an associative and commutative reducer; 'first' is not
  at: stage F, loop b)"},
      {R"(vectorize G k)", R"(NotAssociative: lane partials need an associative and commutative reducer; 'folded' is not
  at: stage G, loop k)"},
      {R"(fuse C m,n
vectorize C m*n)",
       R"(NotALoop: a fused loop cannot be vectorised
  at: stage C, loop m*n)"},
  });
}

TEST(Primitives, Unroll) {
  check({
      {R"(split C n 4 peel
unroll C n)",
       R"(NotALoop: 'n' was split or fused; it is no loop any more
  at: stage C, loop n
  hint: use the loops that came of it)"},
      {R"(vectorize C n
unroll C n)",
       R"(AnnotatedLoop: 'n' is already vectorized
  at: stage C, loop n
  hint: apply splits, fuses and orders before annotations)"},
      {R"(fuse C m,n
unroll C m*n)",
       R"(NotALoop: a fused loop cannot be unrolled
  at: stage C, loop m*n)"},
  });
}

TEST(Primitives, Prefetch) {
  check({
      {R"(prefetch X C k 2)", R"(UnknownStage: there is no stage 'X'
  hint: stages: A, W, C, F, G, T, U, P, H, E)"},
      {R"(split C k 4 peel
prefetch A C k 2)",
       R"(NotALoop: 'k' was split or fused; it is no loop any more
  at: stage C, loop k
  hint: use the loops that came of it)"},
      {R"(unroll C k
prefetch A C k 2)",
       R"(AnnotatedLoop: 'k' is already unrolled
  at: stage C, loop k
  hint: prefetch in a serial loop)"},
      {R"(fuse C m,n
prefetch A C m*n 2)",
       R"(NotALoop: a fused loop cannot prefetch
  at: stage C, loop m*n)"},
      {R"(prefetch F C k 2)", R"(NotAConsumer: 'C' does not read 'F'
  at: stage C)"},
      {R"(prefetch A C k 0)", R"(EmptyDistance: the distance must be at least 1, not 0
  at: stage C, loop k)"},
      {R"(prefetch A C k 2
prefetch A C k 3)",
       R"(TwoPrefetches: 'A' is prefetched here already
  at: stage C, loop k)"},
      {R"(prefetch_ahead F C k 1 E m -)", R"(NotAConsumer: 'C' does not read 'F'
  at: stage C)"},
      {R"(prefetch_ahead A C k 0 E m -)", R"(EmptyShare: a share must be at least one cache line
  at: stage C, loop k)"},
      {R"(prefetch_ahead A C k 1 E m n*0)", R"(EmptyShare: a share must be at least one cache line
  at: stage C, loop k)"},
      {R"(prefetch_ahead A C k 1 E x -)", R"(UnknownLoop: there is no loop 'x'
  at: stage E)"},
      {R"(compute_at C E n
prefetch_ahead A C k 1 E m -
cache_write E)",
       R"(AlreadyScheduled: cache_write needs untouched loops
  at: stage E
  hint: call it before the stage's other primitives)"},
      {R"(prefetch A C k 2
prefetch_ahead A C k 1 E m -)",
       R"(TwoPrefetches: 'A' is prefetched here already
  at: stage C, loop k)"},
      {R"(prefetch A C k 2
split C k 4 peel)",
       R"(AnnotatedLoop: 'k' prefetches already
  at: stage C, loop k
  hint: prefetch last)"},
      {R"(prefetch A C k 2
unroll C k)",
       R"(AnnotatedLoop: 'k' prefetches already
  at: stage C, loop k
  hint: prefetch last)"},
      {R"(prefetch A C k 2
cache_write C)",
       R"(AlreadyScheduled: cache_write needs untouched loops
  at: stage C
  hint: call it before the stage's other primitives)"},
  });
}

TEST(Primitives, ComputeAt) {
  check({
      {R"(compute_at E H m)", R"(OutputStage: an output is always computed at root
  at: stage E)"},
      {R"(compute_at A C m)", R"(Placeholder: the stage is an input, it is not computed
  at: stage A)"},
      {R"(compute_at G C m)", R"(NotAConsumer: 'C' does not read 'G'
  at: stage G)"},
      {R"(compute_at C C m)", R"(NotAConsumer: 'C' does not read 'C'
  at: stage C)"},
      {R"(split H m 2 peel
compute_at C H m)",
       R"(NotALoop: 'm' was split or fused; it is no loop any more
  at: stage H, loop m
  hint: use the loops that came of it)"},
      {R"(prepared P
compute_at P E m)",
       R"(NotAtRoot: a prepared stage is computed at root
  at: stage P)"},
  });
}

TEST(Primitives, ComputeInline) {
  check({
      {R"(compute_inline E)", R"(OutputStage: an output cannot be inlined
  at: stage E)"},
      {R"(compute_inline A)", R"(Placeholder: the stage is an input, it is not computed
  at: stage A)"},
      {R"(compute_inline C)", R"(ReductionStage: a reduction cannot be inlined
  at: stage C
  hint: use compute_at)"},
      {R"(compute_inline U)", R"(TupleStage: a tuple-valued stage cannot be inlined
  at: stage U)"},
      {R"(prepared P
compute_inline P)",
       R"(NotAtRoot: a prepared stage is computed at root
  at: stage P)"},
  });
}

TEST(Primitives, ComputeRoot) {
  check({
      {R"(compute_root A)", R"(Placeholder: the stage is an input, it is not computed
  at: stage A)"},
  });
}

TEST(Primitives, StoreAt) {
  check({
      {R"(store_at E H m)", R"(OutputStage: an output is stored for the caller
  at: stage E)"},
      {R"(store_at A H m)", R"(Placeholder: the stage is an input, it is not computed
  at: stage A)"},
      {R"(store_at C H m)", R"(NotComputedAt: store_at needs a stage that is computed inside a loop
  at: stage C
  hint: call compute_at first)"},
      {R"(compute_at C H m
split H n 2 peel
store_at C H n)",
       R"(NotALoop: 'n' was split or fused; it is no loop any more
  at: stage H, loop n
  hint: use the loops that came of it)"},
  });
}

TEST(Primitives, CacheRead) {
  check({
      {R"(cache_read A P)", R"(NotAConsumer: 'P' does not read 'A'
  at: stage P)"},
      {R"(cache_read X C)", R"(UnknownStage: there is no stage 'X'
  hint: stages: A, W, C, F, G, T, U, P, H, E)"},
      {R"(cache_read A A)", R"(Placeholder: the stage is an input, it is not computed
  at: stage A)"},
      {R"(cache_read A C
cache_read A F)",
       R"(DuplicateStage: there is already a stage 'A_cache')"},
  });
}

TEST(Primitives, CacheWrite) {
  check({
      {R"(cache_write A)", R"(Placeholder: the stage is an input, it is not computed
  at: stage A)"},
      {R"(unroll C m
cache_write C)",
       R"(AlreadyScheduled: cache_write needs untouched loops
  at: stage C
  hint: call it before the stage's other primitives)"},
      {R"(cache_write C
cache_write C)",
       R"(DuplicateStage: there is already a stage 'C_local')"},
  });
}

TEST(Primitives, RFactor) {
  check({
      {R"(rfactor A k 4)", R"(Placeholder: the stage is an input, it is not computed
  at: stage A)"},
      {R"(rfactor H m 4)", R"(NotAReduceAxis: the stage is no reduction
  at: stage H)"},
      {R"(rfactor C m 4)", R"(NotAReduceAxis: 'm' is no reduce axis
  at: stage C)"},
      {R"(rfactor G k 4)", R"(NotAssociative: reducer 'folded' is not associative
  at: stage G)"},
      {R"(rfactor F a 2)",
       R"(NotCommutative: blocks of one of several reduce axes reorder the terms; 'first' is not commutative
  at: stage F)"},
      {R"(unroll C m
rfactor C k 4)",
       R"(AlreadyScheduled: rfactor needs untouched loops
  at: stage C)"},
      {R"(rfactor C k 0)", R"(EmptyFactor: a factor must be at least 1, not 0
  at: stage C)"},
  });
}

TEST(Primitives, FuseAxes) {
  check({
      {R"(fuse_axes A i0 i1)", R"(Placeholder: the stage is an input, it is not computed
  at: stage A)"},
      {R"(fuse_axes C m z)", R"(UnknownAxis: 'z' is no axis
  at: stage C)"},
      {R"(split H m 2 peel
fuse_axes H m.0 m.1)",
       R"(UnknownAxis: 'm.0' is no axis
  at: stage H)"},
      {R"(fuse_axes C n k)", R"(MixedReduce: a reduce axis cannot be fused with a spatial one
  at: stage C)"},
      {R"(fuse_axes C n m)", R"(NotAdjacent: 'm' does not follow 'n'
  at: stage C
  hint: axes are fused in the order of the definition)"},
      {R"(unroll C n
fuse_axes C m n)",
       R"(AlreadyScheduled: fuse_axes needs untouched loops and no layout
  at: stage C
  hint: call it before the stage's other primitives)"},
      {R"(set_layout C n/1%0+0,m/1%0+0
fuse_axes C m n)",
       R"(AlreadyScheduled: fuse_axes needs untouched loops and no layout
  at: stage C
  hint: call it before the stage's other primitives)"},
  });
  Schedule named(
      ir::parse_compute("placeholder A[i: 4]: f32\nstage C[a: 2, b: 2, a_b: 4]: f32\n  body A[a_b]\noutput C\n"));
  try {
    named.fuse_axes("C", "a", "b");
    FAIL() << "accepted";
  } catch (const ScheduleError& error) {
    EXPECT_STREQ(error.what(), "DuplicateAxis: there is already an axis 'a_b'\n  at: stage C");
  }
}

// A stage that others are computed in keeps its loops.
TEST(Primitives, RewritingAStageThatOthersAreComputedIn) {
  for (const char* primitive : {"cache_write C", "rfactor C k 4", "fuse_axes C m n"}) {
    const std::string text = refusal(std::string("cache_read A C\ncompute_at A_cache C k\n") + primitive);
    EXPECT_EQ(text.substr(0, 16), "AlreadyScheduled") << primitive << ": " << text;
  }
}

TEST(Primitives, SetLayout) {
  check({
      {R"(set_layout E m/1%0+0,n/1%0+0)", R"(OutputStage: an output keeps the caller's layout
  at: stage E)"},
      {R"(set_layout A i0/1%0+0,i1/1%0+0)", R"(Placeholder: the stage is an input, it is not computed
  at: stage A)"},
      {R"(set_layout C m/1%0+0)", R"(NotABijection: axis 'n' has no outermost part
  at: stage C)"},
      {R"(set_layout C m/4%0+0,n/1%0+0)", R"(NotABijection: axis 'm' is not covered exactly once
  at: stage C
  hint: divisors chain: [a/1%16] then [a/16])"},
      {R"(set_layout C m/4%0+0,m/1%8+0,n/1%0+0)", R"(NotABijection: axis 'm' is not covered exactly once
  at: stage C
  hint: divisors chain: [a/1%16] then [a/16])"},
      {R"(set_layout C m/1%0+0,n/1%4+0)", R"(NotABijection: axis 'n' has no outermost part
  at: stage C)"},
  });
}

TEST(Primitives, SetScope) {
  check({
      {R"(set_scope E register)", R"(OutputStage: an output lives in memory
  at: stage E
  hint: use cache_write)"},
      {R"(set_scope A register)", R"(Placeholder: the stage is an input, it is not computed
  at: stage A)"},
  });
}

TEST(Primitives, Prepared) {
  check({
      {R"(prepared E)", R"(OutputStage: an output cannot be prepared
  at: stage E)"},
      {R"(prepared W)", R"(Placeholder: the stage is an input, it is not computed
  at: stage W)"},
      {R"(prepared H)", R"(NotConstant: it reads 'C', which is neither constant nor prepared
  at: stage H)"},
      {R"(prepared C)", R"(NotConstant: it reads 'A', which is neither constant nor prepared
  at: stage C)"},
      {R"(compute_at P E m
prepared P)",
       R"(NotAtRoot: a prepared stage is computed at root
  at: stage P)"},
  });
}

/// Refusals that the text of a trace cannot bring about.
std::string refused(const std::function<void(Schedule&)>& action) {
  Schedule schedule = replayed("");
  try {
    action(schedule);
  } catch (const ScheduleError& error) {
    EXPECT_TRUE(schedule.trace().empty());
    return error.what();
  }
  return "accepted";
}

TEST(Primitives, LoopsOfOtherStagesAndSchedules) {
  EXPECT_EQ(refused([](Schedule& s) { s.split(Loop{77, 0}, {2}); }),
            "NotALoop: the loop does not belong to this schedule");
  EXPECT_EQ(refused([](Schedule& s) { s.split(Loop{s.stage("C"), 77}, {2}); }),
            "NotALoop: the loop does not belong to this schedule");
  EXPECT_EQ(refused([](Schedule& s) { s.split(s.loop("C", "m"), {}); }),
            "EmptyFactor: a split needs at least one factor\n  at: stage C, loop m");
  EXPECT_EQ(refused([](Schedule& s) { s.fuse({}); }), "NotALoop: fuse needs at least one loop");
  EXPECT_EQ(refused([](Schedule& s) { s.fuse({s.loop("C", "m"), s.loop("H", "n")}); }),
            "NotAdjacent: the loops belong to different stages\n  at: stage H, loop n");
  EXPECT_EQ(refused([](Schedule& s) { s.reorder({s.loop("C", "m"), s.loop("H", "n")}); }),
            "NotALoop: the loops belong to different stages\n  at: stage H, loop n");
  EXPECT_EQ(refused([](Schedule& s) { s.set_layout("C", {{2, 1, 0, 0}}); }),
            "NotABijection: the layout names axis 2, the stage has 2\n  at: stage C");
}

TEST(Primitives, RenderedErrorMarksTheLoop) {
  try {
    replayed("split C m 4 peel\nvectorize C n\nsplit C n 4 peel");
    FAIL() << "accepted";
  } catch (const ScheduleError& error) {
    EXPECT_EQ(error.rule(), "AnnotatedLoop");
    EXPECT_EQ(error.render(), R"(C
  for m.0
    for m.1
      for n  vectorized
      ^^^^^^^^^^^^^^^^^
        reduce k
          reduce j
  split m by 4 (peel)
AnnotatedLoop: 'n' is already vectorized
  at: stage C, loop n
  hint: apply splits, fuses and orders before annotations)");
  }
}

std::string trace_refusal(const std::string& text) {
  try {
    replayed(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    return error.what();
  }
  return "accepted";
}

TEST(TraceText, Refusals) {
  EXPECT_EQ(trace_refusal("# fine\n\nspilt C m 4 peel"), "unknown primitive 'spilt'\n  at: trace, line 3");
  EXPECT_EQ(trace_refusal("split C m 4"),
            "'split' takes 4 words (STAGE LOOP F1xF2x… peel|mask|balance|round_up|shift_inwards), not 3\n  at: trace");
  EXPECT_EQ(trace_refusal("split C m 4y peel"), "'4y' is not a number\n  at: trace");
  EXPECT_EQ(trace_refusal("split C m 99999999999999999999 peel"),
            "'99999999999999999999' is not a number\n  at: trace");
  EXPECT_EQ(trace_refusal("split C m 4 cut"), "unknown word 'cut'\n  at: trace");
  EXPECT_EQ(trace_refusal("set_layout C m/1"), "'m/1' is not a layout dimension axis/divisor%modulus+pad\n  at: trace");
  EXPECT_EQ(trace_refusal("set_layout C z/1%0+0"), "stage 'C' has no axis 'z'\n  at: trace");
  EXPECT_EQ(trace_refusal("set_scope C shared"), "unknown word 'shared'\n  at: trace");
}

TEST(TraceText, EveryPrimitiveIsRefusedWithTooFewWords) {
  for (const Primitive& primitive : primitives()) {
    const std::string text = trace_refusal(std::string(primitive.name));
    EXPECT_NE(text.find("'" + std::string(primitive.name) + "' takes "), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace temper::schedule
