// Expanded elementary functions as machine code: the same bits as the interpreter gives, on every target.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "codegen/differential.h"
#include "codegen/kernels.h"

namespace temper::codegen {
namespace {

using lower::BufferRole;
using lower::Kernel;
using lower::KernelBuilder;
using lower::Op;
using lower::Value;

TEST(Math, CodeEqualsTheInterpreter) {
  constexpr std::int64_t kCount = 2048;
  std::mt19937_64 random(3);
  Memory inputs(2);
  for (auto& memory : inputs) {
    for (std::int64_t i = 0; i < kCount; ++i) {
      constexpr float kSpecial[] = {0.0f,
                                    -0.0f,
                                    std::numeric_limits<float>::infinity(),
                                    -std::numeric_limits<float>::infinity(),
                                    std::numeric_limits<float>::quiet_NaN(),
                                    1e-40f,
                                    -88.5f,
                                    -100.0f,
                                    88.8f,
                                    1.0f,
                                    -1.0f,
                                    3.4e38f};
      float x = static_cast<float>(std::ldexp(static_cast<double>(random()), -64) * 20 - 10);
      if (i % 8 == 0) x = kSpecial[random() % std::size(kSpecial)];
      if (i % 8 == 1) x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
      const auto* bytes = reinterpret_cast<const std::byte*>(&x);
      memory.insert(memory.end(), bytes, bytes + 4);
    }
  }
  for (const target::Target& t : runnable_targets()) {
    Generator generator(t);
    for (const int lanes : {1, t.vector_bytes / 4, t.vector_bytes / 2}) {
      Kernel k;
      add_buffer(k, "x", BufferRole::Input, ir::DType::F32, kCount);
      add_buffer(k, "y", BufferRole::Input, ir::DType::F32, kCount);
      Memory memory = inputs;
      add_phase(k, "math", kCount / lanes);
      KernelBuilder b(k, k.run[0].body);
      const Value at = b.mul(k.run[0].index, b.const_int(lanes));
      const Value x = b.load(0, at, lanes), y = b.load(1, at, lanes);
      const Value non_positive = b.unary(Op::Neg, b.unary(Op::Abs, x));
      for (const Op op : {Op::Exp, Op::ExpNonPositive, Op::Log, Op::Tanh, Op::Erf, Op::Sigmoid, Op::Sin, Op::Cos,
                          Op::Pow, Op::Rsqrt, Op::Sign}) {
        const int out = add_buffer(k, std::string(to_string(op)), BufferRole::Output, ir::DType::F32, kCount);
        memory.emplace_back(static_cast<std::size_t>(kCount) * 4);
        b.store(out, at, op == Op::Pow ? b.binary(op, x, y) : b.unary(op, op == Op::ExpNonPositive ? non_positive : x));
      }
      expand_math(k);
      EXPECT_EQ(difference(k, generator, memory), "") << "lanes " << lanes;
    }
  }
}

}  // namespace
}  // namespace temper::codegen
