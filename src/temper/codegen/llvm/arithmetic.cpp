// Values without memory: how each operation is said in LLVM IR so that the right instruction is selected.
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "temper/codegen/llvm/function_emitter.h"
#include "temper/support/error.h"

namespace temper::codegen {

using lower::Instr;
using lower::Op;
using lower::Scalar;
using lower::Value;

namespace {

bool is_unsigned(Scalar s) { return s == Scalar::U8 || s == Scalar::I1; }

/// Operations that are one LLVM instruction or intrinsic.
struct Binary {
  Op op;
  llvm::Instruction::BinaryOps of_integers, of_floats;
};
constexpr llvm::Instruction::BinaryOps kNo = llvm::Instruction::BinaryOpsEnd;
constexpr Binary kBinary[] = {
    {Op::Add, llvm::Instruction::Add, llvm::Instruction::FAdd},
    {Op::Sub, llvm::Instruction::Sub, llvm::Instruction::FSub},
    {Op::Mul, llvm::Instruction::Mul, llvm::Instruction::FMul},
    {Op::And, llvm::Instruction::And, kNo},
    {Op::Or, llvm::Instruction::Or, kNo},
    {Op::Xor, llvm::Instruction::Xor, kNo},
    {Op::Shl, llvm::Instruction::Shl, kNo},
    {Op::LShr, llvm::Instruction::LShr, kNo},
};

struct UnaryIntrinsic {
  Op op;
  llvm::Intrinsic::ID id;
};
constexpr UnaryIntrinsic kUnary[] = {
    {Op::Sqrt, llvm::Intrinsic::sqrt},
    {Op::Floor, llvm::Intrinsic::floor},
    {Op::Ceil, llvm::Intrinsic::ceil},
    {Op::Round, llvm::Intrinsic::roundeven},
};

struct Comparison {
  Op op;
  llvm::CmpInst::Predicate of_signed, of_unsigned, of_floats;
};
constexpr Comparison kComparisons[] = {
    {Op::Lt, llvm::CmpInst::ICMP_SLT, llvm::CmpInst::ICMP_ULT, llvm::CmpInst::FCMP_OLT},
    {Op::Le, llvm::CmpInst::ICMP_SLE, llvm::CmpInst::ICMP_ULE, llvm::CmpInst::FCMP_OLE},
    {Op::Gt, llvm::CmpInst::ICMP_SGT, llvm::CmpInst::ICMP_UGT, llvm::CmpInst::FCMP_OGT},
    {Op::Ge, llvm::CmpInst::ICMP_SGE, llvm::CmpInst::ICMP_UGE, llvm::CmpInst::FCMP_OGE},
    {Op::Eq, llvm::CmpInst::ICMP_EQ, llvm::CmpInst::ICMP_EQ, llvm::CmpInst::FCMP_OEQ},
    {Op::Ne, llvm::CmpInst::ICMP_NE, llvm::CmpInst::ICMP_NE, llvm::CmpInst::FCMP_UNE},
};

}  // namespace

llvm::Value* FunctionEmitter::arithmetic(const Instr& i) {
  const lower::Type& t = kernel_type(i.result);
  const bool is_float = lower::is_float(t.scalar);
  for (const Binary& b : kBinary) {
    if (b.op == i.op)
      return builder_.CreateBinOp(is_float ? b.of_floats : b.of_integers, get(i.args[0]), get(i.args[1]));
  }
  for (const UnaryIntrinsic& u : kUnary) {
    if (u.op == i.op) return builder_.CreateUnaryIntrinsic(u.id, get(i.args[0]));
  }
  switch (i.op) {
    case Op::ConstInt:
    case Op::ConstFloat:
    case Op::ConstMask:
    case Op::Iota:
    case Op::Undef: return constant(i);
    case Op::Div: return divide(i);
    case Op::FloorDiv: return floor_divide(i, true);
    case Op::Mod: return floor_divide(i, false);
    case Op::Min:
    case Op::Max: return minimum_maximum(i);
    case Op::Fma:
      return builder_.CreateIntrinsic(llvm::Intrinsic::fma, {type(t)},
                                      {get(i.args[0]), get(i.args[1]), get(i.args[2])});
    case Op::Neg: return is_float ? builder_.CreateFNeg(get(i.args[0])) : builder_.CreateNeg(get(i.args[0]));
    case Op::Abs:
      if (is_float) return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, get(i.args[0]));
      if (is_unsigned(t.scalar)) return get(i.args[0]);
      return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, get(i.args[0]), builder_.getFalse());
    case Op::Not: return builder_.CreateNot(get(i.args[0]));
    case Op::Lt:
    case Op::Le:
    case Op::Gt:
    case Op::Ge:
    case Op::Eq:
    case Op::Ne: return compare(i);
    case Op::Select: return select(i);
    case Op::Cast: return cast(i);
    case Op::Bitcast: return builder_.CreateBitCast(get(i.args[0]), type(t));
    case Op::Ldexp: return ldexp(i);
    case Op::Broadcast:
      never_nan_[static_cast<std::size_t>(i.result)] = never_nan_[static_cast<std::size_t>(i.args[0])];
      return t.lanes == 1 ? get(i.args[0]) : builder_.CreateVectorSplat(static_cast<unsigned>(t.lanes), get(i.args[0]));
    case Op::Extract:
      return kernel_type(i.args[0]).lanes == 1
                 ? get(i.args[0])
                 : builder_.CreateExtractElement(get(i.args[0]), static_cast<std::uint64_t>(i.imm));
    case Op::Insert: {
      llvm::Value *vector = get(i.args[0]), *scalar = get(i.args[1]);
      return t.lanes == 1 ? scalar : builder_.CreateInsertElement(vector, scalar, static_cast<std::uint64_t>(i.imm));
    }
    case Op::Shuffle: return shuffle(i);
    default:
      throw Error(ErrorCode::Unsupported, "the LLVM code generator has no '" + std::string(to_string(i.op)) + "'",
                  "kernel", "expand_math rewrites elementary functions into arithmetic");
  }
}

