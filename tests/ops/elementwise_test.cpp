// Every elementwise operator and every epilogue item against a formula in doubles.
#include "temper/ops/elementwise.h"

#include <gmock/gmock.h>

#include <limits>
#include <map>

#include "ops/harness.h"
#include "temper/ops/epilogue.h"

namespace temper::ops::testing {
namespace {

using ::testing::HasSubstr;
using Unary = std::function<double(double)>;
using Binary = std::function<double(double, double)>;

double hard_sigmoid_of(double x, double alpha, double beta) { return std::fmax(0, std::fmin(1, alpha * x + beta)); }

const std::map<std::string, Unary> kUnary{
    {"Abs", [](double x) { return std::fabs(x); }},
    {"Acos", [](double x) { return std::acos(x); }},
    {"Acosh", [](double x) { return std::acosh(x); }},
    {"Asin", [](double x) { return std::asin(x); }},
    {"Asinh", [](double x) { return std::asinh(x); }},
    {"Atan", [](double x) { return std::atan(x); }},
    {"Atanh", [](double x) { return std::atanh(x); }},
    {"Ceil", [](double x) { return std::ceil(x); }},
    {"Celu", [](double x) { return x > 0 ? x : std::expm1(x); }},
    {"Cos", [](double x) { return std::cos(x); }},
    {"Cosh", [](double x) { return std::cosh(x); }},
    {"Elu", [](double x) { return x > 0 ? x : std::expm1(x); }},
    {"Erf", [](double x) { return std::erf(x); }},
    {"Exp", [](double x) { return std::exp(x); }},
    {"Floor", [](double x) { return std::floor(x); }},
    {"Gelu", [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }},
    {"HardSigmoid", [](double x) { return hard_sigmoid_of(x, 0.2, 0.5); }},
    {"HardSwish", [](double x) { return x * hard_sigmoid_of(x, 1.0 / 6, 0.5); }},
    {"IsInf", [](double x) { return std::isinf(x) ? 1.0 : 0.0; }},
    {"IsNaN", [](double x) { return std::isnan(x) ? 1.0 : 0.0; }},
    {"LeakyRelu", [](double x) { return x < 0 ? 0.01 * x : x; }},
    {"Log", [](double x) { return std::log(x); }},
    {"Max", [](double x) { return x; }},
    {"Mean", [](double x) { return x; }},
    {"Min", [](double x) { return x; }},
    {"Mish", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
    {"Neg", [](double x) { return -x; }},
    {"Reciprocal", [](double x) { return 1 / x; }},
    {"Relu", [](double x) { return x > 0 ? x : 0; }},
    {"Round", [](double x) { return std::nearbyint(x); }},
    {"Selu", [](double x) { return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x)); }},
    {"Shrink", [](double x) { return x < -0.5 || x > 0.5 ? x : 0; }},
    {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"Sign", [](double x) { return x > 0   ? 1
                                   : x < 0 ? -1
                                           : 0; }},
    {"Sin", [](double x) { return std::sin(x); }},
    {"Sinh", [](double x) { return std::sinh(x); }},
    {"Softplus", [](double x) { return std::log1p(std::exp(x)); }},
    {"Softsign", [](double x) { return x / (1 + std::fabs(x)); }},
    {"Sqrt", [](double x) { return std::sqrt(x); }},
    {"Sum", [](double x) { return x; }},
    {"Swish", [](double x) { return x / (1 + std::exp(-x)); }},
    {"Tan", [](double x) { return std::tan(x); }},
    {"Tanh", [](double x) { return std::tanh(x); }},
    {"ThresholdedRelu", [](double x) { return x > 1 ? x : 0; }},
};

const std::map<std::string, Binary> kBinary{
    {"Add", [](double a, double b) { return a + b; }},
    {"Div", [](double a, double b) { return a / b; }},
    {"Equal", [](double a, double b) { return a == b ? 1.0 : 0.0; }},
    {"Greater", [](double a, double b) { return a > b ? 1.0 : 0.0; }},
    {"GreaterOrEqual", [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
    {"Less", [](double a, double b) { return a < b ? 1.0 : 0.0; }},
    {"LessOrEqual", [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
    {"Max", [](double a, double b) { return std::fmax(a, b); }},
    {"Mean", [](double a, double b) { return (a + b) / 2; }},
    {"Min", [](double a, double b) { return std::fmin(a, b); }},
    {"Mul", [](double a, double b) { return a * b; }},
    {"PRelu", [](double a, double b) { return a < 0 ? a * b : a; }},
    {"Pow", [](double a, double b) { return std::pow(a, b); }},
    {"Sub", [](double a, double b) { return a - b; }},
    {"Sum", [](double a, double b) { return a + b; }},
};

/// Operators on integers or conditions, or with operands of several types, have their own tests below.
const std::vector<std::string> kTestedApart{"And", "Cast", "Clip", "Mod", "Not", "Or", "Where", "Xor"};

TEST(Elementwise, EveryOperatorIsTested) {
  for (const Operator& op : elementwise_operators()) {
    const std::string name(op.name);
    const bool apart = std::find(kTestedApart.begin(), kTestedApart.end(), name) != kTestedApart.end();
    EXPECT_TRUE(kUnary.count(name) + kBinary.count(name) > 0 || apart) << name;
  }
}

TEST(Elementwise, Unary) {
  for (const auto& [name, formula] : kUnary) {
    const bool positive = name == "Log" || name == "Sqrt";
    const bool inside_one = name == "Acos" || name == "Asin" || name == "Atanh";
    Array x = inside_one        ? random_array({4, 5}, 11, -1, 1)
              : name == "Acosh" ? random_array({4, 5}, 11, 1, 9)
                                : random_array({4, 5}, 11, positive ? 0.1 : -4, 4);
    if (name == "Round")
      x.values = {0.5, 1.5, 2.5, -0.5, -1.5, 0.49, 0.51, -0.51, 3, -3, 0, 7.25, 1, 2, 3, 4, 5, 6, 7, 8};
    if (name == "IsNaN" || name == "IsInf") {
      x.values[3] = std::numeric_limits<double>::quiet_NaN();
      x.values[4] = -std::numeric_limits<double>::infinity();
    }
    const Array wanted = fill(x.shape, [&](const Shape& i) { return formula(x.at(i)); });
    expect_near(run({name, {unknown(x)}, {}, 24})[0], wanted, name);
  }
}

TEST(Elementwise, BinaryWithBroadcasting) {
  struct Shapes {
    Shape a, b, out;
  };
  const std::vector<Shapes> shapes{{{2, 3, 4}, {2, 3, 4}, {2, 3, 4}},
                                   {{2, 3, 4}, {4}, {2, 3, 4}},
                                   {{2, 1, 4}, {3, 1}, {2, 3, 4}},
                                   {{3}, {}, {3}},
                                   {{1, 1}, {5}, {1, 5}}};
  for (const auto& [name, formula] : kBinary) {
    for (const Shapes& s : shapes) {
      if (name == "PRelu" && s.out != s.a) continue;
      const bool positive = name == "Pow";
      Array a = random_array(s.a, 1, positive ? 0.1 : -2, 2), b = random_array(s.b, 2, -2, 2);
      if (name == "Equal" || name == "LessOrEqual" || name == "GreaterOrEqual") {
        for (double& v : a.values) v = std::round(v);
        for (double& v : b.values) v = std::round(v);
      }
      const Array wanted = fill(s.out, [&](const Shape& i) {
        const auto read = [&](const Array& t) {
          Shape at;
          for (std::size_t d = 0; d < t.shape.size(); ++d)
            at.push_back(t.shape[d] == 1 ? 0 : i[i.size() - t.shape.size() + d]);
          return t.at(at);
        };
        return formula(read(a), read(b));
      });
      for (const bool b_known : {false, true}) {
        expect_near(run({name, {unknown(a), b_known ? known(b) : unknown(b)}})[0], wanted, name);
      }
    }
  }
}

TEST(Elementwise, ThreeOperands) {
  const Array a = random_array({3}, 1), b = random_array({2, 1}, 2), c = random_array({2, 3}, 3);
  const auto at = [&](const Shape& i) { return std::vector<double>{a.at({i[1]}), b.at({i[0], 0}), c.at(i)}; };
  expect_near(run({"Sum", {unknown(a), unknown(b), unknown(c)}})[0],
              fill({2, 3}, [&](const Shape& i) { return at(i)[0] + at(i)[1] + at(i)[2]; }), "Sum");
  expect_near(run({"Mean", {unknown(a), unknown(b), unknown(c)}})[0],
              fill({2, 3}, [&](const Shape& i) { return (at(i)[0] + at(i)[1] + at(i)[2]) / 3; }), "Mean");
  expect_near(run({"Max", {unknown(a), unknown(b), unknown(c)}})[0],
              fill({2, 3}, [&](const Shape& i) { return std::max({at(i)[0], at(i)[1], at(i)[2]}); }), "Max");
}

TEST(Elementwise, ConditionsAndWhere) {
  const Array p = as_type({{4}, {0, 0, 1, 1}}, ir::DType::Bool), q = as_type({{4}, {0, 1, 0, 1}}, ir::DType::Bool);
  expect_near(run({"And", {unknown(p), unknown(q)}})[0], {{4}, {0, 0, 0, 1}}, "And");
  expect_near(run({"Or", {unknown(p), unknown(q)}})[0], {{4}, {0, 1, 1, 1}}, "Or");
  expect_near(run({"Xor", {unknown(p), unknown(q)}})[0], {{4}, {0, 1, 1, 0}}, "Xor");
  expect_near(run({"Not", {unknown(p)}})[0], {{4}, {1, 1, 0, 0}}, "Not");
  const Array a{{4}, {1, 2, 3, 4}}, b{{1}, {9}};
  expect_near(run({"Where", {unknown(p), unknown(a), unknown(b)}})[0], {{4}, {9, 9, 3, 4}}, "Where");
}

TEST(Elementwise, ClipByInputsAndAttributes) {
  const Array x{{5}, {-3, -1, 0, 1, 3}};
  expect_near(run({"Clip", {unknown(x), known({{}, {-2}}), known({{}, {2}})}})[0], {{5}, {-2, -1, 0, 1, 2}}, "both");
  expect_near(run({"Clip", {unknown(x), unknown({{}, {-2}}), absent()}})[0], {{5}, {-2, -1, 0, 1, 3}}, "low, computed");
  expect_near(run({"Clip", {unknown(x), absent(), known({{}, {2}})}})[0], {{5}, {-3, -1, 0, 1, 2}}, "high");
  expect_near(run({"Clip", {unknown(x)}, attributes({{"min", 0.0}, {"max", 6.0}}), 6})[0], {{5}, {0, 0, 0, 1, 3}},
              "attributes");
}

TEST(Elementwise, CastAndIntegers) {
  const Array x{{4}, {-1.5, 0, 2.75, 300}};
  expect_near(run({"Cast", {unknown(x)}, attributes({{"to", i64(7)}})})[0], {{4}, {-1, 0, 2, 300}}, "to i64");
  expect_near(run({"Cast", {unknown(x)}, attributes({{"to", i64(9)}})})[0], {{4}, {1, 0, 1, 1}}, "to bool");
  EXPECT_EQ(run({"Cast", {unknown(x)}, attributes({{"to", i64(9)}})})[0].dtype, ir::DType::Bool);
  const Array i = integers({4}, {7, -7, 6, -1}), d = integers({1}, {3});
  expect_near(run({"Mod", {unknown(i), unknown(d)}})[0], {{4}, {1, 2, 0, 2}}, "Mod");
  expect_near(run({"Mod", {unknown(i), unknown(integers({1}, {-3}))}})[0], {{4}, {-2, -1, 0, -1}}, "Mod, negative");
  const Attributes fmod = attributes({{"fmod", i64(1)}});
  expect_near(run({"Mod", {unknown(i), unknown(d)}, fmod})[0], {{4}, {1, -1, 0, -1}}, "fmod of integers");
  expect_near(run({"Mod", {unknown({{3}, {5.5, -5.5, 4}}), unknown({{}, {2}})}, fmod})[0], {{3}, {1.5, -1.5, 0}},
              "fmod");
  expect_near(run({"Div", {unknown(i), unknown(d)}})[0], {{4}, {2, -2, 2, 0}}, "integer Div");
  const Array bases = integers({6}, {2, -3, 0, 1, -1, 7}), exponents = integers({6}, {10, 3, 0, -5, 101, -1});
  expect_near(run({"Pow", {unknown(bases), unknown(exponents)}})[0], {{6}, {1024, -27, 1, 1, -1, 0}}, "integer Pow");
  expect_near(run({"Pow", {unknown(integers({2}, {4, 9})), unknown({{}, {0.5}})}})[0], {{2}, {2, 3}},
              "integer to a real power");
  expect_near(run({"Floor", {unknown(i)}})[0], {{4}, {7, -7, 6, -1}}, "Floor of integers");
  EXPECT_EQ(build_error({"Cast", {unknown(x)}, attributes({{"to", i64(10)}})}),
            "unsupported: element type number 10 of ONNX is not supported (Cast)");
}

TEST(Elementwise, KnownScalarsBecomeLiterals) {
  Built built({"Mul", {unknown({{4}, {1, 2, 3, 4}}), known({{1}, {0.5}})}});
  EXPECT_EQ(ir::print(build(built.node())[0].stage()->body[0]), "in0[i0] * 0.5");
  Built square({"Pow", {unknown({{4}, {1, 2, 3, 4}}), known({{}, {2}})}});
  EXPECT_EQ(ir::print(build(square.node())[0].stage()->body[0]), "in0[i0] * in0[i0]");
}

TEST(Elementwise, LargeArgumentsDoNotOverflow) {
  const Array x{{4}, {-500, -50, 50, 500}};
  expect_near(run({"Softplus", {unknown(x)}})[0], {{4}, {0, 0, 50, 500}}, "Softplus");
  expect_near(run({"Elu", {unknown(x)}})[0], {{4}, {-1, -1, 50, 500}}, "Elu");
  expect_near(run({"Gelu", {unknown(x)}, attributes({{"approximate", std::string("tanh")}})})[0],
              {{4}, {0, 0, 50, 500}}, "Gelu");
}

TEST(Elementwise, Errors) {
  EXPECT_EQ(build_error({"Add", {unknown(random_array({2, 3}, 1)), unknown(random_array({2, 4}, 1))}}),
            "invalid_model: the shapes do not broadcast: sizes 3 and 4 meet at axis 1 (Add)");
  EXPECT_THAT(build_error({"Add", {unknown(random_array({2}, 1)), unknown(integers({2}, {1, 2}))}}),
              HasSubstr("invalid_model: the operands of '+' differ in type: f32 and i64 (Add)"));
  EXPECT_EQ(build_error({"Add", {unknown(random_array({2}, 1)), unknown(random_array({2}, 1))}, {}, 6}),
            "unsupported: opset 6 is too old; its first supported one is 7 (Add)");
  EXPECT_EQ(build_error({"Frobnicate", {}}), "unsupported: operator 'Frobnicate' is not supported (Frobnicate)");
}

// ---- epilogues

/// The value behind one item with operand `y`, written without the formulas of the library.
double item_value(const EpilogueItem& item, double x, double y) {
  const std::string& n = item.name;
  const auto a = [&](std::size_t i) { return item.arguments[i]; };
  static const std::map<std::string, std::string> kSameAs{
      {"relu", "Relu"},           {"sigmoid", "Sigmoid"}, {"tanh", "Tanh"}, {"gelu", "Gelu"}, {"softplus", "Softplus"},
      {"mish", "Mish"},           {"exp", "Exp"},         {"erf", "Erf"},   {"abs", "Abs"},   {"neg", "Neg"},
      {"hardswish", "HardSwish"}, {"sqrt", "Sqrt"}};
  if (const auto same = kSameAs.find(n); same != kSameAs.end()) return kUnary.at(same->second)(x);
  if (n == "bias" || n == "add" || n == "imageadd" || n == "upadd") return x + y;
  if (n == "scale" || n == "mul" || n == "imagemul") return x * y;
  if (n == "sub") return x - y;
  if (n == "rsub") return y - x;
  if (n == "addc") return x + a(0);
  if (n == "mulc") return x * a(0);
  if (n == "divc") return x / a(0);
  if (n == "clip") return std::fmin(std::fmax(x, a(0)), a(1));
  if (n == "leakyrelu") return x < 0 ? a(0) * x : x;
  if (n == "hardsigmoid") return hard_sigmoid_of(x, a(0), a(1));
  if (n == "silu") return x / (1 + std::exp(-x));
  if (n == "gelutanh") return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  if (n == "elu") return x > 0 ? x : a(0) * std::expm1(x);
  if (n == "square") return x * x;
  ADD_FAILURE() << "epilogue item without a reference: " << n;
  return 0;
}

/// A chain behind a [2,3,2,6] anchor (channel axis 1), one operand of random numbers per item that needs one.
void expect_epilogue(const Epilogue& epilogue, double low) {
  const Array x = random_array({2, 3, 2, 6}, 5, low, 3);
  const ir::Tensor anchor = ir::placeholder("anchor", extents(x.shape));
  const std::vector<ir::Tensor> operands = epilogue_operands(anchor, epilogue, {1}, true);
  const ir::Tensor out = append_epilogue(anchor, epilogue, operands, {1}, "out");
  const ir::Compute compute = ir::make_compute({out});
  ir::verify(compute);
  std::deque<TensorValue> values{TensorValue::from_numbers({ir::DType::F32, x.shape}, x.values)};
  ir::Inputs data{{"anchor", *values[0].bytes}};
  std::vector<Array> arrays;
  for (const ir::Tensor& operand : operands) {
    arrays.push_back(random_array(operand.shape(), 17 + arrays.size()));
    values.push_back(TensorValue::from_numbers({ir::DType::F32, operand.shape()}, arrays.back().values));
    data.emplace(operand.stage()->name, *values.back().bytes);
  }
  const Array wanted = fill(x.shape, [&](const Shape& i) {
    double value = x.at(i);
    std::size_t next = 0;
    for (const EpilogueItem& item : epilogue) {
      double operand = 0;
      switch (epilogue_kind(item.name).operand) {
        case EpilogueOperand::None: break;
        case EpilogueOperand::Channel: operand = arrays[next++].at({i[1]}); break;
        case EpilogueOperand::Image: operand = arrays[next++].at({i[0], i[1]}); break;
        case EpilogueOperand::Full: operand = arrays[next++].at(i); break;
        case EpilogueOperand::Blocks: {
          const auto times = [&](std::size_t a) { return static_cast<std::int64_t>(item.arguments[a]); };
          operand = arrays[next++].at({i[0], i[1], i[2] / times(0), i[3] / times(1)});
          break;
        }
      }
      value = item_value(item, value, operand);
    }
    return value;
  });
  ir::Oracle oracle(compute, data);
  expect_near({x.shape, oracle.all(*compute.outputs[0])}, wanted, to_string(epilogue));
}

TEST(Epilogue, EveryItem) {
  for (const EpilogueKind& kind : epilogue_kinds()) {
    EpilogueItem item{std::string(kind.name), kind.defaults};
    expect_epilogue({item}, item.name == "sqrt" ? 0.1 : -3);
    for (double& argument : item.arguments) argument += 0.25;
    if (kind.operand == EpilogueOperand::Blocks) item.arguments = {1, 3};
    expect_epilogue({item}, item.name == "sqrt" ? 0.1 : -3);
  }
}

TEST(Epilogue, ChainsInOrder) {
  expect_epilogue(parse_epilogue("bias+relu"), -3);
  expect_epilogue(parse_epilogue("bias+hardswish+add+clip:-1:1"), -3);
  expect_epilogue(parse_epilogue("add+imagemul+add+scale+bias+bias+hardsigmoid:0.3:0.1"), -3);
}

TEST(Epilogue, OperandNamesAndConstness) {
  const ir::Tensor anchor = ir::placeholder("anchor", {2, 3, 4, 4});
  const auto operands = epilogue_operands(anchor, parse_epilogue("bias+add+relu+add+imagemul"), {1}, true);
  ASSERT_EQ(operands.size(), 4U);
  EXPECT_EQ(operands[0].stage()->name, "bias");
  EXPECT_TRUE(operands[0].stage()->constant);
  EXPECT_EQ(operands[1].stage()->name, "add");
  EXPECT_FALSE(operands[1].stage()->constant);
  EXPECT_EQ(operands[2].stage()->name, "add1");
  EXPECT_EQ(operands[3].shape(), (Shape{2, 3}));
  EXPECT_FALSE(epilogue_operands(anchor, parse_epilogue("bias"), {1}, false)[0].stage()->constant);
  EXPECT_EQ(append_epilogue(anchor, {}, {}, {1}, "out").stage(), anchor.stage());
  EXPECT_EQ(epilogue_operands(anchor, parse_epilogue("upadd:4:2"), {1}, true)[0].shape(), (Shape{2, 3, 1, 2}));
  EXPECT_EQ(epilogue_operands(anchor, parse_epilogue("upadd:1:2"), {3}, true)[0].shape(), (Shape{2, 3, 2, 4}));
  const ir::Tensor matrix = ir::placeholder("matrix", {5, 7});
  EXPECT_EQ(epilogue_operands(matrix, parse_epilogue("imagemul"), {1}, true)[0].shape(), (Shape{7}));
}

TEST(Epilogue, BlocksArePixelsAndWhole) {
  const auto error = [](const ir::Tensor& anchor, std::string_view item) -> std::string {
    try {
      (void)epilogue_operands(anchor, parse_epilogue(item), {1}, true);
    } catch (const Error& caught) {
      return caught.what();
    }
    return "none";
  };
  const ir::Tensor anchor =
      ir::compute("anchor", {2, 3, 4, 6}, [](auto) { return ir::Definition(ir::Expr(1.0f)); }, {"n", "c", "y", "x"});
  EXPECT_EQ(error(anchor, "upadd:4:3"), "none");
  EXPECT_THAT(error(anchor, "upadd:3:2"), HasSubstr("axis 'y' of 4 is not made of whole blocks of 3"));
  EXPECT_THAT(error(anchor, "upadd:2:1.5"), HasSubstr("axis 'x' of 6 is not made of whole blocks of 1.5"));
  EXPECT_THAT(error(anchor, "upadd:0:2"), HasSubstr("axis 'y' of 4 is not made of whole blocks of 0"));
  EXPECT_THAT(error(ir::placeholder("matrix", {4, 6}), "upadd"), HasSubstr("a result of rank 2 has no rows of pixels"));
}

TEST(Epilogue, TextRoundTrips) {
  for (const char* text : {"", "bias", "bias+relu", "clip", "clip:0:5", "bias+clip:-1:0.1+add", "leakyrelu:0.3"}) {
    EXPECT_EQ(to_string(parse_epilogue(text)), text);
  }
  EXPECT_EQ(to_string(parse_epilogue("none")), "");
  EXPECT_EQ(to_string(parse_epilogue("clip:0:6")), "clip") << "default arguments are left out";
}

TEST(Epilogue, Errors) {
  const auto message = [](std::string_view text) -> std::string {
    try {
      parse_epilogue(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "parsed";
  };
  EXPECT_THAT(message("bias+rely"),
              HasSubstr("unknown epilogue item 'rely'\n  hint: expected one of bias, scale, add, "));
  EXPECT_THAT(message("bias++relu"), HasSubstr("unknown epilogue item ''"));
  EXPECT_THAT(message("clip:0:x"), HasSubstr("'x' is not a number\n  at: epilogue item 'clip:0:x'"));
  EXPECT_THAT(message("clip:1"), HasSubstr("'clip' takes 2 arguments, not 1"));
  EXPECT_THAT(message("relu:1"), HasSubstr("'relu' takes 0 arguments, not 1"));
}

}  // namespace
}  // namespace temper::ops::testing
