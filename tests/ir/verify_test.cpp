// What the verifier accepts, and the text of every refusal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "temper/ir/compute.h"
#include "temper/ir/visit.h"
#include "temper/support/error.h"

namespace temper::ir {
namespace {

using ::testing::HasSubstr;

Compute matmul(std::int64_t m, std::int64_t n, std::int64_t k) {
  const Tensor a = placeholder("A", {m, k}), b = constant("B", {k, n});
  const Axis kk = reduce("k", k);
  const Tensor c = define("C", {m, n}, [&](Axis i, Axis j) { return sum(a(i, kk) * b(kk, j), {kk}); }, {"i", "j"});
  return make_compute({c});
}

std::string refusal(const Compute& compute) {
  try {
    verify(compute);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    return error.what();
  }
  return "accepted";
}

TEST(Verify, AcceptsMatmul) {
  const Compute c = matmul(4, 5, 6);
  ASSERT_EQ(c.stages.size(), 3U);
  EXPECT_EQ(c.stages[0]->name, "A");
  EXPECT_EQ(c.stages[1]->name, "B");
  EXPECT_TRUE(c.stages[1]->constant);
  EXPECT_EQ(refusal(c), "accepted");
}

/// A one-dimensional convolution: the read is in range only because of the predicate.
Compute padded(bool predicate, std::int64_t pad = 1) {
  const Tensor a = placeholder("A", {8});
  const Axis k = reduce("k", 3);
  const Tensor out = define("out", {8}, [&](Axis x) {
    const Expr ix = x + k - pad;
    Definition d = sum(a(ix), {k});
    return predicate ? std::move(d).where(in_range(ix, 8)) : std::move(d);
  });
  return make_compute({out});
}

TEST(Verify, StridesAreNestedAndOfWhatTheCallerGives) {
  const Compute c = matmul(4, 5, 6);
  const auto refusal_of = [&](const std::string& stage, const std::vector<std::int64_t>& strides) -> std::string {
    try {
      with_strides(c, {{stage, strides}});
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal_of("A", {6, 1}), "accepted");
  EXPECT_EQ(refusal_of("A", {11, 2}), "accepted") << "rows end with their last element";
  EXPECT_EQ(refusal_of("C", {40, 1}), "accepted");
  EXPECT_THAT(refusal_of("A", {10, 2}), HasSubstr("a stride of 10 along axis 'i0' does not clear"));
  EXPECT_THAT(refusal_of("A", {1, 6}), HasSubstr("does not clear"));
  EXPECT_THAT(refusal_of("A", {6, 0}), HasSubstr("does not clear"));
  EXPECT_THAT(refusal_of("C", {5}), HasSubstr("1 strides for 2 axes"));
  EXPECT_THAT(refusal_of("D", {5, 1}), HasSubstr("no stage 'D'"));
  const Tensor a = placeholder("A", {3, 4});
  const Tensor inner = define("inner", {3, 4}, [&](Axis i, Axis j) { return Definition(a(i, j) + 1.0F); });
  const Compute two = make_compute({define("out", {3, 4}, [&](Axis i, Axis j) { return Definition(inner(i, j)); })});
  EXPECT_THROW(with_strides(two, {{"inner", {8, 1}}}), Error);
  EXPECT_EQ(with_strides(two, {{"out", {8, 1}}}).outputs[0]->memory_elements(), 20);
}

TEST(Verify, AcceptsReadProtectedByPredicate) { EXPECT_EQ(refusal(padded(true)), "accepted"); }
TEST(Verify, RefusesReadOutsideTheDomain) {
  EXPECT_EQ(refusal(padded(false)),
            "reads 'A' outside its domain: index 0 is i0 + k - 1\n  at: stage 'out'\n"
            "  hint: restrict the reduction with where(in_range(...)) or mend the index");
}

TEST(Verify, AcceptsReadsUnderSelectAndRefusesTheOtherBranch) {
  const Tensor a = placeholder("A", {4}), b = placeholder("B", {3});
  const auto concat = [&](std::int64_t border) {
    return make_compute({define("out", {7}, [&](Axis x) { return Definition(select(x < border, a(x), b(x - 4))); })});
  };
  EXPECT_EQ(refusal(concat(4)), "accepted");
  EXPECT_THAT(refusal(concat(5)), HasSubstr("reads 'A' outside its domain"));
  EXPECT_THAT(refusal(concat(3)), HasSubstr("reads 'B' outside its domain"));
}

TEST(Verify, AcceptsTransposedConvolutionParity) {
  const Tensor a = placeholder("A", {5});
  const Axis r = reduce("r", 4);
  const Tensor out = define("out", {10}, [&](Axis y) {
    const Expr t = y + 1 - r;
    return sum(a(floor_div(t, 2)), {r}).where(mod(t, 2) == 0).where(in_range(floor_div(t, 2), 5));
  });
  EXPECT_EQ(refusal(make_compute({out})), "accepted");
}

TEST(Verify, AcceptsClampedAndRefusesUnclampedIndex) {
  const Tensor a = placeholder("A", {4});
  const auto shifted = [&](bool clamp) {
    return make_compute(
        {define("out", {6}, [&](Axis x) { return Definition(a(clamp ? min(max(x - 1, 0), 3) : x - 1)); })});
  };
  EXPECT_EQ(refusal(shifted(true)), "accepted");
  EXPECT_THAT(refusal(shifted(false)), HasSubstr("index 0 is i0 - 1"));
}

TEST(Verify, AConditionOnADividendBoundsTheQuotient) {
  const Tensor a = placeholder("A", {5});
  const Axis r = reduce("r", 2);
  const auto halves = [&](std::int64_t last, std::int64_t first) {
    const Tensor out = define("out", {12}, [&](Axis y) {
      const Expr from = y + 1 - r * 2;
      return sum(a(floor_div(y + 1, 2) - r), {r}).where(from >= Expr(first)).where(from < Expr(last));
    });
    return make_compute({out});
  };
  EXPECT_EQ(refusal(halves(10, 0)), "accepted");
  EXPECT_THAT(refusal(halves(11, 0)), HasSubstr("reads 'A' outside its domain"));
  EXPECT_THAT(refusal(halves(10, -1)), HasSubstr("reads 'A' outside its domain"));
}

TEST(Verify, ParametersBoundSymbolicExtents) {
  Extent n;
  n.terms = {{"n", 1}};
  const Tensor a = placeholder("A", {n});
  const Tensor out = define("out", {n}, [&](Axis x) { return Definition(a(x)); });
  EXPECT_EQ(refusal(make_compute({out}, {{"n", 1, 64, 1}})), "accepted");
  EXPECT_THAT(refusal(make_compute({out})), HasSubstr("unknown parameter 'n'"));
  const Tensor beyond = define("out", {n}, [&](Axis x) { return Definition(a(x + 1)); });
  EXPECT_THAT(refusal(make_compute({beyond}, {{"n", 1, 64, 1}})), HasSubstr("outside its domain"));
}

TEST(Verify, RefusesAxisThatIsNotListed) {
  const Tensor a = placeholder("A", {4, 4});
  const Axis k = reduce("k", 4);
  const Tensor out = define("out", {4}, [&](Axis x) { return Definition(a(x, k)); });
  EXPECT_THAT(refusal(make_compute({out})),
              HasSubstr("axis 'k' is used but belongs to neither the shape nor the reduction"));
}

TEST(Verify, RefusesNonAffineCondition) {
  const Tensor a = placeholder("A", {4});
  const Axis k = reduce("k", 4);
  const Tensor out = define("out", {4}, [&](Axis x) { return sum(a(k), {k}).where(x * k < 3); });
  EXPECT_THAT(refusal(make_compute({out})), HasSubstr("a 'where' condition is not affine: i0 * k < 3"));
}

TEST(Verify, RefusesReduceAxisInInit) {
  const Tensor a = placeholder("A", {4});
  const Axis k = reduce("k", 4);
  const Tensor out = define("out", {4}, [&](Axis) { return sum(a(k), {k}).init(a(k)); });
  EXPECT_THAT(refusal(make_compute({out})), HasSubstr("the init value uses the reduce axis 'k'"));
}

TEST(Verify, RefusesDoubledNames) {
  const Tensor a = placeholder("A", {4});
  const Tensor out = define("A", {4}, [&](Axis x) { return Definition(a(x)); });
  EXPECT_THROW(make_compute({out}), Error);
  const Axis clash = reduce("i0", 4);
  const Tensor twice = define("out", {4}, [&](Axis) { return sum(a(clash), {clash}); });
  EXPECT_THAT(refusal(make_compute({twice})), HasSubstr("two axes are named 'i0'"));
}

TEST(Verify, RefusesStageOutOfOrder) {
  Compute c = matmul(2, 2, 2);
  std::swap(c.stages[0], c.stages[2]);
  EXPECT_THAT(refusal(c), HasSubstr("reads 'A', which is not an earlier stage"));
}

TEST(Verify, RefusesReducerOfAnotherType) {
  const Tensor a = placeholder("A", {4});
  const Axis k = reduce("k", 4);
  const Tensor wrong =
      compute("out", {1}, [&](std::span<const Axis>) { return reduction(sum_reducer(DType::I32), {a(k)}, {k}); });
  EXPECT_THAT(refusal(make_compute({wrong})), HasSubstr("component 0 of reducer 'sum' is not f32 as the body is"));
}

TEST(Verify, RefusesBadNames) {
  const Tensor a = placeholder("9x", {4});
  const Tensor out = define("out", {4}, [&](Axis x) { return Definition(a(x)); });
  EXPECT_THAT(refusal(make_compute({out})), HasSubstr("'9x' is not a usable name"));
  const Tensor b = placeholder("B", {4});
  const Tensor reserved = define("out", {4}, [&](Axis x) { return Definition(b(x)); }, {"nan"});
  EXPECT_THAT(refusal(make_compute({reserved})), HasSubstr("'nan' is not a usable axis name"));
}

}  // namespace
}  // namespace temper::ir
