// Addresses, loads and stores.
#include <llvm/IR/Constants.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "temper/codegen/llvm/function_emitter.h"
#include "temper/support/error.h"

namespace temper::codegen {

using lower::Buffer;
using lower::BufferRole;
using lower::Instr;
using lower::Value;

namespace {

std::int64_t element_bytes(const Buffer& b) { return ir::bytes(b.dtype); }

/// Lanes of a mask that are false whatever the program's values; the others may be true.
std::vector<bool> known_false(const llvm::Value* mask, int depth = 0) {
  std::vector<bool> never(llvm::cast<llvm::FixedVectorType>(mask->getType())->getNumElements(), false);
  if (const auto* constant = llvm::dyn_cast<llvm::Constant>(mask)) {
    for (unsigned i = 0; i < never.size(); ++i) {
      const llvm::Constant* lane = constant->getAggregateElement(i);
      never[i] = lane != nullptr && lane->isNullValue();
    }
    return never;
  }
  const auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(mask);
  constexpr int kDeepest = 16;
  if (operation == nullptr || depth == kDeepest) return never;
  const bool both = operation->getOpcode() == llvm::Instruction::And;
  if (!both && operation->getOpcode() != llvm::Instruction::Or) return never;
  const std::vector<bool> a = known_false(operation->getOperand(0), depth + 1),
                          b = known_false(operation->getOperand(1), depth + 1);
  for (std::size_t i = 0; i < never.size(); ++i) never[i] = both ? a[i] || b[i] : a[i] && b[i];
  return never;
}

/// Terms of a form that are defined at most `depth` scopes deep.
template <class DepthOf>
Linear terms_up_to(const Linear& form, std::size_t depth, const DepthOf& depth_of) {
  Linear part;
  for (const auto& term : form.terms) {
    if (depth_of(term.first) <= depth) part.terms.push_back(term);
  }
  return part;
}

}  // namespace

void FunctionEmitter::insert_at(std::size_t depth) {
  if (depth + 1 < scopes_.size()) builder_.SetInsertPoint(scopes_[depth + 1].entered_by);
}

llvm::Value* FunctionEmitter::times(llvm::Value* index, std::int64_t factor) {
  if (factor == 1) return index;
  const auto bits = static_cast<std::uint64_t>(factor);
  if (std::has_single_bit(bits))
    return builder_.CreateShl(index, builder_.getInt64(static_cast<std::uint64_t>(std::countr_zero(bits))));
  return builder_.CreateMul(index, builder_.getInt64(bits));
}

llvm::Value* FunctionEmitter::base_pointer(int buffer) {
  llvm::Value*& base = bases_[static_cast<std::size_t>(buffer)];
  if (base != nullptr) return base;
  const Buffer& b = kernel_.buffers[static_cast<std::size_t>(buffer)];
  const llvm::IRBuilder<>::InsertPointGuard guard(builder_);
  insert_at(0);
  if (b.role == BufferRole::Stack) {
    auto* bytes = llvm::ArrayType::get(builder_.getInt8Ty(), static_cast<std::uint64_t>(b.elements * element_bytes(b)));
    builder_.SetInsertPoint(&function_.getEntryBlock(), function_.getEntryBlock().begin());
    llvm::AllocaInst* memory = builder_.CreateAlloca(bytes, nullptr, b.name);
    memory->setAlignment(llvm::Align(64));
    return base = memory;
  }
  llvm::Value* pointer = function_.getArg(1);
  if (b.role != BufferRole::Scratch) {
    llvm::Value* slot = builder_.CreateConstInBoundsGEP1_64(builder_.getPtrTy(), function_.getArg(0),
                                                            static_cast<std::uint64_t>(b.argument));
    llvm::LoadInst* loaded = builder_.CreateAlignedLoad(builder_.getPtrTy(), slot, llvm::Align(8), b.name);
    loaded->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(llvm_, {}));
    pointer = loaded;
  }
  if (b.offset != 0)
    pointer = builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), pointer, static_cast<std::uint64_t>(b.offset));
  return base = pointer;
}

/// Base plus all terms of scopes 0..depth, added scope by scope so that each partial address is computed once, outside
/// the loops it does not depend on.
llvm::Value* FunctionEmitter::partial_pointer(int buffer, const Linear& form, std::size_t depth) {
  const Linear part = terms_up_to(form, depth, [&](Value v) { return depth_of(v); });
  if (part.terms.empty()) return base_pointer(buffer);
  std::size_t deepest = 0;
  for (const auto& term : part.terms) deepest = std::max(deepest, depth_of(term.first));
  const auto key = std::make_pair(buffer, part);
  if (const auto found = scopes_[deepest].pointers.find(key); found != scopes_[deepest].pointers.end())
    return found->second;

  llvm::Value* pointer = deepest == 0 ? base_pointer(buffer) : partial_pointer(buffer, part, deepest - 1);
  const llvm::IRBuilder<>::InsertPointGuard guard(builder_);
  insert_at(deepest);
  const std::int64_t size = element_bytes(kernel_.buffers[static_cast<std::size_t>(buffer)]);
  for (const auto& [atom, coefficient] : part.terms) {
    if (depth_of(atom) != deepest) continue;
    pointer = builder_.CreateInBoundsGEP(builder_.getInt8Ty(), pointer,
                                         times(values_[static_cast<std::size_t>(atom)], coefficient * size));
  }
  scopes_[deepest].pointers.emplace(key, pointer);
  return pointer;
}

