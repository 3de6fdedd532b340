// The oracle against loops written by hand, and the algebra that reducers declare.
#include "temper/ir/oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "ir/random_compute.h"
#include "temper/support/error.h"

namespace temper::ir {
namespace {

using ::testing::HasSubstr;

template <class T>
std::span<const std::byte> as_bytes(const std::vector<T>& values) {
  return std::as_bytes(std::span<const T>(values));
}

std::vector<float> numbers(std::size_t count, std::uint64_t seed) {
  RandomStream random(seed);
  std::vector<float> values(count);
  for (float& v : values) v = static_cast<float>(random.uniform_real(-1, 1));
  return values;
}

TEST(Oracle, MatmulWithMagnitude) {
  const std::int64_t m = 3, n = 4, k = 5;
  const Tensor a = placeholder("A", {m, k}), b = placeholder("B", {k, n});
  const Axis kk = reduce("k", k);
  const Compute compute =
      make_compute({define("C", {m, n}, [&](Axis i, Axis j) { return sum(a(i, kk) * b(kk, j), {kk}); })});
  const auto va = numbers(15, 1), vb = numbers(20, 2);
  Oracle oracle(compute, {{"A", as_bytes(va)}, {"B", as_bytes(vb)}});
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      double value = 0, magnitude = 0;
      for (std::size_t x = 0; x < 5; ++x) {
        const double term = static_cast<double>(va[i * 5 + x]) * static_cast<double>(vb[x * 4 + j]);
        value += term;
        magnitude += std::abs(term);
      }
      const std::int64_t index[] = {static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)};
      const Evaluated got = oracle.at(*compute.outputs[0], index);
      EXPECT_DOUBLE_EQ(got.value, value);
      EXPECT_DOUBLE_EQ(got.magnitude, magnitude);
    }
  }
}

TEST(Oracle, ReadsPastTheGaps) {
  const Tensor a = placeholder("A", {2, 3});
  const Compute compute =
      with_strides(make_compute({define("out", {3, 2}, [&](Axis i, Axis j) { return Definition(a(j, i) * 2.0F); })}),
                   {{"A", {7, 2}}, {"out", {5, 1}}});
  std::vector<float> memory(12, -1);
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 3; ++j) memory[i * 7 + j * 2] = static_cast<float>(3 * i + j);
  }
  Oracle oracle(compute, {{"A", as_bytes(memory)}});
  EXPECT_THAT(oracle.all(*compute.outputs[0]), ::testing::ElementsAre(0, 6, 2, 8, 4, 10));
  EXPECT_THROW(Oracle(compute, {{"A", as_bytes(numbers(6, 1))}}), Error) << "as many bytes as without gaps";
}

TEST(Oracle, TermsOutsideThePredicateDoNotExist) {
  // An infinite weight at the border would turn a select-with-zero padding into NaN.
  const Tensor in = placeholder("in", {4}), w = placeholder("w", {3});
  const Axis k = reduce("k", 3);
  const Compute compute = make_compute({define("out", {4}, [&](Axis x) {
    const Expr ix = x + k - 1;
    return sum(in(ix)*w(k), {k}).where(in_range(ix, 4));
  })});
  const std::vector<float> vin{1, 2, 3, 4}, vw{std::numeric_limits<float>::infinity(), 1, 0};
  Oracle oracle(compute, {{"in", as_bytes(vin)}, {"w", as_bytes(vw)}});
  const auto all = oracle.all(*compute.outputs[0]);
  EXPECT_EQ(all[0], 1.0);
  EXPECT_EQ(all[1], std::numeric_limits<double>::infinity());
}

