#include "temper/lower/kernel_text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "temper/lower/kernel_builder.h"

namespace temper::lower {
namespace {

TEST(KernelText, ShowsEverythingThatACodeGeneratorReads) {
  Kernel k;
  k.arguments = {{"x", BufferRole::Input, ir::DType::F32, 40, true},
                 {"w", BufferRole::Constant, ir::DType::I8, 8, false},
                 {"y", BufferRole::Output, ir::DType::F32, 40, true}};
  k.buffers = {{"x", BufferRole::Input, ir::DType::F32, 10, 0, 0, true},
               {"y", BufferRole::Output, ir::DType::F32, 10, 0, 2, true},
               {"t", BufferRole::Scratch, ir::DType::F32, 4, 64, -1, true}};
  k.run.push_back({});
  Phase& p = k.run.back();
  p.name = "main";
  p.extent = 3;
  p.scratch_bytes = 80;
  p.index = k.new_value({Scalar::I64, 1});
  KernelBuilder b(k, p.body);
  const Value zero = b.const_int(0), end = b.const_int(8);
  const Value mask = b.const_mask(0b0111, 4);
  const Value start = b.const_float(-0.5, {Scalar::F32, 4});
  const auto sums = b.for_loop(
      zero, end, 4, {start},
      [&](KernelBuilder& inner, Value i, std::span<const Value> carried) {
        const Value x = inner.load(0, i, 4, mask);
        inner.store(2, zero, x);
        return std::vector<Value>{inner.fma(x, x, carried[0])};
      },
      true);
  const Value rotated = b.shuffle(sums[0], sums[0], {1, 2, -1, 7});
  const Value positive = b.binary(Op::Gt, p.index, zero);
  b.if_else(positive,
            [&](KernelBuilder& inner) {
              inner.store(1, zero, rotated, mask);
              return std::vector<Value>{};
            },
            {});
  const auto chosen = b.if_else(
      positive, [&](KernelBuilder& inner) { return std::vector<Value>{inner.extract(rotated, 3)}; },
      [&](KernelBuilder& inner) { return std::vector<Value>{inner.const_float(1e-9, {Scalar::F32, 1})}; });
  b.store(1, p.index, chosen[0]);
  verify(k);
  EXPECT_EQ(print(k), R"(argument 0 "x" input f32 40 bytes
argument 1 "w" constant i8 8 bytes prepare_only
argument 2 "y" output f32 40 bytes
buffer @0.x input f32[10] argument 0
buffer @1.y output f32[10] argument 2
buffer @2.t scratch f32[4] offset 64
run "main" %0 in 3 scratch 80
  %1:i64 = const_int 0
  %2:i64 = const_int 8
  %3:i1x4 = const_mask 1110
  %4:f32x4 = const_float -0.5
  for %5 in %1 to %2 step 4 carry %6:f32x4 = %4 -> %9:f32x4 barrier
    %7:f32x4 = load @0.x[%5] where %3
    store @2.t[%1] = %7
    %8:f32x4 = fma %7, %7, %6
    yield %8
  %10:f32x4 = shuffle %9, %9, [1 2 _ 7]
  %11:i1 = gt %0, %1
  if %11
    store @1.y[%1] = %10 where %3
  if %11 -> %14:f32
    %12:f32 = extract %10, lane 3
    yield %12
  else
    %13:f32 = const_float 1e-09
    yield %13
  store @1.y[%0] = %14
)");
}

TEST(KernelText, EveryOperationHasItsOwnName) {
  std::vector<std::string_view> names;
  for (int op = 0; op <= static_cast<int>(Op::If); ++op) names.push_back(to_string(static_cast<Op>(op)));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_EQ(to_string(Op::Ldexp), "ldexp");
  EXPECT_EQ(to_string(Op::If), "if");
  EXPECT_EQ(to_string(Op::Sqrt), "sqrt");
}

}  // namespace
}  // namespace temper::lower
