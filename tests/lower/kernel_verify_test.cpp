#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>

#include "temper/lower/kernel.h"
#include "temper/lower/kernel_builder.h"
#include "temper/support/error.h"

namespace temper::lower {
namespace {

constexpr Type kF32x4{Scalar::F32, 4};

/// A valid kernel with one phase; `fill` adds the body, `change` breaks it.
struct Case {
  const char* name;
  std::function<void(Kernel&, KernelBuilder&)> fill;
  const char* message;  ///< nullptr: valid
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

Kernel make(const Case& c) {
  Kernel k;
  k.arguments = {{"x", BufferRole::Input, ir::DType::F32, 64, true},
                 {"y", BufferRole::Output, ir::DType::F32, 64, true},
                 {"w", BufferRole::Constant, ir::DType::F32, 64, false},
                 {"p", BufferRole::Blob, ir::DType::F32, 64, true}};
  for (int i = 0; i < 4; ++i) {
    const Argument& a = k.arguments[static_cast<std::size_t>(i)];
    k.buffers.push_back({a.name, a.role, a.dtype, 16, 0, i, a.used_by_run});
  }
  k.buffers.push_back({"s", BufferRole::Stack, ir::DType::Bool, 16, 0, -1, true});
  k.run.push_back({"main", 1, k.new_value({Scalar::I64, 1}), {}, 0});
  KernelBuilder b(k, k.run[0].body);
  c.fill(k, b);
  return k;
}

const Case kCases[] = {
    {"Valid", [](Kernel&, KernelBuilder& b) { b.store(1, b.const_int(0), b.load(0, b.const_int(4), 4)); }, nullptr},
    {"BoolIsStoredAsI8",
     [](Kernel&, KernelBuilder& b) {
       const Value x = b.load(0, b.const_int(4), 4);
       b.store(4, b.const_int(0), b.cast(b.binary(Op::Lt, x, x), Scalar::I8));
     },
     nullptr},
    {"SelectByScalar",
     [](Kernel& k, KernelBuilder& b) {
       const Value x = b.load(0, b.const_int(4), 4);
       b.select(b.binary(Op::Lt, k.run[0].index, b.const_int(3)), x, x);
     },
     nullptr},
    {"UsedBeforeDefined",
     [](Kernel& k, KernelBuilder& b) {
       b.const_float(1, kF32x4);
       const Value late = k.new_value(kF32x4);
       b.unary(Op::Neg, late);
     },
     "%2 is used before it is defined"},
    {"DefinedTwice",
     [](Kernel&, KernelBuilder& b) {
       b.const_float(1, kF32x4);
       b.block().push_back(b.block().back());
     },
     "value %1 is defined twice"},
    {"OutOfScope",
     [](Kernel&, KernelBuilder& b) {
       Value inside = kNoValue;
       b.for_loop(b.const_int(0), b.const_int(4), 1, {}, [&](KernelBuilder& in, Value i, std::span<const Value>) {
         inside = in.add(i, i);
         return std::vector<Value>{};
       });
       b.add(inside, inside);
     },
     "%4 is used outside the block that defines it"},
    {"OtherBranch",
     [](Kernel& k, KernelBuilder& b) {
       Value inside = kNoValue;
       b.if_else(
           b.binary(Op::Lt, k.run[0].index, b.const_int(3)),
           [&](KernelBuilder& in) {
             inside = in.const_int(1);
             return std::vector<Value>{};
           },
           [&](KernelBuilder& in) {
             in.add(inside, inside);
             return std::vector<Value>{};
           });
     },
     "%3 is used outside the block that defines it"},
    {"TypesDiffer",
     [](Kernel&, KernelBuilder& b) {
       const Value one = b.const_int(1);
       b.add(one, b.const_float(1, kF32x4));
     },
     "%2 must be i64, is f32x4"},
    {"ResultType",
     [](Kernel& k, KernelBuilder& b) {
       const Value x = b.const_float(1, kF32x4);
       b.binary(Op::Lt, x, x);
       k.types.back() = kF32x4;
     },
     "its result must be i1x4"},
    {"FloatOnly", [](Kernel&, KernelBuilder& b) { b.unary(Op::Exp, b.const_int(1)); }, "not for i64"},
    {"IntegerOnly",
     [](Kernel&, KernelBuilder& b) {
       const Value x = b.const_float(1, kF32x4);
       b.binary(Op::And, x, x);
     },
     "not for f32x4"},
    {"NoArithmeticOnMasks",
     [](Kernel&, KernelBuilder& b) {
       const Value m = b.const_mask(1, 4);
       b.add(m, m);
     },
     "not for i1x4"},
    {"DivisorUnknown", [](Kernel& k, KernelBuilder& b) { b.binary(Op::Mod, b.const_int(7), k.run[0].index); },
     "its divisor is not a positive constant"},
    {"DivisorNegative", [](Kernel&, KernelBuilder& b) { b.binary(Op::FloorDiv, b.const_int(7), b.const_int(-2)); },
     "its divisor is not a positive constant"},
    {"Lane", [](Kernel&, KernelBuilder& b) { b.extract(b.const_float(1, kF32x4), 4); }, "lane 4 does not exist"},
    {"ShuffleLane",
     [](Kernel&, KernelBuilder& b) {
       const Value x = b.const_float(1, kF32x4);
       b.shuffle(x, x, {0, 8});
     },
     "lane 8 does not exist"},
    {"MaskTooLong", [](Kernel&, KernelBuilder& b) { b.const_mask(1, 65); }, "a mask has at most 64 lanes of i1"},
    {"MaskLanes",
     [](Kernel&, KernelBuilder& b) {
       const Value zero = b.const_int(0);
       b.load(0, zero, 4, b.const_mask(1, 3));
     },
     "%2 must be i1x4, is i1x3"},
    {"ConstantKind", [](Kernel&, KernelBuilder& b) { b.const_int(1, kF32x4); }, "an integer constant of f32x4"},
    {"NoSuchBuffer",
     [](Kernel&, KernelBuilder& b) {
       b.load(0, b.const_int(0), 4);
       b.block().back().imm = 9;
     },
     "no such buffer"},
    {"WritesInput", [](Kernel&, KernelBuilder& b) { b.store(0, b.const_int(0), b.const_float(1, kF32x4)); },
     "writes an input"},
    {"WritesBlob", [](Kernel&, KernelBuilder& b) { b.store(3, b.const_int(0), b.const_float(1, kF32x4)); },
     "run writes the blob"},
    {"ReadsPrepared", [](Kernel&, KernelBuilder& b) { b.load(2, b.const_int(0), 4); },
     "run reads a constant that only prepare has"},
    {"ElementType", [](Kernel&, KernelBuilder& b) { b.store(4, b.const_int(0), b.const_float(1, kF32x4)); },
     "the buffer holds i8"},
    {"OffsetIsScalar", [](Kernel&, KernelBuilder& b) { b.load(0, b.iota(4), 4); }, "%1 must be i64, is i64x4"},
    {"GatherOffsets",
     [](Kernel& k, KernelBuilder& b) {
       b.gather(0, b.iota(4));
       k.types.back().lanes = 8;
     },
     "%1 must be i64x8, is i64x4"},
    {"LoopStep",
     [](Kernel&, KernelBuilder& b) {
       b.for_loop(b.const_int(0), b.const_int(4), 0, {},
                  [](KernelBuilder&, Value, std::span<const Value>) { return std::vector<Value>{}; });
     },
     "its step is below 1"},
    {"CarriedNumber",
     [](Kernel&, KernelBuilder& b) {
       b.for_loop(b.const_int(0), b.const_int(4), 1, {b.const_float(0, kF32x4)},
                  [](KernelBuilder&, Value, std::span<const Value>) { return std::vector<Value>{}; });
     },
     "carried values differ in number"},
    {"CarriedType",
     [](Kernel&, KernelBuilder& b) {
       b.for_loop(b.const_int(0), b.const_int(4), 1, {b.const_float(0, kF32x4)},
                  [](KernelBuilder&, Value i, std::span<const Value>) { return std::vector<Value>{i}; });
     },
     "%4 must be f32x4, is i64"},
    {"BranchYields",
     [](Kernel& k, KernelBuilder& b) {
       b.if_else(b.binary(Op::Lt, k.run[0].index, b.const_int(3)),
                 [](KernelBuilder& in) { return std::vector<Value>{in.const_int(1)}; }, {});
     },
     "results and yields differ in number"},
    {"SharedControl",
     [](Kernel&, KernelBuilder& b) {
       b.for_loop(b.const_int(0), b.const_int(4), 1, {},
                  [](KernelBuilder&, Value, std::span<const Value>) { return std::vector<Value>{}; });
       b.block().push_back(b.block().back());
     },
     "its control belongs to another instruction too"},
    {"BufferTooLarge", [](Kernel& k, KernelBuilder&) { k.buffers[0].elements = 17; }, "does not fit into its argument"},
    {"BufferRole", [](Kernel& k, KernelBuilder&) { k.buffers[0].argument = 1; },
     "its role differs from its argument's"},
    {"ScratchTooSmall",
     [](Kernel& k, KernelBuilder& b) {
       k.buffers.push_back({"t", BufferRole::Scratch, ir::DType::F32, 8, 16, -1, true});
       k.run[0].scratch_bytes = 47;
       b.load(5, b.const_int(0), 4);
     },
     "scratch buffer t does not fit into scratch_bytes"},
};

class KernelVerify : public testing::TestWithParam<Case> {};

TEST_P(KernelVerify, SaysWhatIsWrong) {
  const Kernel k = make(GetParam());
  if (GetParam().message == nullptr) {
    EXPECT_NO_THROW(verify(k));
    return;
  }
  try {
    verify(k);
    FAIL() << "accepted:\n" << print(k);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::Internal);
    EXPECT_EQ(e.message(), std::string("malformed kernel: ") + GetParam().message) << e.what();
  }
}
INSTANTIATE_TEST_SUITE_P(Cases, KernelVerify, testing::ValuesIn(kCases),
                         [](const auto& instance) { return instance.param.name; });

TEST(KernelVerifyWhere, NamesTheInstruction) {
  const Case c{"",
               [](Kernel&, KernelBuilder& b) {
                 const Value one = b.const_int(1);
                 b.add(one, b.const_float(1, kF32x4));
               },
               ""};
  try {
    verify(make(c));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.where(), "phase main: %3:i64 = add %1, %2");
  }
}

TEST(KernelVerifyPrepare, WritesTheBlobAndReadsConstantsOnly) {
  const Case c{"", [](Kernel&, KernelBuilder&) {}, nullptr};
  const auto with = [&](const std::function<void(KernelBuilder&)>& fill) {
    Kernel k = make(c);
    k.prepare.push_back({"pack", 1, k.new_value({Scalar::I64, 1}), {}, 0});
    KernelBuilder b(k, k.prepare[0].body);
    fill(b);
    verify(k);
  };
  EXPECT_NO_THROW(with([](KernelBuilder& b) { b.store(3, b.const_int(0), b.load(2, b.const_int(0), 4)); }));
  EXPECT_THROW(with([](KernelBuilder& b) { b.load(0, b.const_int(0), 4); }), Error);
  EXPECT_THROW(with([](KernelBuilder& b) { b.store(1, b.const_int(0), b.const_float(0, kF32x4)); }), Error);
}

}  // namespace
}  // namespace temper::lower