llvm::Value* FunctionEmitter::constant(const Instr& i) {
  const lower::Type& t = kernel_type(i.result);
  switch (i.op) {
    case Op::ConstInt: return llvm::ConstantInt::get(type(t), static_cast<std::uint64_t>(i.imm), true);
    case Op::ConstFloat:
      never_nan_[static_cast<std::size_t>(i.result)] = !std::isnan(i.fimm);
      return llvm::ConstantFP::get(type(t), i.fimm);
    case Op::Undef: return llvm::PoisonValue::get(type(t));
    default: break;
  }
  std::vector<llvm::Constant*> lanes;
  for (int lane = 0; lane < t.lanes; ++lane) {
    const auto n = static_cast<std::uint64_t>(lane);
    lanes.push_back(i.op == Op::Iota ? builder_.getInt64(n)
                                     : builder_.getInt1((static_cast<std::uint64_t>(i.imm) >> n & 1u) != 0));
  }
  return t.lanes == 1 ? lanes[0] : llvm::ConstantVector::get(lanes);
}

llvm::Value* FunctionEmitter::compare(const Instr& i) {
  if (llvm::Value* mask = compare_lanes(i)) return mask;
  const Scalar s = kernel_type(i.args[0]).scalar;
  for (const Comparison& c : kComparisons) {
    if (c.op != i.op) continue;
    llvm::Value *a = get(i.args[0]), *b = get(i.args[1]);
    if (lower::is_float(s)) return builder_.CreateFCmp(c.of_floats, a, b);
    return builder_.CreateICmp(is_unsigned(s) ? c.of_unsigned : c.of_signed, a, b);
  }
  TEMPER_CHECK(false, "not a comparison");
}

