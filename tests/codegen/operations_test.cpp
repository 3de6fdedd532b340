// Every operation, for every type and for lane counts with and without a register of that size, against the
// interpreter.
#include <gtest/gtest.h>

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
using lower::Scalar;
using lower::Type;
using lower::Value;

constexpr int kLanes[] = {1, 2, 3, 4, 5, 8, 12, 16, 24, 32};
constexpr std::int64_t kBlocks = 5;

struct Element {
  ir::DType dtype;
  const char* name;
};
constexpr Element kElements[] = {{ir::DType::F32, "F32"}, {ir::DType::F64, "F64"}, {ir::DType::I8, "I8"},
                                 {ir::DType::U8, "U8"},   {ir::DType::I32, "I32"}, {ir::DType::I64, "I64"}};

/// Numbers of every size, with the special ones among them.
std::vector<std::byte> numbers(ir::DType dtype, std::int64_t count, std::uint32_t seed) {
  std::vector<std::byte> memory(static_cast<std::size_t>(count * ir::bytes(dtype)));
  std::mt19937_64 random(seed);
  const auto fill = [&]<class T>(T) {
    for (std::int64_t i = 0; i < count; ++i) {
      T value;
      if constexpr (std::is_floating_point_v<T>) {
        constexpr T kSpecial[] = {T(0),
                                  -T(0),
                                  T(1),
                                  T(-1),
                                  T(0.5),
                                  T(2.5),
                                  std::numeric_limits<T>::infinity(),
                                  -std::numeric_limits<T>::infinity(),
                                  std::numeric_limits<T>::quiet_NaN(),
                                  std::numeric_limits<T>::max(),
                                  std::numeric_limits<T>::denorm_min()};
        value = random() % 4 == 0 ? kSpecial[random() % std::size(kSpecial)]
                                  : T(std::ldexp(double(std::int64_t(random())), -int(random() % 70)));
      } else {
        constexpr T kSpecial[] = {
            T(0), T(1), T(-1), T(2), T(7), std::numeric_limits<T>::max(), std::numeric_limits<T>::min()};
        value = random() % 3 == 0 ? kSpecial[random() % std::size(kSpecial)] : T(random() >> random() % 64);
      }
      std::memcpy(memory.data() + static_cast<std::size_t>(i) * sizeof(T), &value, sizeof(T));
    }
  };
  switch (dtype) {
    case ir::DType::F32: fill(float{}); break;
    case ir::DType::F64: fill(double{}); break;
    case ir::DType::I8: fill(std::int8_t{}); break;
    case ir::DType::I32: fill(std::int32_t{}); break;
    case ir::DType::I64: fill(std::int64_t{}); break;
    default: fill(std::uint8_t{}); break;
  }
  return memory;
}

/// A kernel whose phase loads vectors a, b and c of one type and stores what the test computes from them.
class Sheet {
 public:
  Sheet(ir::DType dtype, int lanes) : dtype_(dtype), lanes_(lanes), count_(kBlocks * lanes) {
    for (const char* name : {"a", "b", "c"}) {
      add_buffer(kernel, name, BufferRole::Input, dtype, count_);
      memory.push_back(numbers(dtype, count_, static_cast<std::uint32_t>(memory.size()) + 1));
    }
    add_phase(kernel, "sheet", kBlocks);
    const Value start = builder().mul(kernel.run[0].index, builder().const_int(lanes));
    offset = start;
    a = builder().load(0, offset, lanes);
    b = builder().load(1, offset, lanes);
    c = builder().load(2, offset, lanes);
  }
  KernelBuilder builder() { return {kernel, kernel.run[0].body}; }
  const Type& type(Value v) const { return kernel.types[static_cast<std::size_t>(v)]; }

  /// Stores `v` into an output of its own; I1 becomes bytes.
  void out(const std::string& name, Value v) {
    if (type(v).scalar == Scalar::I1) v = builder().cast(v, Scalar::I8);
    const int lanes = type(v).lanes;
    const ir::DType dtype = type(v).scalar == type(a).scalar ? dtype_ : dtype_of(type(v).scalar);
    const int buffer = add_buffer(kernel, name, BufferRole::Output, dtype, kBlocks * lanes);
    memory.emplace_back(static_cast<std::size_t>(kBlocks * lanes * ir::bytes(dtype)), std::byte{0x55});
    const Value at = builder().mul(kernel.run[0].index, builder().const_int(lanes));
    builder().store(buffer, at, v);
  }
  static ir::DType dtype_of(Scalar s) {
    switch (s) {
      case Scalar::F32: return ir::DType::F32;
      case Scalar::F64: return ir::DType::F64;
      case Scalar::U8: return ir::DType::U8;
      case Scalar::I32: return ir::DType::I32;
      case Scalar::I64: return ir::DType::I64;
      default: return ir::DType::I8;
    }
  }
  void add_input(const char* name, ir::DType dtype, std::vector<std::byte> bytes) {
    add_buffer(kernel, name, BufferRole::Input, dtype, static_cast<std::int64_t>(bytes.size()) / ir::bytes(dtype));
    memory.push_back(std::move(bytes));
  }
  void expect_equal(Generator& generator) const {
    EXPECT_EQ(difference(kernel, generator, memory), "") << "lanes " << lanes_ << '\n' << print(kernel);
  }

