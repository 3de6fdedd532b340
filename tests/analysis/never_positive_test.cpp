// Which expressions are seen never to be positive.
#include "temper/analysis/never_positive.h"

#include <gtest/gtest.h>

#include <functional>

namespace temper::analysis {
namespace {

using ir::Axis;
using ir::Expr;
using ir::Tensor;

/// The expression of an element of `stage`.
const Expr& body(const Tensor& stage) { return stage.stage()->body[0]; }

Tensor largest_of(const Tensor& in, std::int64_t columns, const std::string& name = "largest") {
  return ir::define(name, {3}, [&](Axis i) {
    const Axis j = ir::reduce("j", columns);
    return ir::max_over(in(i, j), {j});
  });
}

TEST(NeverPositive, DistancesFromAMaximumOverTheSameElements) {
  const Tensor in = ir::placeholder("in", {3, 8});
  const Tensor largest = largest_of(in, 8);
  const Tensor shifted =
      ir::define("shifted", {3, 8}, [&](Axis i, Axis j) { return ir::Definition(in(i, j) - largest(i)); });
  EXPECT_TRUE(never_positive(body(shifted)));
  EXPECT_TRUE(never_positive(shifted(Expr(1), Expr(2))));
  EXPECT_FALSE(never_positive(in(Expr(1), Expr(2))));
}

TEST(NeverPositive, AMaximumMayBeAChoice) {
  const Tensor in = ir::placeholder("in", {3, 8});
  const Expr running = ir::param(0, ir::DType::F32), term = ir::param(1, ir::DType::F32);
  const auto shifted = [&](const Expr& combine) {
    ir::Reducer reducer = ir::max_reducer(ir::DType::F32);
    reducer.combine = {combine};
    const Tensor chosen = ir::define("chosen", {3}, [&](Axis i) {
      const Axis j = ir::reduce("j", 8);
      return ir::reduction(reducer, {in(i, j)}, {j});
    });
    return ir::define("shifted", {3, 8}, [&](Axis i, Axis j) { return ir::Definition(in(i, j) - chosen(i)); });
  };
  EXPECT_TRUE(never_positive(body(shifted(ir::select(term > running, term, running)))));
  EXPECT_TRUE(never_positive(body(shifted(ir::select(running > term, running, term)))));
  EXPECT_FALSE(never_positive(body(shifted(ir::select(term > running, running, term))))) << "a minimum";
  EXPECT_FALSE(never_positive(body(shifted(ir::select(term > term, term, running)))));
  EXPECT_FALSE(never_positive(body(shifted(ir::select(term < running, term, running)))));
}

TEST(NeverPositive, TermsMayBeFormulas) {
  const Tensor in = ir::placeholder("in", {3, 8});
  const auto term = [&](const Expr& i, const Expr& j, float factor) { return ir::tanh(in(i, j) * Expr(factor)); };
  const Tensor largest = ir::define("largest", {3}, [&](Axis i) {
    const Axis j = ir::reduce("j", 8);
    return ir::max_over(term(i, j, 2), {j});
  });
  const auto shifted = [&](float factor) {
    return ir::define("shifted", {3, 8},
                      [&](Axis i, Axis j) { return ir::Definition(term(i, j, factor) - largest(i)); });
  };
  EXPECT_TRUE(never_positive(body(shifted(2))));
  EXPECT_FALSE(never_positive(body(shifted(3))));
}

TEST(NeverPositive, CopiesAreSeenThrough) {
  const Tensor in = ir::placeholder("in", {3, 8});
  const auto copy = [](const Tensor& of, const std::string& name) {
    return ir::define(name, {3, 8}, [&](Axis i, Axis j) { return ir::Definition(of(i, j)); });
  };
  const Tensor largest = largest_of(copy(in, "one"), 8), other = copy(copy(in, "two"), "three");
  const Tensor kept = ir::define("kept", {3}, [&](Axis i) { return ir::Definition(largest(i)); });
  const Tensor shifted =
      ir::define("shifted", {3, 8}, [&](Axis i, Axis j) { return ir::Definition(other(i, j) - kept(i)); });
  EXPECT_TRUE(never_positive(body(shifted)));
}

TEST(NeverPositive, OtherElementsMayBeLarger) {
  const Tensor in = ir::placeholder("in", {3, 8}), second = ir::placeholder("second", {3, 8});
  const Tensor largest = largest_of(in, 8), of_some = largest_of(in, 7, "of_some");
  const Tensor smallest = ir::define("smallest", {3}, [&](Axis i) {
    const Axis j = ir::reduce("j", 8);
    return ir::min_over(in(i, j), {j});
  });
  const Tensor conditioned = ir::define("conditioned", {3}, [&](Axis i) {
    const Axis j = ir::reduce("j", 8);
    return ir::max_over(in(i, j), {j}).where(Expr(j) < 5);
  });
  const auto expect_unknown = [](const char* what, const std::function<Expr(Axis, Axis)>& value) {
    const Tensor stage = ir::define("stage", {3, 8}, [&](Axis i, Axis j) { return ir::Definition(value(i, j)); });
    EXPECT_FALSE(never_positive(body(stage))) << what;
  };
  expect_unknown("another tensor", [&](Axis i, Axis j) { return second(i, j) - largest(i); });
  expect_unknown("another row", [&](Axis i, Axis j) { return in(ir::mod(i + 1, 3), j) - largest(i); });
  expect_unknown("not all columns", [&](Axis i, Axis j) { return in(i, j) - of_some(i); });
  expect_unknown("not all terms", [&](Axis i, Axis j) { return in(i, j) - conditioned(i); });
  expect_unknown("a minimum", [&](Axis i, Axis j) { return in(i, j) - smallest(i); });
  expect_unknown("the other way round", [&](Axis i, Axis j) { return largest(i) - in(i, j); });
  expect_unknown("a sum", [&](Axis i, Axis j) { return in(i, j) + largest(i); });
}

TEST(NeverPositive, OneReduceAxisIsOneIndex) {
  const Tensor in = ir::placeholder("in", {8, 8});
  const Tensor largest = ir::define("largest", {}, [&] {
    const Axis j = ir::reduce("j", 8);
    return ir::max_over(in(j, j), {j});
  });
  const Tensor diagonal = ir::define("diagonal", {8}, [&](Axis i) { return ir::Definition(in(i, i) - largest()); });
  const Tensor all = ir::define("all", {8, 8}, [&](Axis i, Axis j) { return ir::Definition(in(i, j) - largest()); });
  EXPECT_TRUE(never_positive(body(diagonal)));
  EXPECT_FALSE(never_positive(body(all)));
}

TEST(NeverPositive, NumbersAndFormulas) {
  const Tensor in = ir::placeholder("in", {1});
  const Expr x = in(Expr(0));
  EXPECT_TRUE(never_positive(Expr(0.0F)));
  EXPECT_TRUE(never_positive(Expr(-2.0F)));
  EXPECT_FALSE(never_positive(Expr(2.0F)));
  EXPECT_TRUE(never_positive(-ir::abs(x)));
  EXPECT_FALSE(never_positive(ir::abs(x)));
  EXPECT_FALSE(never_positive(-x));
  EXPECT_TRUE(never_positive(ir::min(x, Expr(0.0F))));
  EXPECT_FALSE(never_positive(ir::max(x, Expr(0.0F))));
}

}  // namespace
}  // namespace temper::analysis
