// The error of every elementary function, over its whole range, with the interpreter as the machine.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <ostream>
#include <random>

#include "temper/lower/kernel.h"
#include "temper/lower/kernel_builder.h"
#include "temper/lower/kernel_interpreter.h"
#include "temper/support/error.h"

namespace temper::lower {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Distance in units in the last place of T at the exact result; where it is not a finite number, 0 or infinity.
template <class T>
double ulps(T actual, long double exact) {
  constexpr int kDigits = std::numeric_limits<T>::digits, kLeast = std::numeric_limits<T>::min_exponent;
  if (std::isnan(exact)) return std::isnan(actual) ? 0 : kInf;
  const long double limit =
      static_cast<long double>(std::numeric_limits<T>::max()) * (1 + std::ldexp(1.0L, -kDigits - 1));
  if (std::fabs(exact) >= limit) return std::isinf(actual) && std::signbit(actual) == std::signbit(exact) ? 0 : kInf;
  if (!std::isfinite(actual)) return kInf;
  int exponent = 0;
  std::frexp(exact, &exponent);
  return static_cast<double>(std::fabs(static_cast<long double>(actual) - exact) /
                             std::ldexp(1.0L, std::max(exponent, kLeast) - kDigits));
}

template <class T>
constexpr ir::DType kDType = sizeof(T) == 4 ? ir::DType::F32 : ir::DType::F64;

/// Applies `op` to all of x (and y), after expand_math.
template <class T>
std::vector<T> apply(Op op, std::vector<T> x, std::vector<T> y = {}) {
  constexpr int kLanes = 16;
  x.resize((x.size() + kLanes - 1) / kLanes * kLanes, T(1));
  y.resize(x.size(), T(1));
  const auto n = static_cast<std::int64_t>(x.size());
  Kernel k;
  std::vector<T> out(x.size());
  for (const auto& [name, role] :
       {std::pair{"x", BufferRole::Input}, {"y", BufferRole::Input}, {"out", BufferRole::Output}}) {
    k.arguments.push_back({name, role, kDType<T>, n * static_cast<std::int64_t>(sizeof(T)), true});
    k.buffers.push_back({name, role, kDType<T>, n, 0, static_cast<int>(k.buffers.size()), true});
  }
  k.run.push_back({"p", n / kLanes, k.new_value({Scalar::I64, 1}), {}, 0});
  KernelBuilder b(k, k.run[0].body);
  const Value at = b.mul(k.run[0].index, b.const_int(kLanes));
  const Value a = b.load(0, at, kLanes);
  b.store(2, at, op == Op::Pow ? b.binary(op, a, b.load(1, at, kLanes)) : b.unary(op, a));
  expand_math(k);
  verify(k);
  for (const Instr& i : k.run[0].body) EXPECT_NE(i.op, op);
  interpret_run(k, {std::as_writable_bytes(std::span(x)), std::as_writable_bytes(std::span(y)),
                    std::as_writable_bytes(std::span(out))});
  return out;
}

struct Function {
  const char* name;
  Op op;
  std::function<long double(long double)> exact;
  double low, high;           ///< where the bound holds
  double f32_ulps, f64_ulps;  ///< f64_ulps 0: not there
  double f32_ulps_of_x = 0;   ///< so many more for each unit of |x|
};
std::ostream& operator<<(std::ostream& out, const Function& f) { return out << f.name; }

const Function kFunctions[] = {
    {"Exp", Op::Exp, [](long double x) { return std::exp(x); }, -kInf, kInf, 1.0, 1.5},
    {"ExpNonPositive", Op::ExpNonPositive, [](long double x) { return std::exp(x); }, -kInf, 0, 2.0, 1.5, 0.25},
    {"Log", Op::Log, [](long double x) { return std::log(x); }, -kInf, kInf, 1.0, 1.5},
    {"Tanh", Op::Tanh, [](long double x) { return std::tanh(x); }, -kInf, kInf, 2.0, 2.0},
    {"Sigmoid", Op::Sigmoid, [](long double x) { return 1 / (1 + std::exp(-x)); }, -kInf, kInf, 2.5, 2.5},
    {"Erf", Op::Erf, [](long double x) { return std::erf(x); }, -kInf, kInf, 1.5, 0},
    {"Sin", Op::Sin, [](long double x) { return std::sin(x); }, -0x1p45, 0x1p45, 1.0, 0},
    {"Cos", Op::Cos, [](long double x) { return std::cos(x); }, -0x1p45, 0x1p45, 1.0, 0},
    {"Rsqrt", Op::Rsqrt, [](long double x) { return 1 / std::sqrt(x); }, -kInf, kInf, 1.5, 1.5},
    {"Sign", Op::Sign, [](long double x) { return x > 0   ? 1
                                                  : x < 0 ? -1
                                                          : x; }, -kInf, kInf, 0.0, 0.0},
};

class ElementaryFunction : public testing::TestWithParam<Function> {
 protected:
  template <class T, class Bits>
  void expect_error_below(double bound, double bound_of_x = 0) {
    const Function& f = GetParam();
    std::vector<T> x = {T(0),
                        -T(0),
                        T(1),
                        T(-1),
                        T(0.5),
                        std::numeric_limits<T>::infinity(),
                        -std::numeric_limits<T>::infinity(),
                        std::numeric_limits<T>::quiet_NaN(),
                        std::numeric_limits<T>::max(),
                        std::numeric_limits<T>::lowest(),
                        std::numeric_limits<T>::min(),
                        std::numeric_limits<T>::denorm_min(),
                        T(88.722839),
                        T(88.72284),
                        T(-87.33655),
                        T(-103.97),
                        T(-103.98),
                        T(709.78),
                        T(-745.2),
                        T(0.625),
                        T(0.9),
                        T(3.93),
                        T(10)};
    std::mt19937_64 random(7);
    for (int i = 0; i < 20000; ++i) x.push_back(std::bit_cast<T>(static_cast<Bits>(random())));  // every exponent alike
    for (int i = 0; i < 20000; ++i)
      x.push_back(static_cast<T>(std::ldexp(static_cast<double>(random()), -64) * 24 - 12));
    for (int i = 0; i < 8000; ++i)
      x.push_back(static_cast<T>(std::ldexp(static_cast<double>(random()), -64) * 240 - 120));
    if (f.high == 0) {
      for (T& number : x) number = -std::fabs(number);
    }
    const std::vector<T> y = apply(f.op, x);
    double worst = 0;
    T at = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::isfinite(x[i]) && (x[i] < static_cast<T>(f.low) || x[i] > static_cast<T>(f.high))) {
        EXPECT_LE(std::fabs(y[i]), 1) << x[i];
        continue;
      }
      const double allowance = std::isfinite(x[i]) ? bound_of_x * std::fabs(static_cast<double>(x[i])) : 0;
      const double error = ulps(y[i], f.exact(static_cast<long double>(x[i]))) - allowance;
      if (error > worst) {
        worst = error;
        at = x[i];
      }
    }
    EXPECT_LE(worst, bound) << "at " << at;
  }
};