  Kernel kernel;
  Memory memory;
  Value offset{}, a{}, b{}, c{};

 private:
  ir::DType dtype_;
  int lanes_;
  std::int64_t count_;
};

class Operations : public testing::TestWithParam<Element> {
 protected:
  /// Runs `fill` on a fresh sheet for each lane count and target.
  template <class Fill>
  void for_each_sheet(const Fill& fill) {
    for (const target::Target& t : runnable_targets()) {
      Generator generator(t);
      for (const int lanes : kLanes) {
        Sheet sheet(GetParam().dtype, lanes);
        KernelBuilder b = sheet.builder();
        fill(sheet, b);
        sheet.expect_equal(generator);
        if (HasFailure()) return;
      }
    }
  }
  bool is_float() const { return ir::is_float(GetParam().dtype); }
};

TEST_P(Operations, Arithmetic) {
  for_each_sheet([&](Sheet& s, KernelBuilder& b) {
    for (const Op op : {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Min, Op::Max})
      s.out(std::string(to_string(op)), b.binary(op, s.a, s.b));
    for (const Op op : {Op::Neg, Op::Abs}) s.out(std::string(to_string(op)), b.unary(op, s.a));
    if (is_float()) {
      s.out("fma", b.fma(s.a, s.b, s.c));
      for (const Op op : {Op::Sqrt, Op::Floor, Op::Ceil, Op::Round})
        s.out(std::string(to_string(op)), b.unary(op, s.a));
      s.out("max0", b.binary(Op::Max, s.a, b.const_float(0, s.type(s.a))));
      s.out("min6", b.binary(Op::Min, b.const_float(6, s.type(s.a)), s.a));
    }
  });
}

TEST_P(Operations, Ldexp) {
  if (!is_float()) return;
  for_each_sheet([&](Sheet& s, KernelBuilder& b) {
    // exponents -1200..1200, in steps that also land on subnormal results
    const Type t = s.type(s.a);
    const Value clipped = b.binary(Op::Max, b.const_float(-1200, t), b.binary(Op::Min, b.const_float(1200, t), s.b));
    const Value number = b.binary(Op::Eq, clipped, clipped);
    const Value exponent = b.select(number, b.unary(Op::Round, clipped), b.const_float(3, t));
    const Value one = b.const_float(1.25, t);
    s.out("ldexp", b.binary(Op::Ldexp, one, exponent));
    s.out("small", b.binary(Op::Ldexp, one, b.const_float(-130, t)));
    s.out("tiny", b.binary(Op::Ldexp, one, b.const_float(-1050, t)));
    s.out("large", b.binary(Op::Ldexp, one, b.const_float(127, t)));
  });
}

TEST_P(Operations, Comparison) {
  for_each_sheet([&](Sheet& s, KernelBuilder& b) {
    for (const Op op : {Op::Lt, Op::Le, Op::Gt, Op::Ge, Op::Eq, Op::Ne}) {
      s.out(std::string(to_string(op)), b.binary(op, s.a, s.b));
      s.out(std::string(to_string(op)) + "_self", b.binary(op, s.a, s.a));
    }
  });
}

TEST_P(Operations, Selection) {
  for_each_sheet([&](Sheet& s, KernelBuilder& b) {
    const Value less = b.binary(Op::Lt, s.a, s.b), equal = b.binary(Op::Eq, s.a, s.c);
    s.out("select", b.select(less, s.b, s.c));
    const Value odd = b.binary(Op::Eq, b.binary(Op::Mod, s.kernel.run[0].index, b.const_int(2)), b.const_int(1));
    s.out("by_scalar", b.select(odd, s.b, s.c));
    for (const Op op : {Op::And, Op::Or, Op::Xor})
      s.out("mask_" + std::string(to_string(op)), b.binary(op, less, equal));
    s.out("mask_not", b.unary(Op::Not, less));
    s.out("mask_eq", b.binary(Op::Eq, less, equal));
    s.out("mask_select", b.select(less, equal, b.unary(Op::Not, equal)));
    if (s.type(s.a).lanes <= 64)
      s.out("const_mask", b.select(b.const_mask(0xa5a5f00f37u, s.type(s.a).lanes), s.b, s.c));
  });
}