/// Masks of tails: index vectors that differ lane by lane by constants only are compared as `constant < scalar`, in a
/// narrow integer type (one instruction where 64-bit lanes take several), or at compile time. Null when the operands
/// are others.
llvm::Value* FunctionEmitter::compare_lanes(const Instr& i) {
  constexpr std::int64_t kNarrow = 1 << 20;
  if (i.op < Op::Lt || i.op > Op::Ge || kernel_type(i.args[0]).scalar != Scalar::I64 ||
      kernel_type(i.args[0]).lanes == 1)
    return nullptr;
  const std::optional<LaneLinear>&a = forms_.lanes(i.args[0]), &b = forms_.lanes(i.args[1]);
  if (!a || !b) return nullptr;
  const std::optional<Linear> limit = add(b->base, a->base, -1);
  if (!limit) return nullptr;
  std::vector<std::int64_t> lanes;
  for (std::size_t lane = 0; lane < a->lanes.size(); ++lane) lanes.push_back(a->lanes[lane] - b->lanes[lane]);
  const auto [low, high] = std::minmax_element(lanes.begin(), lanes.end());
  if (*low < -kNarrow || *high > kNarrow) return nullptr;

  const auto type = kernel_type(i.args[0]).lanes <= 16 ? builder_.getInt32Ty() : builder_.getInt16Ty();
  if (type->getBitWidth() == 16 && (*low < -1000 || *high > 1000)) return nullptr;
  // Beyond the lanes' own range the limit decides nothing more.
  llvm::Value* scalar = index_value(*limit);
  scalar = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, scalar,
                                          builder_.getInt64(static_cast<std::uint64_t>(*low - 1)));
  scalar = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, scalar,
                                          builder_.getInt64(static_cast<std::uint64_t>(*high + 1)));
  scalar = builder_.CreateTrunc(scalar, type);
  std::vector<llvm::Constant*> constants;
  for (const std::int64_t lane : lanes)
    constants.push_back(llvm::ConstantInt::get(type, static_cast<std::uint64_t>(lane), true));
  const auto* comparison =
      std::find_if(std::begin(kComparisons), std::end(kComparisons), [&](const Comparison& c) { return c.op == i.op; });
  return builder_.CreateICmp(comparison->of_signed, llvm::ConstantVector::get(constants),
                             builder_.CreateVectorSplat(static_cast<unsigned>(lanes.size()), scalar));
}

/// Integer division never traps: lanes that a mask discards may hold anything. x / 0 is x.
llvm::Value* FunctionEmitter::divide(const Instr& i) {
  const lower::Type& t = kernel_type(i.result);
  llvm::Value *a = get(i.args[0]), *b = get(i.args[1]);
  if (lower::is_float(t.scalar)) return builder_.CreateFDiv(a, b);
  llvm::Constant *zero = llvm::ConstantInt::get(type(t), 0), *one = llvm::ConstantInt::get(type(t), 1);
  if (is_unsigned(t.scalar))
    return builder_.CreateUDiv(a, builder_.CreateSelect(builder_.CreateICmpEQ(b, zero), one, b));
  llvm::Constant* minus_one = llvm::Constant::getAllOnesValue(type(t));
  llvm::Value* negates = builder_.CreateICmpEQ(b, minus_one);
  llvm::Value* trivial = builder_.CreateOr(builder_.CreateICmpEQ(b, zero), negates);
  llvm::Value* quotient = builder_.CreateSDiv(a, builder_.CreateSelect(trivial, one, b));
  return builder_.CreateSelect(negates, builder_.CreateNeg(a), quotient);
}

