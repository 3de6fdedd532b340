#include "temper/lower/kernel_builder.h"

#include <utility>

namespace temper::lower {
namespace {

bool is_comparison(Op op) { return op >= Op::Lt && op <= Op::Ne; }

void append_mask(std::vector<Value>& args, Value mask) {
  if (mask != kNoValue) args.push_back(mask);
}

}  // namespace

Value KernelBuilder::emit(Op op, Type type, std::vector<Value> args, std::int64_t imm, double fimm,
                          std::vector<int> mask) {
  Instr instr;
  instr.op = op;
  instr.result = kernel_.new_value(type);
  instr.args = std::move(args);
  instr.imm = imm;
  instr.fimm = fimm;
  instr.mask = std::move(mask);
  block_->push_back(std::move(instr));
  return block_->back().result;
}

void KernelBuilder::emit_void(Op op, std::vector<Value> args, std::int64_t imm) {
  Instr instr;
  instr.op = op;
  instr.args = std::move(args);
  instr.imm = imm;
  block_->push_back(std::move(instr));
}

Type KernelBuilder::element_type(int buffer, int lanes) const {
  return {scalar_of(kernel_.buffers[static_cast<std::size_t>(buffer)].dtype), lanes};
}

Value KernelBuilder::const_int(std::int64_t value, Type t) { return emit(Op::ConstInt, t, {}, value); }
Value KernelBuilder::const_float(double value, Type t) { return emit(Op::ConstFloat, t, {}, 0, value); }
Value KernelBuilder::const_mask(std::uint64_t bits, int lanes) {
  return emit(Op::ConstMask, {Scalar::I1, lanes}, {}, static_cast<std::int64_t>(bits));
}
Value KernelBuilder::iota(int lanes) { return emit(Op::Iota, {Scalar::I64, lanes}, {}); }
Value KernelBuilder::undef(Type t) { return emit(Op::Undef, t, {}); }

Value KernelBuilder::unary(Op op, Value a) { return emit(op, type(a), {a}); }
Value KernelBuilder::binary(Op op, Value a, Value b) {
  const Type t = is_comparison(op) ? Type{Scalar::I1, type(a).lanes} : type(a);
  return emit(op, t, {a, b});
}
Value KernelBuilder::fma(Value a, Value b, Value c) { return emit(Op::Fma, type(a), {a, b, c}); }
Value KernelBuilder::select(Value condition, Value then_value, Value else_value) {
  return emit(Op::Select, type(then_value), {condition, then_value, else_value});
}
Value KernelBuilder::cast(Value a, Scalar to) { return emit(Op::Cast, {to, type(a).lanes}, {a}); }
Value KernelBuilder::bitcast(Value a, Scalar to) { return emit(Op::Bitcast, {to, type(a).lanes}, {a}); }
Value KernelBuilder::broadcast(Value a, int lanes) { return emit(Op::Broadcast, {type(a).scalar, lanes}, {a}); }
Value KernelBuilder::extract(Value a, int lane) { return emit(Op::Extract, {type(a).scalar, 1}, {a}, lane); }
Value KernelBuilder::insert(Value vector, Value scalar, int lane) {
  return emit(Op::Insert, type(vector), {vector, scalar}, lane);
}
Value KernelBuilder::shuffle(Value a, Value b, std::vector<int> mask) {
  const Type t{type(a).scalar, static_cast<int>(mask.size())};
  return emit(Op::Shuffle, t, {a, b}, 0, 0, std::move(mask));
}

Value KernelBuilder::load(int buffer, Value offset, int lanes, Value mask) {
  std::vector<Value> args{offset};
  append_mask(args, mask);
  return emit(Op::Load, element_type(buffer, lanes), std::move(args), buffer);
}
void KernelBuilder::store(int buffer, Value offset, Value value, Value mask) {
  std::vector<Value> args{offset, value};
  append_mask(args, mask);
  emit_void(Op::Store, std::move(args), buffer);
}
Value KernelBuilder::gather(int buffer, Value offsets, Value mask) {
  std::vector<Value> args{offsets};
  append_mask(args, mask);
  return emit(Op::Gather, element_type(buffer, type(offsets).lanes), std::move(args), buffer);
}
void KernelBuilder::scatter(int buffer, Value offsets, Value value, Value mask) {
  std::vector<Value> args{offsets, value};
  append_mask(args, mask);
  emit_void(Op::Scatter, std::move(args), buffer);
}
void KernelBuilder::prefetch(int buffer, Value offset) { emit_void(Op::Prefetch, {offset}, buffer); }

std::vector<Value> KernelBuilder::for_loop(Value begin, Value end, std::int64_t step, std::vector<Value> initial,
                                           const LoopBody& body, bool barrier) {
  auto control = std::make_shared<Control>();
  control->barrier = barrier;
  control->initial = std::move(initial);
  control->induction = kernel_.new_value({Scalar::I64, 1});
  for (const Value v : control->initial) control->params.push_back(kernel_.new_value(type(v)));
  KernelBuilder inner(kernel_, control->body);
  control->yields = body(inner, control->induction, control->params);
  for (const Value v : control->initial) control->results.push_back(kernel_.new_value(type(v)));
  std::vector<Value> results = control->results;
  emit_void(Op::For, {begin, end}, step);
  block_->back().control = std::move(control);
  return results;
}

std::vector<Value> KernelBuilder::if_else(Value condition, const Branch& then_branch, const Branch& else_branch) {
  auto control = std::make_shared<Control>();
  KernelBuilder then_builder(kernel_, control->body), else_builder(kernel_, control->else_body);
  control->yields = then_branch(then_builder);
  if (else_branch) control->else_yields = else_branch(else_builder);
  for (const Value v : control->yields) control->results.push_back(kernel_.new_value(type(v)));
  std::vector<Value> results = control->results;
  emit_void(Op::If, {condition}, 0);
  block_->back().control = std::move(control);
  return results;
}

}  // namespace temper::lower