TEST_P(Operations, Bits) {
  if (is_float()) return;
  for_each_sheet([&](Sheet& s, KernelBuilder& b) {
    const Type t = s.type(s.a);
    for (const Op op : {Op::And, Op::Or, Op::Xor}) s.out(std::string(to_string(op)), b.binary(op, s.a, s.b));
    s.out("not", b.unary(Op::Not, s.a));
    const Value amount = b.binary(Op::And, s.b, b.const_int(7, t));
    for (const Op op : {Op::Shl, Op::LShr}) {
      s.out(std::string(to_string(op)), b.binary(op, s.a, amount));
      s.out(std::string(to_string(op)) + "_3", b.binary(op, s.a, b.const_int(3, t)));
    }
    for (const std::int64_t divisor : {1, 2, 3, 8, 10, 127}) {
      s.out("floor_div_" + std::to_string(divisor), b.binary(Op::FloorDiv, s.a, b.const_int(divisor, t)));
      s.out("mod_" + std::to_string(divisor), b.binary(Op::Mod, s.a, b.const_int(divisor, t)));
    }
  });
}

TEST_P(Operations, Casts) {
  for_each_sheet([&](Sheet& s, KernelBuilder& b) {
    // Within -100..100 (0..100 for U8), which every type holds.
    const Type t = s.type(s.a);
    Value small = s.a;
    if (is_float()) {
      small = b.binary(Op::Max, b.const_float(-100.75, t), b.binary(Op::Min, b.const_float(100.75, t), s.a));
      small = b.select(b.binary(Op::Eq, s.a, s.a), small, b.const_float(-2.5, t));
    } else {
      small = b.binary(Op::Mod, s.a, b.const_int(100, t));
    }
    for (const Scalar to : {Scalar::F32, Scalar::F64, Scalar::I8, Scalar::I32, Scalar::I64, Scalar::I1}) {
      s.out("to_" + std::to_string(static_cast<int>(to)), b.cast(small, to));
      if (to == Scalar::I1) s.out("from_i1", b.cast(b.cast(small, to), t.scalar));
    }
    s.out("to_u8", b.cast(b.unary(Op::Abs, small), Scalar::U8));
    if (!is_float()) {
      for (const Scalar to : {Scalar::I8, Scalar::U8, Scalar::I32, Scalar::I64})
        s.out("wrap_" + std::to_string(static_cast<int>(to)), b.cast(s.a, to));
    }
    if (t.scalar == Scalar::F32)
      s.out("bits", b.bitcast(b.add(b.bitcast(s.a, Scalar::I32), b.const_int(5, {Scalar::I32, t.lanes})), Scalar::F32));
    if (t.scalar == Scalar::F64) s.out("bits", b.bitcast(s.a, Scalar::I64));
    if (t.scalar == Scalar::U8) s.out("bits", b.bitcast(s.a, Scalar::I8));
  });
}

TEST_P(Operations, Lanes) {
  for_each_sheet([&](Sheet& s, KernelBuilder& b) {
    const int n = s.type(s.a).lanes;
    s.out("broadcast", b.broadcast(b.extract(s.a, n / 2), n));
    s.out("extract", b.extract(s.a, n - 1));
    s.out("insert", b.insert(s.a, b.extract(s.b, 0), n / 2));
    std::uint64_t whole = 0;
    std::vector<int> reverse, interleave, wide, narrow, holes;
    for (int i = 0; i < n; ++i) {
      reverse.push_back(n - 1 - i);
      interleave.push_back(i % 2 == 0 ? i / 2 : n + i / 2);
      holes.push_back(i % 3 == 1 ? -1 : (i * 7) % (2 * n));
      whole |= std::uint64_t{i % 3 == 1 ? 0u : 1u} << i;
    }
    for (int i = 0; i < 2 * n; ++i) wide.push_back(i);
    for (int i = 0; i < std::max(1, n / 2); ++i) narrow.push_back(n - 1 + i % 2);
    s.out("reverse", b.shuffle(s.a, s.b, reverse));
    s.out("interleave", b.shuffle(s.a, s.b, interleave));
    s.out("wide", b.shuffle(s.a, s.b, wide));
    s.out("narrow", b.shuffle(s.a, s.b, narrow));
    s.out("holes", b.select(b.const_mask(whole, n), b.shuffle(s.a, s.b, holes), s.c));
  });
}