/// By a positive constant. Powers of two are shifts and masks; else the truncated quotient is mended where the dividend
/// is negative.
llvm::Value* FunctionEmitter::floor_divide(const Instr& i, bool quotient) {
  const lower::Type& t = kernel_type(i.result);
  llvm::Value *a = get(i.args[0]), *b = get(i.args[1]);
  if (is_unsigned(t.scalar)) return quotient ? builder_.CreateUDiv(a, b) : builder_.CreateURem(a, b);
  const auto* splat =
      llvm::dyn_cast<llvm::ConstantInt>(t.lanes == 1 ? b : llvm::cast<llvm::Constant>(b)->getSplatValue());
  TEMPER_CHECK(splat != nullptr, "the divisor of floor_div and mod is a constant");
  const llvm::APInt& divisor = splat->getValue();
  if (divisor.isPowerOf2()) {
    if (quotient) return builder_.CreateAShr(a, llvm::ConstantInt::get(type(t), divisor.logBase2()));
    return builder_.CreateAnd(a, llvm::ConstantInt::get(type(t), divisor - 1));
  }
  llvm::Value* truncated = builder_.CreateSDiv(a, b);
  llvm::Value* remainder = builder_.CreateSub(a, builder_.CreateMul(truncated, b));
  llvm::Value* negative = builder_.CreateICmpSLT(remainder, llvm::ConstantInt::get(type(t), 0));
  if (!quotient) return builder_.CreateSelect(negative, builder_.CreateAdd(remainder, b), remainder);
  return builder_.CreateAdd(truncated, builder_.CreateSExt(negative, type(t)));
}

/// The x86 instructions return their second operand when either is NaN, so one that is known not to be NaN goes first
/// and a single instruction is exact.
llvm::Value* FunctionEmitter::minimum_maximum(const Instr& i) {
  const lower::Type& t = kernel_type(i.result);
  const bool is_min = i.op == Op::Min;
  llvm::Value *a = get(i.args[0]), *b = get(i.args[1]);
  if (!lower::is_float(t.scalar)) {
    const bool u = is_unsigned(t.scalar);
    return builder_.CreateBinaryIntrinsic(is_min ? (u ? llvm::Intrinsic::umin : llvm::Intrinsic::smin)
                                                 : (u ? llvm::Intrinsic::umax : llvm::Intrinsic::smax),
                                          a, b);
  }
  const bool a_is_number = never_nan_[static_cast<std::size_t>(i.args[0])];
  const bool b_is_number = never_nan_[static_cast<std::size_t>(i.args[1])];
  never_nan_[static_cast<std::size_t>(i.result)] = a_is_number && b_is_number;
  if (a_is_number || b_is_number) {
    if (!a_is_number) std::swap(a, b);
    llvm::Value* condition = is_min ? builder_.CreateFCmpOLT(a, b) : builder_.CreateFCmpOGT(a, b);
    return builder_.CreateSelect(condition, a, b);
  }
  // A NaN in `a` comes out of the instruction; one in `b` is put back. In a reduction `a` is the running value, so the
  // comparison of `b` with itself stays off the chain that the iterations wait for.
  llvm::Value* condition = is_min ? builder_.CreateFCmpOLT(b, a) : builder_.CreateFCmpOGT(b, a);
  llvm::Value* extreme = builder_.CreateSelect(condition, b, a);
  return builder_.CreateSelect(builder_.CreateFCmpUNO(b, b), b, extreme);
}

llvm::Value* FunctionEmitter::select(const Instr& i) {
  const lower::Type& t = kernel_type(i.result);
  llvm::Value *condition = get(i.args[0]), *a = get(i.args[1]), *b = get(i.args[2]);
  if (t.lanes > 1 && kernel_type(i.args[0]).lanes == 1)
    condition = builder_.CreateVectorSplat(static_cast<unsigned>(t.lanes), condition);
  never_nan_[static_cast<std::size_t>(i.result)] =
      never_nan_[static_cast<std::size_t>(i.args[1])] && never_nan_[static_cast<std::size_t>(i.args[2])];
  return builder_.CreateSelect(condition, a, b);
}

