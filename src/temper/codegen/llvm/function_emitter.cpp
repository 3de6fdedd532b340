#include "temper/codegen/llvm/function_emitter.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>

#include "temper/support/error.h"

namespace temper::codegen {

using lower::Control;
using lower::Instr;
using lower::Op;
using lower::Value;

namespace {
/// A tile of two by four vectors or more has as many in each step, so two steps never share a block.
constexpr int kFmasPerBlock = 8;

std::size_t index(Value v) { return static_cast<std::size_t>(v); }
}  // namespace

FunctionEmitter::FunctionEmitter(const lower::Kernel& kernel, const EmitterContext& context, llvm::Function& function)
    : kernel_(kernel),
      context_(context),
      llvm_(context.llvm),
      function_(function),
      builder_(context.llvm),
      forms_(kernel),
      values_(kernel.types.size(), nullptr),
      depths_(kernel.types.size(), 0),
      never_nan_(kernel.types.size(), false),
      bases_(kernel.buffers.size(), nullptr) {
  llvm::FastMathFlags flags;
  flags.setAllowContract(context.contract);
  builder_.setFastMathFlags(flags);
}

llvm::Type* FunctionEmitter::type(const lower::Type& t) const {
  llvm::Type* element = nullptr;
  switch (t.scalar) {
    case lower::Scalar::I1: element = llvm::Type::getInt1Ty(llvm_); break;
    case lower::Scalar::I8:
    case lower::Scalar::U8: element = llvm::Type::getInt8Ty(llvm_); break;
    case lower::Scalar::I32: element = llvm::Type::getInt32Ty(llvm_); break;
    case lower::Scalar::I64: element = llvm::Type::getInt64Ty(llvm_); break;
    case lower::Scalar::F32: element = llvm::Type::getFloatTy(llvm_); break;
    case lower::Scalar::F64: element = llvm::Type::getDoubleTy(llvm_); break;
  }
  return t.lanes == 1 ? element : llvm::FixedVectorType::get(element, static_cast<unsigned>(t.lanes));
}

llvm::BasicBlock* FunctionEmitter::new_block(const char* name) {
  return llvm::BasicBlock::Create(llvm_, name, &function_);
}

void FunctionEmitter::enter(llvm::Instruction* branch) {
  scopes_.emplace_back();
  scopes_.back().entered_by = branch;
}

void FunctionEmitter::leave() {
  for (const Value v : scopes_.back().materialised) values_[index(v)] = nullptr;
  scopes_.pop_back();
}

void FunctionEmitter::define(Value v, llvm::Value* value) {
  values_[index(v)] = value;
  depths_[index(v)] = scopes_.size() - 1;
}

void FunctionEmitter::define_atom(Value v, llvm::Value* value) {
  define(v, value);
  if (kernel_type(v) == lower::Type{lower::Scalar::I64, 1}) forms_.set(v, Linear::of(v));
}

void FunctionEmitter::alias(Value v, Value same_as) {
  if (kernel_type(v) == lower::Type{lower::Scalar::I64, 1}) {
    forms_.set(v, forms_.scalar(same_as));
  } else {
    define(v, get(same_as));
    never_nan_[index(v)] = never_nan_[index(same_as)];
  }
}

llvm::Value* FunctionEmitter::index_value(const Linear& form) {
  llvm::Value* constant = builder_.getInt64(static_cast<std::uint64_t>(form.constant));
  if (form.is_constant()) return constant;
  llvm::Value* sum = partial_sum({0, form.terms}, scopes_.size() - 1);
  return form.constant == 0 ? sum : builder_.CreateAdd(sum, constant);
}

llvm::Value* FunctionEmitter::get(Value v) {
  if (values_[index(v)] != nullptr) return values_[index(v)];
  TEMPER_CHECK(kernel_type(v) == (lower::Type{lower::Scalar::I64, 1}), "a value is used before it is defined");
  const Linear form = forms_.scalar(v);
  TEMPER_CHECK(!form.is_atom(v), "an index is used before it is defined");
  llvm::Value* result = index_value(form);
  values_[index(v)] = result;
  scopes_.back().materialised.push_back(v);
  return result;
}

void FunctionEmitter::emit(const lower::Phase& phase) {
  llvm::BasicBlock* entry = new_block("entry");
  llvm::BasicBlock* loop = new_block("iteration");
  llvm::BasicBlock* done = new_block("done");
  llvm::Argument *begin = function_.getArg(2), *end = function_.getArg(3);

  enter(nullptr);
  builder_.SetInsertPoint(entry);
  llvm::Instruction* branch = builder_.CreateCondBr(builder_.CreateICmpSLT(begin, end), loop, done);

  enter(branch);
  builder_.SetInsertPoint(loop);
  llvm::PHINode* iteration = builder_.CreatePHI(builder_.getInt64Ty(), 2, "i");
  iteration->addIncoming(begin, entry);
  define_atom(phase.index, iteration);
  block(phase.body);
  llvm::Value* next = builder_.CreateNSWAdd(iteration, builder_.getInt64(1));
  iteration->addIncoming(next, builder_.GetInsertBlock());
  builder_.CreateCondBr(builder_.CreateICmpSLT(next, end), loop, done);
  leave();

  done->moveAfter(&function_.back());
  builder_.SetInsertPoint(done);
  builder_.CreateRetVoid();
  leave();
}

void FunctionEmitter::block(const lower::Block& b) {
  for (const Instr& i : b) instruction(i);
}

/// Keeps loads below it from moving above it. Emits no instruction.
void FunctionEmitter::fence() {
  builder_.CreateCall(
      llvm::InlineAsm::get(llvm::FunctionType::get(builder_.getVoidTy(), false), "", "~{memory}", true));
}

/// Instruction selection works block by block and gathers loads from neighbouring addresses; in a long unrolled body
/// that takes registers from the accumulators. Short blocks keep the order in which the kernel was written, which is
/// the one its tile was counted for.
void FunctionEmitter::split_block() {
  llvm::BasicBlock* next = new_block("next");
  builder_.CreateBr(next);
  builder_.SetInsertPoint(next);
  fmas_in_block_ = 0;
}

void FunctionEmitter::instruction(const Instr& i) {
  if (i.op == Op::Fma) ++fmas_in_block_;
  if (i.op == Op::Load && fmas_in_block_ >= kFmasPerBlock) split_block();
  switch (i.op) {
    case Op::For: return for_loop(i);
    case Op::If: return if_else(i);
    case Op::Load: return define_atom(i.result, load(i));
    case Op::Gather: return define_atom(i.result, gather(i));
    case Op::Store: return store(i);
    case Op::Scatter: return scatter(i);
    case Op::Prefetch: return prefetch(i);
    default: break;
  }
  if (forms_.visit(i)) return;  // a sum of indices: computed where it is used, if it is not folded into an address
  define(i.result, arithmetic(i));
}

void FunctionEmitter::unroll_once(const Control& c, const Linear& begin) {
  forms_.set(c.induction, begin);
  for (std::size_t k = 0; k < c.params.size(); ++k) alias(c.params[k], c.initial[k]);
  block(c.body);
  for (std::size_t k = 0; k < c.results.size(); ++k) alias(c.results[k], c.yields[k]);
}

void FunctionEmitter::for_loop(const Instr& i) {
  const Control& c = *i.control;
  const Linear begin = forms_.scalar(i.args[0]);
  const Linear end = forms_.scalar(i.args[1]);
  const std::optional<Linear> distance = add(end, begin, -1);
  const bool counted = distance && distance->is_constant();
  if (counted && distance->constant <= 0) {
    for (std::size_t k = 0; k < c.results.size(); ++k) alias(c.results[k], c.initial[k]);
    return;
  }
  if (counted && distance->constant <= i.imm) return unroll_once(c, begin);

  llvm::Value *first = get(i.args[0]), *limit = get(i.args[1]);
  std::vector<llvm::Value*> initial;
  for (const Value v : c.initial) initial.push_back(get(v));
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* loop = new_block("loop");
  llvm::BasicBlock* after = new_block("after");
  llvm::Instruction* branch =
      counted ? builder_.CreateBr(loop) : builder_.CreateCondBr(builder_.CreateICmpSLT(first, limit), loop, after);

  enter(branch);
  builder_.SetInsertPoint(loop);
  fmas_in_block_ = 0;
  llvm::PHINode* induction = builder_.CreatePHI(builder_.getInt64Ty(), 2, "i");
  induction->addIncoming(first, before);
  define_atom(c.induction, induction);
  std::vector<llvm::PHINode*> carried;
  for (std::size_t k = 0; k < c.params.size(); ++k) {
    carried.push_back(builder_.CreatePHI(type(kernel_type(c.params[k])), 2));
    carried.back()->addIncoming(initial[k], before);
    define_atom(c.params[k], carried.back());
  }
  if (c.barrier) fence();
  block(c.body);
  llvm::Value* next = builder_.CreateNSWAdd(induction, builder_.getInt64(static_cast<std::uint64_t>(i.imm)));
  std::vector<llvm::Value*> yields;
  for (const Value v : c.yields) yields.push_back(get(v));
  llvm::BasicBlock* latch = builder_.GetInsertBlock();
  induction->addIncoming(next, latch);
  for (std::size_t k = 0; k < carried.size(); ++k) carried[k]->addIncoming(yields[k], latch);
  builder_.CreateCondBr(builder_.CreateICmpSLT(next, limit), loop, after);
  leave();

  after->moveAfter(&function_.back());
  builder_.SetInsertPoint(after);
  for (std::size_t k = 0; k < c.results.size(); ++k) {
    llvm::Value* result = yields[k];
    if (!counted) {
      llvm::PHINode* phi = builder_.CreatePHI(result->getType(), 2);
      phi->addIncoming(initial[k], before);
      phi->addIncoming(result, latch);
      result = phi;
    }
    define_atom(c.results[k], result);
  }
}

void FunctionEmitter::if_else(const Instr& i) {
  const Control& c = *i.control;
  const bool has_else = !c.else_body.empty() || !c.results.empty();
  llvm::Value* condition = get(i.args[0]);
  llvm::BasicBlock* then_block = new_block("then");
  llvm::BasicBlock* else_block = has_else ? new_block("else") : nullptr;
  llvm::BasicBlock* after = new_block("endif");
  llvm::Instruction* branch = builder_.CreateCondBr(condition, then_block, has_else ? else_block : after);

  struct Exit {
    llvm::BasicBlock* block = nullptr;
    std::vector<llvm::Value*> yields;
  };
  const auto emit_branch = [&](llvm::BasicBlock* start, const lower::Block& body, const std::vector<Value>& yields) {
    enter(branch);
    start->moveAfter(&function_.back());
    builder_.SetInsertPoint(start);
    block(body);
    Exit exit;
    for (const Value v : yields) exit.yields.push_back(get(v));
    exit.block = builder_.GetInsertBlock();
    builder_.CreateBr(after);
    leave();
    return exit;
  };
  const Exit taken = emit_branch(then_block, c.body, c.yields);
  const Exit other = has_else ? emit_branch(else_block, c.else_body, c.else_yields) : Exit{};

  after->moveAfter(&function_.back());
  builder_.SetInsertPoint(after);
  for (std::size_t k = 0; k < c.results.size(); ++k) {
    llvm::PHINode* phi = builder_.CreatePHI(type(kernel_type(c.results[k])), 2);
    phi->addIncoming(taken.yields[k], taken.block);
    phi->addIncoming(other.yields[k], other.block);
    define_atom(c.results[k], phi);
  }
}

}  // namespace temper::codegen