TEST_P(Operations, MaskedMemory) {
  for_each_sheet([&](Sheet& s, KernelBuilder& b) {
    const int n = s.type(s.a).lanes;
    const Value zero = b.const_int(0);
    for (const std::uint64_t bits : {0ull, 1ull, 0x5a5a5a5aull, 0x7fffffffull, ~0ull}) {
      s.out("constant_mask_" + std::to_string(bits), b.load(0, s.offset, n, b.const_mask(bits, n)));
    }
    // The usual tail: lanes below a limit. Nothing beyond the buffer's end is touched.
    const Value last = b.const_int(kBlocks * n - 1);
    const Value limit = b.broadcast(b.sub(b.const_int(kBlocks * n), last), n);
    const Value tail = b.binary(Op::Lt, b.iota(n), limit);
    s.out("tail", b.load(1, last, n, tail));
    const int target = add_buffer(s.kernel, "masked_store", BufferRole::Output, GetParam().dtype, kBlocks * n);
    s.memory.push_back(numbers(GetParam().dtype, kBlocks * n, 9));
    b.store(target, s.offset, s.a, b.binary(Op::Lt, s.a, s.b));
    b.store(target, last, s.b, tail);
    // Lanes that are false whatever the values are, beside lanes that vary: whole registers of them in wide vectors.
    const Value some = b.binary(Op::And, b.binary(Op::Lt, s.a, s.b), b.const_mask(0x7, n));
    s.out("some_lanes", b.load(0, s.offset, n, some));
    s.out("some_lanes_again", b.load(1, s.offset, n, some));
    const Value uniform = b.broadcast(b.binary(Op::Gt, s.kernel.run[0].index, b.const_int(1)), n);
    s.out("uniform_lanes", b.load(0, s.offset, n, b.binary(Op::And, uniform, b.const_mask(0x7, n))));
    const Value scalar = b.load(0, zero, 1, b.binary(Op::Gt, s.kernel.run[0].index, b.const_int(2)));
    s.out("scalar_mask", scalar);
    b.store(target, zero, scalar, b.binary(Op::Eq, s.kernel.run[0].index, b.const_int(4)));
  });
}

TEST_P(Operations, GatherAndScatter) {
  for_each_sheet([&](Sheet& s, KernelBuilder& b) {
    const int n = s.type(s.a).lanes;
    std::vector<std::byte> indices(static_cast<std::size_t>(n) * 8);
    for (int i = 0; i < n; ++i) {
      const std::int64_t index = (i * 3 + 1) % n;  // not a permutation where n is a multiple of 3
      std::memcpy(indices.data() + static_cast<std::size_t>(i) * 8, &index, 8);
    }
    s.add_input("indices", ir::DType::I64, indices);
    const int from = static_cast<int>(s.kernel.buffers.size()) - 1;
    const Value zero = b.const_int(0);
    const Value loaded = b.load(from, zero, n);
    const Value mask = b.binary(Op::Lt, s.a, s.b);
    s.out("gather", b.gather(0, loaded));
    s.out("gather_masked", b.gather(0, loaded, mask));
    const Value strided =
        b.add(b.mul(b.iota(n), b.const_int(kBlocks, {Scalar::I64, n})), b.broadcast(s.kernel.run[0].index, n));
    s.out("gather_strided", b.gather(1, strided));
    const int target = add_buffer(s.kernel, "scattered", BufferRole::Output, GetParam().dtype, kBlocks * n);
    s.memory.push_back(numbers(GetParam().dtype, kBlocks * n, 9));
    b.scatter(target, strided, s.a, b.binary(Op::Lt, s.a, s.c));
    b.prefetch(0, s.offset);
  });
}

TEST_P(Operations, LocalMemory) {
  for (const BufferRole role : {BufferRole::Stack, BufferRole::Scratch}) {
    for_each_sheet([&](Sheet& s, KernelBuilder& b) {
      const int n = s.type(s.a).lanes;
      s.kernel.buffers.push_back(
          {"local", role, GetParam().dtype, 2 * n, role == BufferRole::Scratch ? 128 : 0, -1, true});
      s.kernel.run[0].scratch_bytes = 128 + 2 * n * 8;
      const int local = static_cast<int>(s.kernel.buffers.size()) - 1;
      b.store(local, b.const_int(n), s.b);
      b.store(local, b.const_int(0), s.a);
      s.out("straddling", b.load(local, b.const_int(n / 2), n));
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Operations, testing::ValuesIn(kElements),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace temper::codegen