TEST_P(ElementaryFunction, F32ErrorIsBelowItsBound) {
  expect_error_below<float, std::uint32_t>(GetParam().f32_ulps, GetParam().f32_ulps_of_x);
}

TEST_P(ElementaryFunction, F64ErrorIsBelowItsBoundOrItIsRefused) {
  if (GetParam().f64_ulps > 0 || GetParam().op == Op::Sign) {
    expect_error_below<double, std::uint64_t>(GetParam().f64_ulps);
    return;
  }
  try {
    apply<double>(GetParam().op, {1.0});
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::Unsupported);
    EXPECT_EQ(e.message(), std::string(to_string(GetParam().op)) + " is not there for f64");
  }
}

TEST(ElementaryFunctions, KeepTheSignOfZero) {
  for (const Op op : {Op::Tanh, Op::Erf, Op::Sign})
    EXPECT_TRUE(std::signbit(apply<float>(op, {-0.0f})[0])) << to_string(op);
}

INSTANTIATE_TEST_SUITE_P(Functions, ElementaryFunction, testing::ValuesIn(kFunctions),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(Pow, ErrorIsBelowItsBound) {
  std::mt19937_64 random(11);
  std::vector<float> x, y;
  const auto uniform = [&](double low, double high) {
    return static_cast<float>(low + (high - low) * std::ldexp(static_cast<double>(random()), -64));
  };
  for (int i = 0; i < 20000; ++i) {
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random()) & 0x7fffffffu));
    y.push_back(uniform(-3, 3));
    x.push_back(uniform(0, 4));
    y.push_back(uniform(-140, 140));
    x.push_back(uniform(-4, 4));
    y.push_back(std::floor(uniform(-20, 20)));
  }
  const std::vector<float> z = apply(Op::Pow, x, y);
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = ulps(z[i], std::pow(static_cast<long double>(x[i]), static_cast<long double>(y[i])));
    if (error > worst) {
      worst = error;
      at = i;
    }
  }
  EXPECT_LE(worst, 1.0) << x[at] << " to the power " << y[at] << " gives " << z[at];
}