TEST(Oracle, InitEntersOnceAndEmptyDomainGivesIdentity) {
  const Tensor in = placeholder("in", {4});
  const Axis k = reduce("k", 4);
  const auto value = [&](bool with_init, bool empty) {
    Definition d = max_over(in(k), {k});
    if (empty) d = std::move(d).where(k < 0);
    if (with_init) d = std::move(d).init(literal(7, DType::F32));
    const Compute compute = make_compute({ir::compute("out", {}, [&](std::span<const Axis>) { return d; })});
    const std::vector<float> v{1, 5, 3, 2};
    return Oracle(compute, {{"in", as_bytes(v)}}).all(*compute.outputs[0])[0];
  };
  EXPECT_EQ(value(false, false), 5);
  EXPECT_EQ(value(true, false), 7);
  EXPECT_EQ(value(true, true), 7);
  EXPECT_EQ(value(false, true), -std::numeric_limits<double>::infinity());
}

TEST(Oracle, ArgmaxTakesTheSmallestIndexOfTies) {
  const Tensor in = placeholder("in", {5});
  const Axis k = reduce("k", 5);
  const Tensor arg = compute("arg", {}, [&](std::span<const Axis>) {
    return reduction(argmax_reducer(DType::F32, DType::I64), {in(k), k}, {k});
  });
  const Compute c = make_compute({arg});
  const std::vector<float> v{1, 9, 3, 9, 2};
  Oracle oracle(c, {{"in", as_bytes(v)}});
  EXPECT_EQ(oracle.all(*c.outputs[0], 0)[0], 9);
  EXPECT_EQ(oracle.all(*c.outputs[0], 1)[0], 1);
}

TEST(Oracle, IntegersAreExactAndWrap) {
  const Tensor big = placeholder("big", {1}, DType::I64), small = placeholder("small", {1}, DType::I8);
  const Compute exact =
      make_compute({define("out", {1}, [&](Axis x) { return Definition(cast(mod(big(x) + 1, 1000), DType::F32)); })});
  const std::vector<std::int64_t> v{9007199254740993};  // not representable in f64
  Oracle oracle(exact, {{"big", as_bytes(v)}});
  EXPECT_EQ(oracle.all(*exact.outputs[0])[0], 994);
  const Compute wraps = make_compute({define("out", {1}, [&](Axis x) { return Definition(small(x) + small(x)); })});
  const std::vector<std::int8_t> s{100};
  Oracle wrapping(wraps, {{"small", as_bytes(s)}});
  EXPECT_EQ(wrapping.all(*wraps.outputs[0])[0], -56);
}

TEST(Oracle, IntegerDivisions) {
  const Tensor in = placeholder("in", {4}, DType::I32);
  const auto of = [&](BinaryOp op) {
    const Compute c = make_compute({define("out", {4}, [&](Axis x) { return Definition(binary(op, in(x), 3)); })});
    const std::vector<std::int32_t> v{7, -7, 6, -6};
    return Oracle(c, {{"in", as_bytes(v)}}).all(*c.outputs[0]);
  };
  EXPECT_THAT(of(BinaryOp::Div), ::testing::ElementsAre(2, -2, 2, -2));
  EXPECT_THAT(of(BinaryOp::FloorDiv), ::testing::ElementsAre(2, -3, 2, -2));
  EXPECT_THAT(of(BinaryOp::Mod), ::testing::ElementsAre(1, 2, 0, 0));
}

TEST(Oracle, UnaryFunctions) {
  const Tensor in = placeholder("in", {1});
  const auto of = [&](UnaryOp op, float x) {
    const Compute c = make_compute({define("out", {1}, [&](Axis i) { return Definition(unary(op, in(i))); })});
    const std::vector<float> v{x};
    return Oracle(c, {{"in", as_bytes(v)}}).all(*c.outputs[0])[0];
  };
  EXPECT_DOUBLE_EQ(of(UnaryOp::Exp, 2), 7.38905609893065);
  EXPECT_DOUBLE_EQ(of(UnaryOp::Log, 2), 0.6931471805599453);
  EXPECT_DOUBLE_EQ(of(UnaryOp::Erf, 0.5), 0.5204998778130465);
  EXPECT_DOUBLE_EQ(of(UnaryOp::Sigmoid, 1), 0.7310585786300049);
  EXPECT_DOUBLE_EQ(of(UnaryOp::Tanh, 0.5), 0.46211715726000973);
  EXPECT_DOUBLE_EQ(of(UnaryOp::Rsqrt, 4), 0.5);
  EXPECT_EQ(of(UnaryOp::Round, 2.5), 2);
  EXPECT_EQ(of(UnaryOp::Round, 3.5), 4);
  EXPECT_EQ(of(UnaryOp::Sign, -3), -1);
  EXPECT_EQ(of(UnaryOp::Ceil, 1.25), 2);
  EXPECT_EQ(of(UnaryOp::Floor, -1.25), -2);
  EXPECT_EQ(of(UnaryOp::Abs, -1.25), 1.25);
}

