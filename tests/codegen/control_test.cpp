// Loops, branches, addresses and phases, against the interpreter; and random programs made of all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>
#include <thread>

#include "codegen/differential.h"
#include "codegen/kernels.h"
#include "temper/support/error.h"

namespace temper::codegen {
namespace {

using lower::BufferRole;
using lower::Kernel;
using lower::KernelBuilder;
using lower::Op;
using lower::Scalar;
using lower::Type;
using lower::Value;
using Values = std::vector<Value>;

constexpr Type kF32{Scalar::F32, 1};

std::vector<std::byte> counting(std::int64_t count) {
  std::vector<std::byte> memory(static_cast<std::size_t>(count) * 4);
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = static_cast<float>((i * 37) % 101) / 8.0f;
    std::memcpy(memory.data() + i * 4, &value, 4);
  }
  return memory;
}

struct Program {
  Kernel kernel;
  Memory memory;
  int x, y;
  explicit Program(std::int64_t extent = 3) {
    x = add_buffer(kernel, "x", BufferRole::Input, ir::DType::F32, 512);
    y = add_buffer(kernel, "y", BufferRole::Output, ir::DType::F32, 512);
    memory = {counting(512), std::vector<std::byte>(2048, std::byte{0x55})};
    add_phase(kernel, "p", extent);
  }
  KernelBuilder builder() { return {kernel, kernel.run[0].body}; }
  Value index() const { return kernel.run[0].index; }
  void expect_equal() const {
    for (const target::Target& t : runnable_targets()) {
      Generator generator(t);
      EXPECT_EQ(difference(kernel, generator, memory), "") << print(kernel);
    }
  }
};

TEST(Control, TripCounts) {
  Program p(1);
  KernelBuilder b = p.builder();
  std::int64_t at = 0;
  // begin, end, step: none, one, several, a remainder, negative begin
  for (const auto& [begin, end, step] : std::vector<std::tuple<int, int, int>>{
           {0, 0, 1}, {5, 2, 1}, {3, 4, 1}, {0, 3, 8}, {0, 7, 1}, {0, 7, 3}, {-6, 7, 4}}) {
    const auto sum =
        b.for_loop(b.const_int(begin), b.const_int(end), step, {b.const_float(0.5, kF32), b.const_int(10)},
                   [&](KernelBuilder& in, Value i, std::span<const Value> c) {
                     return Values{in.add(c[0], in.load(p.x, in.add(i, in.const_int(20)), 1)), in.add(c[1], i)};
                   });
    b.store(p.y, b.const_int(at++), sum[0]);
    b.store(p.y, b.const_int(at++), b.cast(sum[1], Scalar::F32));
  }
  p.expect_equal();
}

TEST(Control, BoundsKnownAtRunTimeOnly) {
  Program p(6);
  KernelBuilder b = p.builder();
  const Value start = b.binary(Op::Mod, p.index(), b.const_int(3));
  const Value end = b.binary(Op::Min, b.mul(p.index(), b.const_int(2)), b.const_int(7));
  const auto sum =
      b.for_loop(start, end, 2, {b.const_float(-1, kF32)}, [&](KernelBuilder& in, Value i, std::span<const Value> c) {
        return Values{in.fma(in.load(p.x, in.add(in.mul(i, in.const_int(5)), p.index()), 1), c[0], c[0])};
      });
  b.store(p.y, p.index(), sum[0]);
  p.expect_equal();
}

TEST(Control, DistanceIsConstantThoughBoundsAreNot) {
  Program p(4);
  KernelBuilder b = p.builder();
  const Value begin = b.mul(p.index(), b.const_int(9));
  for (const int count : {0, 1, 4}) {
    b.for_loop(begin, b.add(begin, b.const_int(count)), 1, {}, [&](KernelBuilder& in, Value i, std::span<const Value>) {
      in.store(p.y, in.add(i, in.const_int(count * 40)), in.load(p.x, i, 1));
      return Values{};
    });
  }
  p.expect_equal();
}

TEST(Control, BranchesYieldAndNest) {
  Program p(9);
  KernelBuilder b = p.builder();
  const auto is = [&](KernelBuilder& in, int modulus, int rest) {
    return in.binary(Op::Eq, in.binary(Op::Mod, p.index(), in.const_int(modulus)), in.const_int(rest));
  };
  const auto chosen = b.if_else(
      is(b, 3, 0),
      [&](KernelBuilder& in) {
        const auto inner = in.if_else(
            is(in, 2, 1),
            [&](KernelBuilder& deep) { return Values{deep.load(p.x, deep.add(p.index(), deep.const_int(100)), 1)}; },
            [&](KernelBuilder& deep) { return Values{deep.const_float(2, kF32)}; });
        return Values{inner[0], in.mul(p.index(), in.const_int(3))};
      },
      [&](KernelBuilder& in) { return Values{in.load(p.x, in.mul(p.index(), in.const_int(7)), 1), in.const_int(-4)}; });
  b.store(p.y, p.index(), b.add(chosen[0], b.cast(chosen[1], Scalar::F32)));
  b.if_else(is(b, 4, 1),
            [&](KernelBuilder& in) {
              in.store(p.y, in.add(p.index(), in.const_int(50)), in.load(p.x, p.index(), 1));
              return Values{};
            },
            {});
  p.expect_equal();
}

TEST(Control, SumsMadeInOneBranchAreMadeAgainElsewhere) {
  Program p(8);
  KernelBuilder b = p.builder();
  const Value sum =
      b.add(b.mul(p.index(), b.const_int(6)), b.const_int(11));  // used as a value first inside a branch, then after it
  const Value condition = b.binary(Op::Gt, p.index(), b.const_int(4));
  b.if_else(
      condition,
      [&](KernelBuilder& in) {
        in.store(p.y, p.index(), in.cast(sum, Scalar::F32));
        return Values{};
      },
      [&](KernelBuilder& in) {
        in.store(p.y, in.add(p.index(), in.const_int(20)), in.cast(sum, Scalar::F32));
        return Values{};
      });
  b.store(p.y, b.add(p.index(), b.const_int(40)), b.cast(sum, Scalar::F32));
  p.expect_equal();
}

TEST(Control, SlicesThatShareBytesKeepTheirOrder) {
  Program p(2);
  p.kernel.run[0].scratch_bytes = 256;
  for (const std::int64_t offset : {0, 16, 128}) {
    p.kernel.buffers.push_back(
        {"s" + std::to_string(offset), BufferRole::Scratch, ir::DType::F32, 16, offset, -1, true});
  }
  KernelBuilder b = p.builder();
  b.store(2, b.const_int(4), b.load(p.x, b.const_int(0), 8));
  b.store(3, b.const_int(0), b.load(p.x, b.const_int(50), 8));  // the same bytes
  b.store(4, b.const_int(0), b.load(p.x, b.const_int(90), 8));
  b.store(p.y, b.mul(p.index(), b.const_int(8)), b.add(b.load(2, b.const_int(4), 8), b.load(4, b.const_int(0), 8)));
  p.expect_equal();
}

TEST(Control, PrepareFillsTheBlobThatRunReads) {
  Kernel k;
  const int w = add_buffer(k, "w", BufferRole::Constant, ir::DType::F32, 64);
  const int y = add_buffer(k, "y", BufferRole::Output, ir::DType::F32, 64);
  k.arguments.push_back({"blob", BufferRole::Blob, ir::DType::U8, 64 + 256, true});
  k.buffers.push_back({"packed", BufferRole::Blob, ir::DType::F32, 64, 64, 2, true});
  k.prepare.push_back({"pack", 8, k.new_value({Scalar::I64, 1}), {}, 0});
  {
    KernelBuilder b(k, k.prepare[0].body);
    b.for_loop(b.const_int(0), b.const_int(8), 1, {}, [&](KernelBuilder& in, Value j, std::span<const Value>) {
      in.store(2, in.add(in.mul(j, in.const_int(8)), k.prepare[0].index),
               in.load(w, in.add(in.mul(k.prepare[0].index, in.const_int(8)), j), 1));
      return Values{};
    });
  }
  add_phase(k, "", 4);
  KernelBuilder b(k, k.run[0].body);
  b.store(y, b.mul(k.run[0].index, b.const_int(16)), b.load(2, b.mul(k.run[0].index, b.const_int(16)), 16));
  for (const target::Target& t : runnable_targets()) {
    Generator generator(t);
    EXPECT_EQ(difference(k, generator, {counting(64), std::vector<std::byte>(256), std::vector<std::byte>(320)}), "");
  }
}

TEST(Control, TailMasksOfEveryKind) {
  for (const int lanes : {2, 8, 16, 32}) {
    Program p(9);
    KernelBuilder b = p.builder();
    const Type indices{Scalar::I64, lanes};
    const Value position = b.add(b.iota(lanes), b.broadcast(b.mul(p.index(), b.const_int(5)), lanes));
    const Value twice = b.add(b.mul(b.iota(lanes), b.const_int(2, indices)), b.broadcast(p.index(), lanes));
    std::int64_t at = 0;
    for (const Op op : {Op::Lt, Op::Le, Op::Gt, Op::Ge, Op::Eq, Op::Ne}) {
      const Value masks[] = {
          b.binary(op, position, b.const_int(20, indices)), b.binary(op, twice, position),
          b.binary(op, b.const_int(7, indices), b.iota(lanes)),
          b.binary(op, b.iota(lanes), b.broadcast(b.sub(p.index(), b.const_int(4)), lanes)),
          b.binary(op, b.mul(b.iota(lanes), b.const_int(1 << 21, indices)), b.broadcast(p.index(), lanes))};
      Value sum = b.const_float(0, {Scalar::F32, lanes});
      for (const Value mask : masks)
        sum = b.fma(sum, b.const_float(2, {Scalar::F32, lanes}), b.cast(mask, Scalar::F32));
      b.store(p.y, b.add(p.index(), b.const_int(at)), sum);
      at += 80;
    }
    p.expect_equal();
  }
}

TEST(Artifact, DescribesItself) {
  Kernel k;
  add_buffer(k, "in", BufferRole::Input, ir::DType::F32, 10);
  add_buffer(k, "weights", BufferRole::Constant, ir::DType::I8, 7);
  k.arguments.back().used_by_run = false;
  add_buffer(k, "out", BufferRole::Output, ir::DType::Bool, 3);
  k.prepare.push_back({"first", 2, k.new_value({Scalar::I64, 1}), {}, 0});
  add_phase(k, "second", 5).scratch_bytes = 192;
  add_phase(k, "third", 6);
  const Generated g = generate(k, target::detect());
  const Loaded loaded(g.artifact);
  const temper_artifact& a = loaded.info();
  EXPECT_EQ(a.magic, TEMPER_ARTIFACT_MAGIC);
  EXPECT_EQ(a.abi_version, TEMPER_ARTIFACT_ABI_VERSION);
  ASSERT_EQ(a.buffer_count, 3);
  ASSERT_EQ(a.prepare_count, 1);
  ASSERT_EQ(a.run_count, 2);
  EXPECT_STREQ(a.buffers[1].name, "weights");
  EXPECT_EQ(a.buffers[1].role, TEMPER_CONSTANT);
  EXPECT_EQ(a.buffers[1].dtype, TEMPER_I8);
  EXPECT_EQ(a.buffers[1].bytes, 7);
  EXPECT_EQ(a.buffers[1].used_by_run, 0);
  EXPECT_EQ(a.buffers[2].dtype, TEMPER_BOOL);
  EXPECT_EQ(a.buffers[2].used_by_run, 1);
  EXPECT_EQ(a.prepare[0].extent, 2);
  EXPECT_EQ(a.run[0].extent, 5);
  EXPECT_EQ(a.run[0].scratch_bytes, 192);
  EXPECT_EQ(a.run[1].extent, 6);
  ASSERT_EQ(g.phases.size(), 3u);
  EXPECT_EQ(g.phases[0].name, "prepare.0.first");
  EXPECT_EQ(g.phases[2].name, "run.1.third");
}

TEST(Artifact, RangesOfAPhaseAreIndependent) {
  Program p(10);
  KernelBuilder b = p.builder();
  b.store(p.y, p.index(), b.load(p.x, p.index(), 1));
  const Loaded loaded(generate(p.kernel, target::detect()).artifact);
  std::vector<float> x(512), y(512, -1.0f);
  std::iota(x.begin(), x.end(), 0.0f);
  void* buffers[] = {x.data(), y.data()};
  loaded.info().run[0].fn(buffers, nullptr, 3, 6);
  loaded.info().run[0].fn(buffers, nullptr, 8, 8);
  EXPECT_EQ(std::vector<float>(y.begin(), y.begin() + 10), (std::vector<float>{-1, -1, -1, 3, 4, 5, -1, -1, -1, -1}));
}

TEST(Artifact, EqualKernelsGiveEqualBytes) {
  const Kernel k = gemm(12, 32, 8, 6, 2, 8, 2);
  Generator generator(target::detect());
  const Artifact first = generator.generate(k).artifact;
  EXPECT_EQ(generator.generate(k).artifact.bytes, first.bytes);
  EXPECT_EQ(Generator(target::detect()).generate(gemm(12, 32, 8, 6, 2, 8, 2)).artifact.bytes, first.bytes);
}

TEST(Artifact, GeneratorsWorkSideBySide) {
  const Kernel k = gemm(12, 32, 8, 6, 2, 8, 2);
  const Artifact expected = generate(k, target::detect()).artifact;
  std::vector<std::thread> threads;
  std::vector<int> equal(3, 0);
  for (int& e : equal) {
    threads.emplace_back([&] {
      Generator generator(target::detect());
      for (int i = 0; i < 5; ++i) e += generator.generate(k).artifact.bytes == expected.bytes ? 1 : 0;
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(equal, (std::vector<int>{5, 5, 5}));
}

TEST(Generator, RefusesWhatItCannotDo) {
  EXPECT_THROW(Generator(target::limit_vector_bytes(target::detect(), 16)), Error);
  Program p(1);
  KernelBuilder b = p.builder();
  b.store(p.y, b.const_int(0), b.unary(Op::Exp, b.load(p.x, b.const_int(0), 8)));
  try {
    generate(p.kernel, target::detect());
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::Unsupported);
    EXPECT_EQ(e.message(), "the LLVM code generator has no 'exp'");
  }
}

TEST(Generator, RegisterTilesDoNotSpill) {
  for (const target::Target& t : runnable_targets()) {
    const bool wide = t.vector_bytes == 64;
    CodegenOptions options;
    options.keep_assembly = true;
    const Generated g =
        Generator(t).generate(wide ? gemm(12, 128, 64, 6, 4, 16, 4) : gemm(12, 128, 64, 6, 2, 8, 4), options);
    EXPECT_EQ(g.phases[0].spills, 0) << g.assembly;
    EXPECT_EQ(g.phases[0].reloads, 0);
    EXPECT_GT(g.phases[0].instructions, 48);
    EXPECT_NE(g.assembly.find(wide ? "zmm24" : "ymm12"), std::string::npos) << g.assembly;
  }
  const Generated over = Generator(target::detect()).generate(gemm(16, 256, 64, 8, 8, 8, 1));
  EXPECT_GT(over.phases[0].spills, 0) << "64 accumulators fit into no register file";
}

TEST(Generator, ContractsOnlyWhereAllowed) {
  Program p(1);
  KernelBuilder b = p.builder();
  const Value x = b.load(p.x, b.const_int(0), 8);
  b.store(p.y, b.const_int(0), b.add(b.mul(x, x), x));
  CodegenOptions options;
  options.keep_assembly = true;
  EXPECT_NE(generate(p.kernel, target::detect(), options).assembly.find("vfmadd"), std::string::npos);
  options.contract = false;
  EXPECT_EQ(generate(p.kernel, target::detect(), options).assembly.find("vfmadd"), std::string::npos);
}

/// Random programs: nested loops and branches over loads, stores and arithmetic, every access within its buffer.
class RandomProgram {
 public:
  explicit RandomProgram(std::uint32_t seed) : program_(static_cast<std::int64_t>(seed % 4) + 1), random_(seed) {
    kernel().run[0].scratch_bytes = 4096;
    kernel().buffers.push_back({"s", BufferRole::Scratch, ir::DType::F32, 512, 0, -1, true});
    kernel().buffers.push_back(
        {"t", BufferRole::Scratch, ir::DType::F32, 256, 3072 - 1024 * static_cast<std::int64_t>(seed % 3), -1, true});
    kernel().buffers.push_back({"l", BufferRole::Stack, ir::DType::F32, 128, 0, -1, true});
    KernelBuilder b = program_.builder();
    for (const int buffer : {2, 3, 4}) fill(b, buffer);
    Scope scope;
    scope.indices.emplace_back(program_.index(), kernel().run[0].extent - 1);
    for (const int lanes : {1, 8, 16, 3}) scope.floats.push_back(b.load(program_.x, b.const_int(lanes), lanes));
    block(b, scope, 3);
  }
  const Program& program() const { return program_; }

 private:
  struct Scope {
    std::vector<std::pair<Value, std::int64_t>> indices;  ///< values within 0..second
    Values floats;
  };
  Kernel& kernel() { return program_.kernel; }
  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint32_t>(n)); }
  Type type(Value v) { return kernel().types[static_cast<std::size_t>(v)]; }

  void fill(KernelBuilder& b, int buffer) {
    const std::int64_t n = kernel().buffers[static_cast<std::size_t>(buffer)].elements;
    b.for_loop(b.const_int(0), b.const_int(n), 1, {}, [&](KernelBuilder& in, Value i, std::span<const Value>) {
      in.store(buffer, i, in.load(program_.x, i, 1));
      return Values{};
    });
  }

  /// An offset such that `lanes` elements from it are inside the buffer: a sum of scaled indices and a constant.
  Value offset(KernelBuilder& b, const Scope& s, int buffer, int lanes) {
    std::int64_t room = kernel().buffers[static_cast<std::size_t>(buffer)].elements - lanes;
    Value sum = b.const_int(0);
    for (int terms = pick(4); terms > 0; --terms) {
      const auto& [value, highest] = s.indices[static_cast<std::size_t>(pick(static_cast<int>(s.indices.size())))];
      const std::int64_t most = highest == 0 ? 16 : std::min<std::int64_t>(16, room / highest);
      const std::int64_t factor = pick(static_cast<int>(most) + 1);
      room -= factor * highest;
      const Value term = b.mul(value, b.const_int(factor));
      sum = pick(2) == 0 ? b.add(sum, term) : b.add(term, sum);
    }
    return b.add(sum, b.const_int(pick(static_cast<int>(room) + 1)));
  }
  Value any_float(const Scope& s) {
    return s.floats[static_cast<std::size_t>(pick(static_cast<int>(s.floats.size())))];
  }
  Value like(KernelBuilder& b, const Scope& s, Value v) {
    for (int tries = 0; tries < 4; ++tries) {
      const Value other = any_float(s);
      if (type(other) == type(v)) return other;
    }
    return b.const_float(pick(8) - 4, type(v));
  }
  Value mask(KernelBuilder& b, const Scope& s, int lanes) {
    if (pick(2) == 0) return b.const_mask(random_(), lanes);
    const auto& [value, highest] = s.indices[static_cast<std::size_t>(pick(static_cast<int>(s.indices.size())))];
    return b.binary(Op::Lt, b.iota(lanes), b.broadcast(value, lanes));
  }

  void block(KernelBuilder& b, Scope s, int depth) {
    for (int n = 3 + pick(8); n > 0; --n) statement(b, s, depth);
  }

  void statement(KernelBuilder& b, Scope& s, int depth) {
    switch (pick(depth > 0 ? 10 : 7)) {
      case 0: {
        const Value a = any_float(s), c = like(b, s, a);
        constexpr Op kOps[] = {Op::Add, Op::Sub, Op::Mul, Op::Min, Op::Max};
        s.floats.push_back(b.binary(kOps[pick(5)], a, c));
        break;
      }
      case 1: {
        const Value a = any_float(s);
        s.floats.push_back(b.fma(a, like(b, s, a), like(b, s, a)));
        break;
      }
      case 2: {
        const Value a = any_float(s);
        s.floats.push_back(b.select(b.binary(Op::Lt, a, like(b, s, a)), like(b, s, a), a));
        break;
      }
      case 3:
      case 4: {
        const int buffer = pick(5) == 0 ? program_.x : 1 + pick(4),
                  lanes = std::array{1, 3, 8, 16}[static_cast<std::size_t>(pick(4))];
        if (buffer == program_.y) break;  // an output that is read before it is written would be undefined
        const Value at = offset(b, s, buffer, lanes);
        s.floats.push_back(pick(3) == 0 ? b.load(buffer, at, lanes, mask(b, s, lanes)) : b.load(buffer, at, lanes));
        break;
      }
      case 5:
      case 6: {
        const int buffer = 1 + pick(4);
        const Value value = any_float(s);
        const Value at = offset(b, s, buffer, type(value).lanes);
        pick(3) == 0 ? b.store(buffer, at, value, mask(b, s, type(value).lanes)) : b.store(buffer, at, value);
        break;
      }
      case 7: {
        const Value a = any_float(s);
        const std::int64_t begin = pick(3), count = pick(4), step = 1 + pick(2);
        const bool dynamic = pick(3) == 0;
        const auto& [bound, highest] = s.indices[static_cast<std::size_t>(pick(static_cast<int>(s.indices.size())))];
        const Value end = dynamic ? b.add(bound, b.const_int(begin)) : b.const_int(begin + count);
        const std::int64_t last = begin + std::max<std::int64_t>(dynamic ? highest : count, 1);
        const auto results = b.for_loop(
            b.const_int(begin), end, step, {a},
            [&](KernelBuilder& in, Value i, std::span<const Value> c) {
              Scope inner = s;
              inner.indices.emplace_back(i, last);
              inner.floats.push_back(c[0]);
              block(in, inner, depth - 1);
              return Values{in.fma(c[0], in.const_float(0.25, type(a)), like(in, inner, a))};
            },
            pick(4) == 0);
        s.floats.push_back(results[0]);
        break;
      }
      case 8: {
        const auto& [value, highest] = s.indices[static_cast<std::size_t>(pick(static_cast<int>(s.indices.size())))];
        const Value condition = b.binary(Op::Gt, value, b.const_int(pick(2)));
        const Value a = any_float(s);
        const auto results = b.if_else(
            condition,
            [&](KernelBuilder& in) {
              block(in, s, depth - 1);
              return Values{in.unary(Op::Neg, a)};
            },
            [&](KernelBuilder& in) {
              block(in, s, depth - 1);
              return Values{a};
            });
        s.floats.push_back(results[0]);
        break;
      }
      default: {  // an index that is no sum
        const auto& [value, highest] = s.indices[static_cast<std::size_t>(pick(static_cast<int>(s.indices.size())))];
        const std::int64_t divisor = 2 + pick(3);
        s.indices.emplace_back(b.binary(Op::Mod, b.add(value, b.const_int(pick(9))), b.const_int(divisor)),
                               divisor - 1);
        break;
      }
    }
  }

  Program program_;
  std::mt19937 random_;
};

TEST(Control, RandomProgramsGiveWhatTheInterpreterGives) {
  const std::vector<target::Target> targets = runnable_targets();
  std::vector<Generator> generators;
  for (const target::Target& t : targets) generators.emplace_back(t);
  const char* more = std::getenv("TEMPER_FUZZ_SEEDS");
  const std::uint32_t seeds = more == nullptr ? 120 : static_cast<std::uint32_t>(std::stoul(more));
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    const RandomProgram random(seed);
    const Program& p = random.program();
    for (Generator& g : generators)
      ASSERT_EQ(difference(p.kernel, g, p.memory), "") << "seed " << seed << '\n' << print(p.kernel);
  }
}

}  // namespace
}  // namespace temper::codegen
