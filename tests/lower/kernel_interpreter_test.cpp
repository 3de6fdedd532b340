#include "temper/lower/kernel_interpreter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "temper/lower/kernel_builder.h"
#include "temper/support/error.h"

namespace temper::lower {
namespace {

template <class T>
std::span<std::byte> bytes_of(std::vector<T>& v) {
  return std::as_writable_bytes(std::span(v));
}

/// x: 16 floats in, y: 16 floats out.
struct Fixture {
  Kernel k;
  std::vector<float> x = std::vector<float>(16), y = std::vector<float>(16, -1.0f);
  explicit Fixture(std::int64_t extent = 1) {
    k.arguments = {{"x", BufferRole::Input, ir::DType::F32, 64, true},
                   {"y", BufferRole::Output, ir::DType::F32, 64, true}};
    k.buffers = {{"x", BufferRole::Input, ir::DType::F32, 16, 0, 0, true},
                 {"y", BufferRole::Output, ir::DType::F32, 16, 0, 1, true},
                 {"s", BufferRole::Scratch, ir::DType::F32, 4, 16, -1, true},
                 {"t", BufferRole::Stack, ir::DType::F32, 4, 0, -1, true}};
    std::iota(x.begin(), x.end(), 1.0f);
    k.run.push_back({"main", extent, k.new_value({Scalar::I64, 1}), {}, 64});
  }
  KernelBuilder builder() { return {k, k.run[0].body}; }
  void run() {
    verify(k);
    interpret_run(k, {bytes_of(x), bytes_of(y)});
  }
};

TEST(KernelInterpreter, LoopsCarryValues) {
  Fixture f;
  KernelBuilder b = f.builder();
  const Type scalar{Scalar::F32, 1};
  // Fibonacci by a swap, so that all carried values change at once.
  const auto r = b.for_loop(
      b.const_int(0), b.const_int(10), 1, {b.const_float(0, scalar), b.const_float(1, scalar)},
      [](KernelBuilder& in, Value, std::span<const Value> c) { return std::vector<Value>{c[1], in.add(c[0], c[1])}; });
  b.store(1, b.const_int(0), r[0]);
  const auto none = b.for_loop(
      b.const_int(5), b.const_int(5), 1, {b.const_float(7, scalar)},
      [](KernelBuilder& in, Value, std::span<const Value> c) { return std::vector<Value>{in.add(c[0], c[0])}; });
  b.store(1, b.const_int(1), none[0]);
  f.run();
  EXPECT_EQ(f.y[0], 55.0f);
  EXPECT_EQ(f.y[1], 7.0f);
}

TEST(KernelInterpreter, PhasesRunEveryIteration) {
  Fixture f(16);
  KernelBuilder b = f.builder();
  const Value odd = b.binary(Op::Eq, b.binary(Op::Mod, f.k.run[0].index, b.const_int(2)), b.const_int(1));
  const Value x = b.load(0, f.k.run[0].index, 1);
  const auto r = b.if_else(
      odd, [&](KernelBuilder& in) { return std::vector<Value>{in.unary(Op::Neg, x)}; },
      [&](KernelBuilder&) { return std::vector<Value>{x}; });
  b.store(1, f.k.run[0].index, r[0]);
  f.run();
  EXPECT_EQ(f.y[4], 5.0f);
  EXPECT_EQ(f.y[5], -6.0f);
}

TEST(KernelInterpreter, MasksGatherAndScatter) {
  Fixture f;
  KernelBuilder b = f.builder();
  const Value back = b.sub(b.const_int(15, {Scalar::I64, 4}), b.iota(4));
  b.scatter(1, back, b.gather(0, b.iota(4)), b.const_mask(0b1011, 4));
  b.store(1, b.const_int(0), b.load(0, b.const_int(14), 4, b.const_mask(0b0011, 4)), b.const_mask(0b0111, 4));
  f.run();
  EXPECT_EQ(f.y[15], 1.0f);
  EXPECT_EQ(f.y[14], 2.0f);
  EXPECT_EQ(f.y[13], -1.0f);
  EXPECT_EQ(f.y[12], 4.0f);
  EXPECT_EQ(f.y[1], 16.0f);
  EXPECT_EQ(f.y[2], 0.0f);
  EXPECT_EQ(f.y[3], -1.0f);
}

TEST(KernelInterpreter, LocalMemoryStartsSpoiled) {
  for (const int buffer : {2, 3}) {
    Fixture f(2);
    KernelBuilder b = f.builder();
    b.store(1, f.k.run[0].index, b.load(buffer, b.const_int(0), 1));
    b.store(buffer, b.const_int(0), b.load(0, b.const_int(0), 1));
    b.store(1, b.add(f.k.run[0].index, b.const_int(4)), b.load(buffer, b.const_int(0), 1));
    f.run();
    EXPECT_TRUE(std::isnan(f.y[0]));
    EXPECT_TRUE(std::isnan(f.y[1])) << "memory of one iteration is not seen by the next";
    EXPECT_EQ(f.y[5], 1.0f);
  }
}

TEST(KernelInterpreter, AccessOutsideABufferNamesTheInstruction) {
  Fixture f;
  KernelBuilder b = f.builder();
  const Value x = b.load(0, b.const_int(13), 4);
  b.store(1, b.const_int(0), x);
  try {
    f.run();
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.message(), "element 16 of a buffer of 16");
    EXPECT_EQ(e.where(), "%2:f32x4 = load @0.x[%1]");
  }
}

TEST(KernelInterpreter, NanSpreadsThroughMinAndMax) {
  Fixture f;
  f.x[0] = std::nanf("");
  KernelBuilder b = f.builder();
  const Value nan = b.load(0, b.const_int(0), 1), two = b.load(0, b.const_int(1), 1);
  b.store(1, b.const_int(0), b.binary(Op::Max, nan, two));
  b.store(1, b.const_int(1), b.binary(Op::Min, two, nan));
  b.store(1, b.const_int(2), b.binary(Op::Min, two, b.load(0, b.const_int(2), 1)));
  f.run();
  EXPECT_TRUE(std::isnan(f.y[0]));
  EXPECT_TRUE(std::isnan(f.y[1]));
  EXPECT_EQ(f.y[2], 2.0f);
}

/// Integer semantics, by known values: the result of `op` on two I32, I8 or U8 numbers.
struct IntegerCase {
  Op op;
  Scalar scalar;
  std::int64_t a, b, expected;
};
TEST(KernelInterpreter, Integers) {
  const IntegerCase cases[] = {
      {Op::Add, Scalar::I8, 127, 1, -128},
      {Op::Sub, Scalar::U8, 0, 1, 255},
      {Op::Mul, Scalar::I32, 1 << 20, 1 << 12, 0},
      {Op::Div, Scalar::I32, -7, 2, -3},
      {Op::Div, Scalar::I32, -7, 0, -7},
      {Op::Div, Scalar::I8, -128, -1, -128},
      {Op::Div, Scalar::U8, 200, 3, 66},
      {Op::FloorDiv, Scalar::I32, -7, 2, -4},
      {Op::Mod, Scalar::I32, -7, 3, 2},
      {Op::Mod, Scalar::I64, 7, 3, 1},
      {Op::Min, Scalar::U8, 200, 100, 100},
      {Op::Max, Scalar::I8, -1, 1, 1},
      {Op::LShr, Scalar::I8, -1, 4, 15},
      {Op::Shl, Scalar::U8, 200, 1, 144},
      {Op::Xor, Scalar::I32, 6, 3, 5},
  };
  for (const IntegerCase& c : cases) {
    Fixture f;
    f.k.arguments.push_back({"z", BufferRole::Output, ir::DType::I64, 8, true});
    f.k.buffers.push_back({"z", BufferRole::Output, ir::DType::I64, 1, 0, 2, true});
    KernelBuilder b = f.builder();
    const Value r = b.binary(c.op, b.const_int(c.a, {c.scalar, 1}), b.const_int(c.b, {c.scalar, 1}));
    b.store(4, b.const_int(0), b.cast(r, Scalar::I64));
    verify(f.k);
    std::vector<std::int64_t> z(1);
    interpret_run(f.k, {bytes_of(f.x), bytes_of(f.y), bytes_of(z)});
    EXPECT_EQ(z[0], c.expected) << print(f.k);
  }
}

}  // namespace
}  // namespace temper::lower