TEST(Pow, SpecialValuesAreThoseOfC) {
  const float values[] = {0.0f,
                          -0.0f,
                          1.0f,
                          -1.0f,
                          2.0f,
                          -2.0f,
                          0.5f,
                          -0.5f,
                          3.0f,
                          -3.0f,
                          1e30f,
                          -1e30f,
                          1e-30f,
                          16777216.0f,
                          16777217.0f * 3,
                          static_cast<float>(kInf),
                          static_cast<float>(-kInf),
                          static_cast<float>(kNan),
                          1e-42f};
  std::vector<float> x, y;
  for (const float a : values) {
    for (const float b : values) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  const std::vector<float> z = apply(Op::Pow, x, y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float expected = std::pow(x[i], y[i]);
    EXPECT_LE(ulps(z[i], static_cast<long double>(expected)), 1.0)
        << x[i] << " to the power " << y[i] << " gives " << z[i] << ", not " << expected;
    EXPECT_TRUE(std::isnan(expected) || std::signbit(z[i]) == std::signbit(expected))
        << x[i] << " to the power " << y[i];
  }
}

TEST(Pow, ConstantPowersAreArithmetic) {
  for (const double power : {1.0, 2.0, -1.0}) {
    Kernel k;
    k.run.push_back({"p", 1, k.new_value({Scalar::I64, 1}), {}, 0});
    KernelBuilder b(k, k.run[0].body);
    const Value x = b.const_float(3, {Scalar::F64, 4});
    b.binary(Op::Pow, x, b.broadcast(b.const_float(power, {Scalar::F64, 1}), 4));
    expand_math(k);
    verify(k);
    EXPECT_LE(k.run[0].body.size(), 5u) << print(k);
  }
}

TEST(ExpandMath, ReachesEveryBlockAndKeepsResults) {
  Kernel k;
  k.run.push_back({"p", 1, k.new_value({Scalar::I64, 1}), {}, 0});
  k.arguments = {{"y", BufferRole::Output, ir::DType::F32, 16, true}};
  k.buffers = {{"y", BufferRole::Output, ir::DType::F32, 4, 0, 0, true}};
  KernelBuilder b(k, k.run[0].body);
  const Value zero = b.const_int(0);
  const auto r = b.for_loop(zero, b.const_int(2), 1, {b.const_float(0, {Scalar::F32, 1})},
                            [&](KernelBuilder& in, Value, std::span<const Value> c) {
                              const auto chosen = in.if_else(
                                  in.binary(Op::Eq, k.run[0].index, zero),
                                  [&](KernelBuilder& t) { return std::vector<Value>{t.unary(Op::Exp, c[0])}; },
                                  [&](KernelBuilder& e) { return std::vector<Value>{e.unary(Op::Log, c[0])}; });
                              return std::vector<Value>{chosen[0]};
                            });
  b.store(0, zero, r[0]);
  expand_math(k);
  verify(k);
  EXPECT_EQ(print(k).find(" = exp "), std::string::npos);
  EXPECT_EQ(print(k).find(" = log "), std::string::npos);
  std::vector<float> y(4);
  interpret_run(k, {std::as_writable_bytes(std::span(y))});
  EXPECT_NEAR(y[0], 2.7182818f, 1e-6f);
}

}  // namespace
}  // namespace temper::lower
