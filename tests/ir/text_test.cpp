// The text form: what it looks like, that it round-trips, and the text of parse errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

#include "ir/random_compute.h"
#include "temper/ir/compute.h"
#include "temper/support/error.h"

namespace temper::ir {
namespace {

using ::testing::HasSubstr;

Compute padded_convolution() {
  const Tensor in = placeholder("in", {8}), w = constant("w", {3});
  const Axis k = reduce("k", 3);
  const Tensor conv = define("conv", {8},
                             [&](Axis x) {
                               const Expr ix = x + k - 1;
                               return sum(in(ix)*w(k), {k}).where(in_range(ix, 8)).init(literal(0.5, DType::F32));
                             },
                             {"x"});
  const Tensor out = define("out", {8}, [&](Axis x) { return Definition(max(conv(x), 0.0F)); }, {"x"});
  return make_compute({out});
}

TEST(Text, LooksLikeThis) {
  EXPECT_EQ(print(padded_convolution()),
            "placeholder in[i0: 8]: f32\n"
            "constant w[i0: 3]: f32\n"
            "stage conv[x: 8]: f32\n"
            "  reducer sum associative commutative identity 0.0 combine #0 + #1\n"
            "  over [k: 3]\n"
            "  where x + k - 1 >= 0 && x + k - 1 < 8\n"
            "  init 0.5\n"
            "  body in[x + k - 1] * w[k]\n"
            "stage out[x: 8]: f32\n"
            "  body max(conv[x], 0.0)\n"
            "output out\n");
}

/// print(parse(print(c))) is print(c), the hash is the same, and the parsed form verifies.
void expect_round_trip(const Compute& compute) {
  const std::string text = print(compute);
  const Compute parsed = parse_compute(text);
  EXPECT_EQ(print(parsed), text);
  EXPECT_EQ(structural_hash(parsed), structural_hash(compute)) << text;
  EXPECT_NO_THROW(verify(parsed)) << text;
}

TEST(Text, NamesStridesWhereThereAreSome) {
  const Compute dense = padded_convolution();
  const Compute compute = with_strides(dense, {{"in", {3}}, {"out", {2}}});
  EXPECT_THAT(print(compute), HasSubstr("placeholder in[i0: 8] strides 3: f32\n"));
  EXPECT_THAT(print(compute), HasSubstr("stage out[x: 8] strides 2: f32\n"));
  expect_round_trip(compute);
  EXPECT_NE(structural_hash(compute), structural_hash(dense));
  EXPECT_NE(structural_hash(compute), structural_hash(with_strides(dense, {{"in", {4}}, {"out", {2}}})));
}

TEST(Text, RoundTripsConvolution) { expect_round_trip(padded_convolution()); }

TEST(Text, RoundTripsUserReducerInFull) {
  // log-sum-exp as a pair (largest, scaled sum): a reducer that Temper does not ship.
  Reducer online;
  online.name = "online_softmax";
  const Expr m = param(0, DType::F32), s = param(1, DType::F32), m2 = param(2, DType::F32), s2 = param(3, DType::F32);
  online.identity = {literal(-std::numeric_limits<double>::infinity(), DType::F32), literal(0, DType::F32)};
  online.combine = {max(m, m2), s * exp(m - max(m, m2)) + s2 * exp(m2 - max(m, m2))};
  const Tensor in = placeholder("in", {4, 9});
  const Axis k = reduce("k", 9);
  const Tensor pair = define("pair", {4}, [&](Axis x) { return reduction(online, {in(x, k), 1.0F}, {k}); });
  const Tensor out = define("out", {4}, [&](Axis x) { return Definition(pair(x) + log(component(pair, 1)(x))); });
  const Compute compute = make_compute({out});
  expect_round_trip(compute);
  EXPECT_THAT(print(compute), HasSubstr("identity -inf, 0.0 combine max(#0, #2), "));
  EXPECT_THAT(print(compute), HasSubstr("pair.1[i0]"));
  const Compute read_back = parse_compute(print(compute));
  const Reducer& parsed = *read_back.stage("pair")->reducer;
  EXPECT_TRUE(parsed.associative && parsed.commutative);
  EXPECT_FALSE(parsed.idempotent);
}

TEST(Text, RoundTripsParametersAndScalars) {
  Extent n;
  n.constant = 3;
  n.terms = {{"m", -1}, {"n", 2}};
  const Tensor in = placeholder("in", {n}), scale = placeholder("scale", {});
  const Tensor out = define("out", {n}, [&](Axis x) { return Definition(in(x)*scale()); });
  const Compute compute = make_compute({out}, {{"m", 1, 2, 1}, {"n", 8, 64, 8}});
  expect_round_trip(compute);
  EXPECT_THAT(print(compute), HasSubstr("parameter n in 8 .. 64 by 8\n"));
  const Compute parsed = parse_compute(print(compute));
  EXPECT_EQ(parsed.stages[0]->axes[0].extent(), n);
}

TEST(Text, LiteralsKeepTheirBits) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> values{0.0,   -0.0,     1.0,       0.1,          -1e-45, 3.4028234663852886e38,
                                   1e30,  infinity, -infinity, std::nan(""), 1e100,  0.1 + 0.2,
                                   5e-324};
  for (double value : values) {
    for (DType dtype : {DType::F32, DType::F64}) {
      const Tensor out = compute("out", {}, [&](std::span<const Axis>) { return Definition(literal(value, dtype)); });
      const Compute compute = make_compute({out});
      const Expr read = parse_compute(print(compute)).outputs[0]->body[0];
      const double expected = out.stage()->body[0]->float_value;
      EXPECT_EQ(read.dtype(), dtype);
      EXPECT_EQ(std::isnan(read->float_value), std::isnan(expected));
      if (!std::isnan(expected)) {
        EXPECT_EQ(read->float_value, expected) << print(compute);
        EXPECT_EQ(std::signbit(read->float_value), std::signbit(expected)) << print(compute);
      }
    }
  }
}

TEST(Text, IntegerLiteralsKeepTheirType) {
  for (DType dtype : {DType::I8, DType::U8, DType::I32, DType::I64}) {
    const Tensor in = placeholder("in", {2}, dtype);
    const Tensor out = define("out", {2}, [&](Axis x) { return Definition(in(x) + 3); });
    expect_round_trip(make_compute({out}));
    EXPECT_EQ(parse_compute(print(make_compute({out}))).outputs[0]->dtypes[0], dtype);
  }
  const Tensor least = compute(
      "out", {}, [&](std::span<const Axis>) { return Definition(Expr(std::numeric_limits<std::int64_t>::min())); });
  expect_round_trip(make_compute({least}));
}

TEST(Text, ParenthesesKeepTheTree) {
  const Tensor in = placeholder("in", {64});
  const Tensor out = define("out", {2, 2}, [&](Axis i, Axis j) {
    const Expr a = in(i), b = in(j);
    return Definition(a - (b - a) * (a + b) / (b / a) - -a + (a + (b + 1.0F)) +
                      cast(mod(i - (j - 1), 3) * 2, DType::F32));
  });
  expect_round_trip(make_compute({out}));
  EXPECT_EQ(print(floor_div(out.stage()->axes[0] + 1, 2) * 3), "(i0 + 1) // 2 * 3");
}

TEST(Text, RandomComputesRoundTrip) {
  EXPECT_TRUE(rc::check("print and parse are inverse", [] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const Compute compute = testing::ComputeGenerator(seed).generate();
    verify(compute);
    const std::string text = print(compute);
    const Compute parsed = parse_compute(text);
    verify(parsed);
    RC_ASSERT(print(parsed) == text);
    RC_ASSERT(structural_hash(parsed) == structural_hash(compute));
  }));
}