llvm::Value* FunctionEmitter::cast(const Instr& i) {
  const lower::Type &from = kernel_type(i.args[0]), &to = kernel_type(i.result);
  llvm::Value* a = get(i.args[0]);
  llvm::Type* result = type(to);
  const bool from_float = lower::is_float(from.scalar), to_float = lower::is_float(to.scalar);
  if (to_float && !from_float) never_nan_[static_cast<std::size_t>(i.result)] = true;
  if (from.scalar == to.scalar) return a;
  if (to.scalar == Scalar::I1) {
    llvm::Constant* zero = llvm::Constant::getNullValue(type(from));
    return from_float ? builder_.CreateFCmpUNE(a, zero) : builder_.CreateICmpNE(a, zero);
  }
  if (from_float && to_float) return builder_.CreateFPCast(a, result);
  if (to_float) {
    if (from.scalar == Scalar::I1)
      return builder_.CreateSelect(a, llvm::ConstantFP::get(result, 1.0), llvm::ConstantFP::get(result, 0.0));
    return is_unsigned(from.scalar) ? builder_.CreateUIToFP(a, result) : builder_.CreateSIToFP(a, result);
  }
  if (!from_float) return builder_.CreateIntCast(a, result, !is_unsigned(from.scalar));
  if (lower::bytes(to.scalar) > 1) return builder_.CreateFPToSI(a, result);
  return builder_.CreateTrunc(builder_.CreateFPToSI(a, type({Scalar::I32, to.lanes})), result);
}

llvm::Value* FunctionEmitter::ldexp(const Instr& i) {
  const lower::Type& t = kernel_type(i.result);
  llvm::Value *a = get(i.args[0]), *b = get(i.args[1]);
  return context_.target.has("avx512f") && context_.target.has("avx512vl") ? scalef(a, b, t) : ldexp_by_bits(a, b, t);
}

/// VSCALEF on pieces of a register's width.
llvm::Value* FunctionEmitter::scalef(llvm::Value* a, llvm::Value* b, const lower::Type& t) {
  const bool single = t.scalar == Scalar::F32;
  const int full = context_.target.vector_bytes / lower::bytes(t.scalar);
  const int least = 16 / lower::bytes(t.scalar);
  const int width = std::clamp(static_cast<int>(std::bit_ceil(static_cast<unsigned>(t.lanes))), least, full);
  const auto piece = [&](llvm::Value* v, int first) -> llvm::Value* {
    if (t.lanes == 1) v = builder_.CreateVectorSplat(1, v);
    std::vector<int> mask(static_cast<std::size_t>(width));
    for (int lane = 0; lane < width; ++lane) mask[static_cast<std::size_t>(lane)] = std::min(first + lane, t.lanes - 1);
    return width == t.lanes ? v : builder_.CreateShuffleVector(v, mask);
  };
  using llvm::Intrinsic::ID;
  static constexpr ID kSingle[] = {llvm::Intrinsic::x86_avx512_mask_scalef_ps_128,
                                   llvm::Intrinsic::x86_avx512_mask_scalef_ps_256,
                                   llvm::Intrinsic::x86_avx512_mask_scalef_ps_512};
  static constexpr ID kDouble[] = {llvm::Intrinsic::x86_avx512_mask_scalef_pd_128,
                                   llvm::Intrinsic::x86_avx512_mask_scalef_pd_256,
                                   llvm::Intrinsic::x86_avx512_mask_scalef_pd_512};
  const int size = width == least ? 0 : width == 2 * least ? 1 : 2;
  llvm::Value* mask = width == 16 ? builder_.getInt16(0xffff) : builder_.getInt8(0xff);
  std::vector<llvm::Value*> pieces;
  for (int first = 0; first < t.lanes; first += width) {
    llvm::Value *x = piece(a, first), *y = piece(b, first);
    std::vector<llvm::Value*> args{x, y, x, mask};
    if (size == 2) args.push_back(builder_.getInt32(4));  // round as the control register says
    pieces.push_back(builder_.CreateIntrinsic((single ? kSingle : kDouble)[size], {}, args));
  }
  if (t.lanes == 1) return builder_.CreateExtractElement(pieces[0], std::uint64_t{0});
  llvm::Value* all = pieces[0];
  for (std::size_t p = 1; p < pieces.size(); ++p) {
    std::vector<int> grow(p * static_cast<std::size_t>(width) + static_cast<std::size_t>(width));
    std::iota(grow.begin(), grow.end(), 0);
    llvm::Value* next = pieces[p];
    if (p > 1) {
      std::vector<int> widen(p * static_cast<std::size_t>(width), -1);
      std::iota(widen.begin(), widen.begin() + width, 0);
      next = builder_.CreateShuffleVector(next, widen);
    }
    all = builder_.CreateShuffleVector(all, next, grow);
  }
  if (static_cast<int>(pieces.size()) * width == t.lanes) return all;
  std::vector<int> shrink(static_cast<std::size_t>(t.lanes));
  std::iota(shrink.begin(), shrink.end(), 0);
  return builder_.CreateShuffleVector(all, shrink);
}