TEST(Oracle, NanPropagatesThroughMax) {
  const Tensor in = placeholder("in", {3});
  const Axis k = reduce("k", 3);
  const Compute c = make_compute({compute("out", {}, [&](std::span<const Axis>) { return max_over(in(k), {k}); })});
  const std::vector<float> v{1, std::numeric_limits<float>::quiet_NaN(), 3};
  EXPECT_TRUE(std::isnan(Oracle(c, {{"in", as_bytes(v)}}).all(*c.outputs[0])[0]));
}

TEST(Oracle, StagesAreMemoised) {
  // 40 stages that each read the one before twice: without a memo this takes 2^40 evaluations.
  Tensor t = placeholder("in", {2});
  for (int i = 0; i < 40; ++i) {
    t = define("s" + std::to_string(i), {2}, [&](Axis x) { return Definition((t(x) + t(1 - x)) * 0.5F); });
  }
  const Compute c = make_compute({t});
  const std::vector<float> v{1, 3};
  EXPECT_DOUBLE_EQ(Oracle(c, {{"in", as_bytes(v)}}).all(*c.outputs[0])[0], 2);
}

TEST(Oracle, ErrorsNameTheCulprit) {
  const Tensor in = placeholder("in", {2}), index = placeholder("index", {2}, DType::I64);
  const Compute c = make_compute({define("out", {2}, [&](Axis x) { return Definition(in(index(x))); })});
  const std::vector<float> v{1, 3};
  const std::vector<std::int64_t> i{0, 2};
  const auto message = [](auto&& run) -> std::string {
    try {
      run();
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(message([&] { Oracle(c, {{"in", as_bytes(v)}}); }),
              HasSubstr("no data was given for the input\n  at: input 'index'"));
  EXPECT_THAT(message([&] { Oracle(c, {{"in", as_bytes(i)}, {"index", as_bytes(i)}}); }),
              HasSubstr("the data has 16 bytes; the shape needs 8\n  at: input 'in'"));
  Oracle oracle(c, {{"in", as_bytes(v)}, {"index", as_bytes(i)}});
  EXPECT_THAT(message([&] { oracle.all(*c.outputs[0]); }),
              HasSubstr("reads 'in' at index 2 of axis 0, which has 2 elements\n  at: stage 'out'"));
}

TEST(Oracle, RandomComputesEvaluateAndMatchTheirText) {
  EXPECT_TRUE(rc::check("a parsed compute means the same", [] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const Compute original = testing::ComputeGenerator(seed).generate();
    const Compute parsed = parse_compute(print(original));
    std::vector<std::vector<float>> storage;
    Inputs inputs;
    for (const StagePtr& stage : original.stages) {
      if (stage->kind != StageKind::Placeholder) continue;
      std::size_t count = 1;
      for (std::int64_t extent : stage->shape()) count *= static_cast<std::size_t>(extent);
      storage.push_back(numbers(count, seed + storage.size()));
    }
    std::size_t next = 0;
    for (const StagePtr& stage : original.stages) {
      if (stage->kind == StageKind::Placeholder) inputs.emplace(stage->name, as_bytes(storage[next++]));
    }
    const auto a = Oracle(original, inputs).all(*original.outputs[0]);
    const auto b = Oracle(parsed, inputs).all(*parsed.outputs[0]);
    RC_ASSERT(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) RC_ASSERT((std::isnan(a[i]) && std::isnan(b[i])) || a[i] == b[i]);
  }));
}

// ---- the declared algebra of every reducer, checked on small integers so that sums and products are exact

/// One application of the combine function.
std::vector<double> combine(const Reducer& reducer, const std::vector<DType>& dtypes,
                            const std::vector<double>& old_values, const std::vector<double>& new_values) {
  // old ⊕ new: a reduction of one term with `old` as init.
  std::vector<Expr> terms;
  const Axis k = reduce("k", 1);
  Definition d;
  for (std::size_t i = 0; i < dtypes.size(); ++i) terms.push_back(literal(new_values[i], dtypes[i]));
  d = reduction(reducer, terms, {k});
  for (std::size_t i = 0; i < dtypes.size(); ++i) d = std::move(d).init(literal(old_values[i], dtypes[i]));
  const Compute c = make_compute({compute("out", {}, [&](std::span<const Axis>) { return d; })});
  verify(c);
  Oracle oracle(c, {});
  std::vector<double> result;
  for (std::size_t i = 0; i < dtypes.size(); ++i) result.push_back(oracle.all(*c.outputs[0], static_cast<int>(i))[0]);
  return result;
}

struct ReducerCase {
  const char* name;
  Reducer reducer;
  std::vector<DType> dtypes;
};
std::vector<ReducerCase> shipped() {
  const DType f = DType::F32, i = DType::I64;
  return {{"sum", sum_reducer(f), {f}},
          {"product", product_reducer(f), {f}},
          {"max", max_reducer(f), {f}},
          {"min", min_reducer(f), {f}},
          {"sum_i32", sum_reducer(DType::I32), {DType::I32}},
          {"max_i8", max_reducer(DType::I8), {DType::I8}},
          {"tuple_sum", tuple_sum_reducer(f, 3), {f, f, f}},
          {"argmax", argmax_reducer(f, i), {f, i}},
          {"argmin", argmin_reducer(f, i), {f, i}}};
}

TEST(Reducers, HoldTheAlgebraTheyDeclare) {
  for (const ReducerCase& entry : shipped()) {
    EXPECT_TRUE(rc::check(std::string("algebra of ") + entry.name, [&] {
      const auto element = rc::gen::container<std::vector<double>>(
          entry.dtypes.size(), rc::gen::map(rc::gen::inRange(-4, 5), [](int v) { return static_cast<double>(v); }));
      const auto a = *element, b = *element, c = *element;
      const auto op = [&](const std::vector<double>& x, const std::vector<double>& y) {
        return combine(entry.reducer, entry.dtypes, x, y);
      };
      std::vector<double> identity;
      for (const Expr& e : entry.reducer.identity) {
        identity.push_back(e->kind == ExprKind::Float ? e->float_value : static_cast<double>(e->int_value));
      }
      // An i64 identity of 2^63-1 is not a double; any index that loses every tie serves as well.
      for (double& v : identity) v = v > 1e18 && std::isfinite(v) ? 1e15 : v;
      RC_ASSERT(op(identity, a) == a);
      RC_ASSERT(op(a, identity) == a);
      if (entry.reducer.associative) RC_ASSERT(op(op(a, b), c) == op(a, op(b, c)));
      if (entry.reducer.commutative) RC_ASSERT(op(a, b) == op(b, a));
      if (entry.reducer.idempotent) RC_ASSERT(op(a, a) == a);
    }));
  }
}

TEST(Reducers, IdempotenceIsDeclaredExactlyWhereItHolds) {
  for (const ReducerCase& entry : shipped()) {
    const std::vector<double> three(entry.dtypes.size(), 3);
    EXPECT_EQ(combine(entry.reducer, entry.dtypes, three, three) == three, entry.reducer.idempotent) << entry.name;
  }
}

}  // namespace
}  // namespace temper::ir
