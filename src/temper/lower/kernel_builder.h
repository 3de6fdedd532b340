// KernelBuilder: appends instructions to a block of a kernel, with result types inferred. Nothing is checked here
// beyond what inference needs; `verify` checks.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "temper/lower/kernel.h"

namespace temper::lower {

class KernelBuilder {
 public:
  /// Both are borrowed and must outlive the builder.
  KernelBuilder(Kernel& kernel, Block& block) : kernel_(kernel), block_(&block) {}

  Kernel& kernel() { return kernel_; }
  Block& block() { return *block_; }
  const Type& type(Value v) const { return kernel_.types[static_cast<std::size_t>(v)]; }

  Value const_int(std::int64_t value, Type type = {Scalar::I64, 1});
  Value const_float(double value, Type type);
  Value const_mask(std::uint64_t bits, int lanes);
  Value iota(int lanes);
  Value undef(Type type);

  /// `op` with one operand and the same type: Neg, Not, Sqrt, Exp, ...
  Value unary(Op op, Value a);
  /// `op` with two operands of one type; comparisons give I1.
  Value binary(Op op, Value a, Value b);
  Value fma(Value a, Value b, Value c);
  Value select(Value condition, Value then_value, Value else_value);
  Value cast(Value a, Scalar to);
  Value bitcast(Value a, Scalar to);
  Value broadcast(Value a, int lanes);
  Value extract(Value a, int lane);
  Value insert(Value vector, Value scalar, int lane);
  Value shuffle(Value a, Value b, std::vector<int> mask);

  Value add(Value a, Value b) { return binary(Op::Add, a, b); }
  Value sub(Value a, Value b) { return binary(Op::Sub, a, b); }
  Value mul(Value a, Value b) { return binary(Op::Mul, a, b); }

  Value load(int buffer, Value offset, int lanes, Value mask = kNoValue);
  void store(int buffer, Value offset, Value value, Value mask = kNoValue);
  Value gather(int buffer, Value offsets, Value mask = kNoValue);
  void scatter(int buffer, Value offsets, Value value, Value mask = kNoValue);
  void prefetch(int buffer, Value offset);

  /// Fills the body of a loop: gets the induction value and the carried values, returns the next carried values.
  using LoopBody =
      std::function<std::vector<Value>(KernelBuilder& body, Value induction, std::span<const Value> carried)>;
  std::vector<Value> for_loop(Value begin, Value end, std::int64_t step, std::vector<Value> initial,
                              const LoopBody& body, bool barrier = false);
  using Branch = std::function<std::vector<Value>(KernelBuilder& body)>;
  std::vector<Value> if_else(Value condition, const Branch& then_branch, const Branch& else_branch);

 private:
  Value emit(Op op, Type type, std::vector<Value> args, std::int64_t imm = 0, double fimm = 0,
             std::vector<int> mask = {});
  void emit_void(Op op, std::vector<Value> args, std::int64_t imm);
  Type element_type(int buffer, int lanes) const;

  Kernel& kernel_;
  Block* block_;
};

}  // namespace temper::lower
