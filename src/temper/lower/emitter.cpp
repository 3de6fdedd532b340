#include "temper/lower/emitter.h"

#include <algorithm>
#include <bit>

#include "temper/support/error.h"

namespace temper::lower {

void Emitter::open(Block& block) { levels_.push_back({&block, {}}); }

void Emitter::close() { levels_.pop_back(); }

Value Emitter::define(Type type) {
  const Value v = kernel_.new_value(type);
  value_level_.resize(static_cast<std::size_t>(v) + 1, 0);
  value_level_[static_cast<std::size_t>(v)] = levels_.size() - 1;
  return v;
}

Value Emitter::place(std::size_t level, Op op, Type type, std::vector<Value> args, std::int64_t imm, double fimm,
                     std::vector<int> mask) {
  Key key{op, type.scalar, type.lanes, args, imm, std::bit_cast<std::uint64_t>(fimm), mask};
  const auto found = levels_[level].numbers.find(key);
  if (found != levels_[level].numbers.end()) return found->second;
  Instr instr;
  instr.op = op;
  instr.args = std::move(args);
  instr.imm = imm;
  instr.fimm = fimm;
  instr.mask = std::move(mask);
  instr.result = kernel_.new_value(type);
  value_level_.resize(static_cast<std::size_t>(instr.result) + 1, 0);
  value_level_[static_cast<std::size_t>(instr.result)] = level;
  const Value result = instr.result;
  levels_[level].block->push_back(std::move(instr));
  levels_[level].numbers.emplace(std::move(key), result);
  return result;
}

Value Emitter::pure(Op op, Type type, std::vector<Value> args, std::int64_t imm, std::vector<int> mask, bool here) {
  std::size_t level = 0;
  for (Value arg : args) level = std::max(level, level_of(arg));
  if (here) level = levels_.size() - 1;
  return place(level, op, type, std::move(args), imm, 0, std::move(mask));
}

Value Emitter::const_int(std::int64_t value, Type type) { return place(0, Op::ConstInt, type, {}, value, 0, {}); }
Value Emitter::const_float(double value, Type type) { return place(0, Op::ConstFloat, type, {}, 0, value, {}); }
Value Emitter::const_mask(std::uint64_t bits, int lanes) {
  return place(0, Op::ConstMask, {Scalar::I1, lanes}, {}, static_cast<std::int64_t>(bits), 0, {});
}
Value Emitter::iota(int lanes) { return place(0, Op::Iota, {Scalar::I64, lanes}, {}, 0, 0, {}); }
Value Emitter::undef(Type type) { return place(0, Op::Undef, type, {}, 0, 0, {}); }

Value Emitter::cast(Value a, Scalar to) {
  if (type(a).scalar == to) return a;
  return pure(Op::Cast, {to, type(a).lanes}, {a});
}

Value Emitter::widen(Value a, int lanes) {
  if (type(a).lanes == lanes) return a;
  TEMPER_CHECK(type(a).lanes == 1,
               "a vector of " + std::to_string(type(a).lanes) + " lanes meets one of " + std::to_string(lanes));
  return pure(Op::Broadcast, {type(a).scalar, lanes}, {a});
}

Value Emitter::extract(Value vector, int lane) {
  if (type(vector).lanes == 1) return vector;
  return pure(Op::Extract, {type(vector).scalar, 1}, {vector}, lane);
}

Value Emitter::select(Value condition, Value a, Value b) {
  const int lanes = std::max({type(condition).lanes, type(a).lanes, type(b).lanes});
  if (type(condition).lanes != 1) condition = widen(condition, lanes);
  a = widen(a, lanes);
  b = widen(b, lanes);
  return pure(Op::Select, type(a), {condition, a, b});
}

Value Emitter::logical_and(Value a, Value b) {
  if (a == kNoValue) return b;
  if (b == kNoValue || a == b) return a;
  const int lanes = std::max(type(a).lanes, type(b).lanes);
  a = widen(a, lanes);
  b = widen(b, lanes);
  return binary(Op::And, a, b);
}

Value Emitter::load(int buffer, Value offset, Type type, Value mask) {
  Instr instr;
  instr.op = Op::Load;
  instr.args = {offset};
  if (mask != kNoValue) instr.args.push_back(mask);
  instr.imm = buffer;
  instr.result = define(type);
  const Value result = instr.result;
  append(std::move(instr));
  return result;
}

void Emitter::store(int buffer, Value offset, Value value, Value mask) {
  Instr instr;
  instr.op = Op::Store;
  instr.args = {offset, value};
  if (mask != kNoValue) instr.args.push_back(mask);
  instr.imm = buffer;
  append(std::move(instr));
}

Value Emitter::gather(int buffer, Value offsets, Scalar scalar, Value mask) {
  Instr instr;
  instr.op = Op::Gather;
  instr.args = {offsets};
  if (mask != kNoValue) instr.args.push_back(mask);
  instr.imm = buffer;
  instr.result = define({scalar, type(offsets).lanes});
  const Value result = instr.result;
  append(std::move(instr));
  return result;
}

void Emitter::scatter(int buffer, Value offsets, Value value, Value mask) {
  Instr instr;
  instr.op = Op::Scatter;
  instr.args = {offsets, value};
  if (mask != kNoValue) instr.args.push_back(mask);
  instr.imm = buffer;
  append(std::move(instr));
}

void Emitter::prefetch(int buffer, Value offset) {
  Instr instr;
  instr.op = Op::Prefetch;
  instr.args = {offset};
  instr.imm = buffer;
  append(std::move(instr));
}

void Emitter::append(Instr instr) { levels_.back().block->push_back(std::move(instr)); }

}  // namespace temper::lower