/// The same for plain index values.
llvm::Value* FunctionEmitter::partial_sum(const Linear& form, std::size_t depth) {
  const Linear part = terms_up_to(form, depth, [&](Value v) { return depth_of(v); });
  if (part.terms.empty()) return nullptr;
  std::size_t deepest = 0;
  for (const auto& term : part.terms) deepest = std::max(deepest, depth_of(term.first));
  if (const auto found = scopes_[deepest].sums.find(part); found != scopes_[deepest].sums.end()) return found->second;

  llvm::Value* sum = deepest == 0 ? nullptr : partial_sum(part, deepest - 1);
  const llvm::IRBuilder<>::InsertPointGuard guard(builder_);
  insert_at(deepest);
  for (const auto& [atom, coefficient] : part.terms) {
    if (depth_of(atom) != deepest) continue;
    llvm::Value* term = times(values_[static_cast<std::size_t>(atom)], coefficient);
    sum = sum == nullptr ? term : builder_.CreateAdd(sum, term);
  }
  scopes_[deepest].sums.emplace(part, sum);
  return sum;
}

llvm::Value* FunctionEmitter::address(int buffer, const Linear& offset) {
  llvm::Value* pointer = partial_pointer(buffer, offset, scopes_.size() - 1);
  const std::int64_t bytes = offset.constant * element_bytes(kernel_.buffers[static_cast<std::size_t>(buffer)]);
  if (bytes == 0) return pointer;
  return builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), pointer, static_cast<std::uint64_t>(bytes));
}
llvm::Value* FunctionEmitter::address(int buffer, Value offset) {
  return address(buffer, Linear(forms_.scalar(offset)));
}

/// Vector of addresses. Where the offsets are one scalar plus constants, the scalar goes into the base so that narrow
/// constant indices are left.
llvm::Value* FunctionEmitter::addresses(int buffer, Value offsets) {
  const std::int64_t size = element_bytes(kernel_.buffers[static_cast<std::size_t>(buffer)]);
  llvm::Type* element = builder_.getIntNTy(static_cast<unsigned>(8 * size));
  const std::optional<LaneLinear>& form = forms_.lanes(offsets);
  if (!form) {
    llvm::Value* index = get(offsets);
    if (kernel_type(offsets).lanes == 1) index = builder_.CreateVectorSplat(1, index);
    return builder_.CreateInBoundsGEP(element, base_pointer(buffer), index);
  }
  std::vector<llvm::Constant*> lanes;
  for (const std::int64_t lane : form->lanes) lanes.push_back(builder_.getInt64(static_cast<std::uint64_t>(lane)));
  return builder_.CreateInBoundsGEP(element, address(buffer, form->base), llvm::ConstantVector::get(lanes));
}

llvm::Value* FunctionEmitter::lanes_of(llvm::Value* vector, int first, int count) {
  if (static_cast<unsigned>(count) == llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements())
    return vector;
  std::vector<int> lanes(static_cast<std::size_t>(count));
  std::iota(lanes.begin(), lanes.end(), first);
  return builder_.CreateShuffleVector(vector, lanes);
}

llvm::Value* FunctionEmitter::with_lanes(llvm::Value* vector, llvm::Value* part, int first) {
  const auto lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements());
  const auto count = static_cast<int>(llvm::cast<llvm::FixedVectorType>(part->getType())->getNumElements());
  if (count == lanes) return part;
  // A shuffle takes two vectors of one type.
  std::vector<int> widened(static_cast<std::size_t>(lanes), -1), merged(static_cast<std::size_t>(lanes));
  std::iota(widened.begin(), widened.begin() + count, 0);
  std::iota(merged.begin(), merged.end(), 0);
  std::iota(merged.begin() + first, merged.begin() + first + count, lanes);
  return builder_.CreateShuffleVector(vector, builder_.CreateShuffleVector(part, widened), merged);
}

/// LLVM 19 lowers a masked access wrongly where registers' parts of its mask are false for sure: it may take such a
/// part for true. So each access is given as parts that registers hold, without those. Constant masks are not affected.
std::vector<FunctionEmitter::MaskedPart> FunctionEmitter::masked_parts(llvm::Value* mask, int lanes_in_a_register) {
  const auto lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(mask->getType())->getNumElements());
  if (llvm::isa<llvm::Constant>(mask)) return {{0, lanes, mask}};
  const std::vector<bool> never = known_false(mask);
  std::vector<MaskedPart> parts;
  for (int first = 0; first < lanes; first += lanes_in_a_register) {
    const int count = std::min(lanes_in_a_register, lanes - first);
    const auto from = never.begin() + first;
    if (std::find(from, from + count, false) != from + count)
      parts.push_back({first, count, lanes_of(mask, first, count)});
  }
  return parts;
}