std::string parse_error(std::string_view text) {
  try {
    parse_compute(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    return error.message() + " (" + error.where() + ")";
  }
  return "accepted";
}

TEST(Text, ErrorsNameThePlace) {
  EXPECT_EQ(parse_error(""), "expected 'output', found the end of the text (line 1, column 1)");
  EXPECT_EQ(parse_error("placeholder a[i0: 4]: f31\noutput a\n"), "unknown element type 'f31' (line 1, column 23)");
  EXPECT_EQ(parse_error("placeholder a[i0 4]: f32"), "expected ':', found '4' (line 1, column 18)");
  EXPECT_EQ(parse_error("placeholder a[]: f32\nstage b[]: f32\n  body c[]\noutput b"),
            "there is no stage 'c' before this (line 3, column 8)");
  EXPECT_EQ(parse_error("stage b[i: 4]: f32\n  body cast(f32, j)\noutput b"),
            "there is no axis 'j' here (line 2, column 18)");
  EXPECT_EQ(parse_error("stage b[]: f32\n  body 1.0 + 2\noutput b"),
            "the operands of '+' differ in type: f32 and i64 (line 2, column 12)");
  EXPECT_EQ(parse_error("stage b[]: f32 body sine(1.0) output b"), "there is no function 'sine' (line 1, column 21)");
  EXPECT_EQ(parse_error("stage b[]: f32 body exp(1.0, 2.0) output b"),
            "'exp' takes 1 arguments, not 2 (line 1, column 21)");
  EXPECT_EQ(parse_error("stage b[]: i64 body 9223372036854775808 output b"),
            "'9223372036854775808' is not an integer of 64 bits (line 1, column 21)");
  EXPECT_EQ(parse_error("stage b[]: f32 body 1.0 ; output b"), "unexpected character ';' (line 1, column 25)");
  EXPECT_EQ(parse_error("placeholder a[i0: 4]: f32 placeholder a[i0: 4]: f32 output a"),
            "two stages are named 'a' (line 1, column 39)");
  EXPECT_EQ(parse_error("stage b[]: f32 reducer sum identity 0.0 combine #0 + #2 over [k: 3] body 1.0 output b"),
            "#2 is not an argument of this reducer (line 1, column 54)");
  EXPECT_THAT(parse_error("stage b[]: f32 body " + std::string(5000, '(') + "1.0"), HasSubstr("nested too deeply"));
}

TEST(Text, EveryPrefixIsRefusedOrWhole) {
  const std::string text = print(padded_convolution());
  for (std::size_t length = 0; length + 2 < text.size(); ++length) {
    EXPECT_NE(parse_error(text.substr(0, length)), "accepted") << text.substr(0, length);
  }
}

TEST(StructuralHash, IgnoresNamesAndSeesEverythingElse) {
  const auto matmul = [](const char* names, std::int64_t k_extent, bool is_constant, bool product_order) {
    const std::string p = names;
    const Tensor a = placeholder(p + "a", {4, k_extent});
    const Tensor b = is_constant ? constant(p + "b", {k_extent, 5}) : placeholder(p + "b", {k_extent, 5});
    const Axis k = reduce(p + "k", k_extent);
    return make_compute(
        {define(p + "c", {4, 5},
                [&](Axis i, Axis j) { return sum(product_order ? a(i, k) * b(k, j) : b(k, j) * a(i, k), {k}); },
                {p + "i", p + "j"})});
  };
  const std::uint64_t reference = structural_hash(matmul("x", 3, true, true));
  EXPECT_EQ(structural_hash(matmul("y", 3, true, true)), reference);
  EXPECT_NE(structural_hash(matmul("x", 4, true, true)), reference);
  EXPECT_NE(structural_hash(matmul("x", 3, false, true)), reference);
  EXPECT_NE(structural_hash(matmul("x", 3, true, false)), reference);
}

TEST(StructuralHash, SeesAxesLiteralsAndConditions) {
  const auto copy = [](bool swap, float scale, std::int64_t bound, DType dtype) {
    const Tensor a = placeholder("a", {4, 4}, dtype);
    const Axis k = reduce("k", 4);
    return structural_hash(make_compute({define("o", {4, 4}, [&](Axis i, Axis j) {
      const Expr element = swap ? a(j, i) : a(i, j);
      return sum(element * literal(static_cast<double>(scale), dtype), {k}).where(k < bound);
    })}));
  };
  const std::uint64_t reference = copy(false, 2, 3, DType::F32);
  EXPECT_EQ(copy(false, 2, 3, DType::F32), reference);
  EXPECT_NE(copy(true, 2, 3, DType::F32), reference);
  EXPECT_NE(copy(false, 3, 3, DType::F32), reference);
  EXPECT_NE(copy(false, 2, 2, DType::F32), reference);
  EXPECT_NE(copy(false, 2, 3, DType::F64), reference);
}

TEST(StructuralHash, SeesTheReducer) {
  const auto reduced = [](Definition (*make)(Expr, std::vector<Axis>)) {
    const Tensor a = placeholder("a", {4});
    const Axis k = reduce("k", 4);
    return structural_hash(make_compute({compute("o", {}, [&](std::span<const Axis>) { return make(a(k), {k}); })}));
  };
  EXPECT_NE(reduced(sum), reduced(max_over));
  EXPECT_NE(reduced(max_over), reduced(min_over));
}

}  // namespace
}  // namespace temper::ir