/// Two exact factors 2^h and 2^(b-h), built from their bits; only the last product rounds.
llvm::Value* FunctionEmitter::ldexp_by_bits(llvm::Value* a, llvm::Value* b, const lower::Type& t) {
  const bool single = t.scalar == Scalar::F32;
  const lower::Type it{single ? Scalar::I32 : Scalar::I64, t.lanes};
  const lower::Type small{Scalar::I32, t.lanes};
  const double limit = single ? 252 : 2044;  // beyond, any finite a > 2^-limit has left the range
  llvm::Value *low = llvm::ConstantFP::get(type(t), -limit), *high = llvm::ConstantFP::get(type(t), limit);
  llvm::Value* n = builder_.CreateSelect(builder_.CreateFCmpOLT(b, low), low, b);
  n = builder_.CreateSelect(builder_.CreateFCmpOGT(n, high), high, n);
  llvm::Value* whole = builder_.CreateFPToSI(n, type(small));
  llvm::Value* half = builder_.CreateAShr(whole, llvm::ConstantInt::get(type(small), 1));
  llvm::Value* rest = builder_.CreateSub(whole, half);
  const auto power = [&](llvm::Value* exponent) {
    llvm::Value* biased = builder_.CreateAdd(exponent, llvm::ConstantInt::get(type(small), single ? 127 : 1023));
    if (!single) biased = builder_.CreateZExt(biased, type(it));
    return builder_.CreateBitCast(builder_.CreateShl(biased, llvm::ConstantInt::get(type(it), single ? 23 : 52)),
                                  type(t));
  };
  return builder_.CreateFMul(builder_.CreateFMul(a, power(half)), power(rest));
}

llvm::Value* FunctionEmitter::shuffle(const Instr& i) {
  const lower::Type& from = kernel_type(i.args[0]);
  llvm::Value *a = get(i.args[0]), *b = get(i.args[1]);
  if (from.lanes == 1) {  // a vector of scalars
    if (i.mask.size() == 1) return i.mask[0] == 1 ? b : a;
    llvm::Value* result = llvm::PoisonValue::get(type(kernel_type(i.result)));
    for (std::size_t lane = 0; lane < i.mask.size(); ++lane) {
      if (i.mask[lane] >= 0) result = builder_.CreateInsertElement(result, i.mask[lane] == 0 ? a : b, lane);
    }
    return result;
  }
  if (i.mask.size() == 1) {
    const int lane = std::max(i.mask[0], 0);
    return builder_.CreateExtractElement(lane < from.lanes ? a : b, static_cast<std::uint64_t>(lane % from.lanes));
  }
  return builder_.CreateShuffleVector(a, b, i.mask);
}

}  // namespace temper::codegen