llvm::Value* FunctionEmitter::load(const Instr& i) {
  const int buffer = static_cast<int>(i.imm);
  const lower::Type& t = kernel_type(i.result);
  const llvm::Align align(static_cast<std::uint64_t>(lower::bytes(t.scalar)));
  llvm::Value* pointer = address(buffer, i.args[0]);
  if (i.args.size() == 1) return builder_.CreateAlignedLoad(type(t), pointer, align);
  llvm::Value* mask = get(i.args[1]);
  if (t.lanes == 1) mask = builder_.CreateVectorSplat(1, mask);
  llvm::Value* loaded =
      llvm::Constant::getNullValue(llvm::FixedVectorType::get(type({t.scalar, 1}), static_cast<unsigned>(t.lanes)));
  for (const MaskedPart& part : masked_parts(mask, context_.target.vector_bytes / lower::bytes(t.scalar))) {
    auto* vector = llvm::FixedVectorType::get(type({t.scalar, 1}), static_cast<unsigned>(part.lanes));
    llvm::Value* place = builder_.CreateConstInBoundsGEP1_64(
        builder_.getInt8Ty(), pointer, static_cast<std::uint64_t>(part.first * lower::bytes(t.scalar)));
    llvm::Value* lanes =
        builder_.CreateMaskedLoad(vector, place, align, part.mask, llvm::Constant::getNullValue(vector));
    loaded = with_lanes(loaded, lanes, part.first);
  }
  return t.lanes == 1 ? builder_.CreateExtractElement(loaded, std::uint64_t{0}) : loaded;
}

void FunctionEmitter::store(const Instr& i) {
  const int buffer = static_cast<int>(i.imm);
  const lower::Type& t = kernel_type(i.args[1]);
  const llvm::Align align(static_cast<std::uint64_t>(lower::bytes(t.scalar)));
  llvm::Value* pointer = address(buffer, i.args[0]);
  llvm::Value* value = get(i.args[1]);
  if (i.args.size() == 2) {
    builder_.CreateAlignedStore(value, pointer, align);
    return;
  }
  llvm::Value* mask = get(i.args[2]);
  if (t.lanes == 1) {
    mask = builder_.CreateVectorSplat(1, mask);
    value = builder_.CreateVectorSplat(1, value);
  }
  for (const MaskedPart& part : masked_parts(mask, context_.target.vector_bytes / lower::bytes(t.scalar))) {
    llvm::Value* place = builder_.CreateConstInBoundsGEP1_64(
        builder_.getInt8Ty(), pointer, static_cast<std::uint64_t>(part.first * lower::bytes(t.scalar)));
    builder_.CreateMaskedStore(lanes_of(value, part.first, part.lanes), place, align, part.mask);
  }
}

llvm::Value* FunctionEmitter::gather(const Instr& i) {
  const int buffer = static_cast<int>(i.imm);
  const lower::Type& t = kernel_type(i.result);
  if (t.lanes == 1) return load(i);
  const llvm::Align align(static_cast<std::uint64_t>(lower::bytes(t.scalar)));
  llvm::Value* pointers = addresses(buffer, i.args[0]);
  if (i.args.size() == 1)
    return builder_.CreateMaskedGather(type(t), pointers, align, nullptr, llvm::Constant::getNullValue(type(t)));
  llvm::Value* gathered = llvm::Constant::getNullValue(type(t));
  for (const MaskedPart& part : masked_parts(get(i.args[1]), pointers_in_a_vector())) {
    auto* vector = llvm::FixedVectorType::get(type({t.scalar, 1}), static_cast<unsigned>(part.lanes));
    llvm::Value* lanes = builder_.CreateMaskedGather(vector, lanes_of(pointers, part.first, part.lanes), align,
                                                     part.mask, llvm::Constant::getNullValue(vector));
    gathered = with_lanes(gathered, lanes, part.first);
  }
  return gathered;
}

void FunctionEmitter::scatter(const Instr& i) {
  const int buffer = static_cast<int>(i.imm);
  const lower::Type& t = kernel_type(i.args[1]);
  if (t.lanes == 1) return store(i);
  const llvm::Align align(static_cast<std::uint64_t>(lower::bytes(t.scalar)));
  llvm::Value* pointers = addresses(buffer, i.args[0]);
  llvm::Value* value = get(i.args[1]);
  if (i.args.size() == 2) {
    builder_.CreateMaskedScatter(value, pointers, align, nullptr);
    return;
  }
  for (const MaskedPart& part : masked_parts(get(i.args[2]), pointers_in_a_vector())) {
    builder_.CreateMaskedScatter(lanes_of(value, part.first, part.lanes), lanes_of(pointers, part.first, part.lanes),
                                 align, part.mask);
  }
}

void FunctionEmitter::prefetch(const Instr& i) {
  llvm::Value* pointer = address(static_cast<int>(i.imm), i.args[0]);
  builder_.CreateIntrinsic(llvm::Intrinsic::prefetch, {pointer->getType()},
                           {pointer, builder_.getInt32(0), builder_.getInt32(3), builder_.getInt32(1)});
}

}  // namespace temper::codegen
