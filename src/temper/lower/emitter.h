// Emits SSA instructions into nested blocks. Pure instructions are numbered: an equal one is reused, and each is placed
// in the outermost open block in which its operands exist, so that loop-invariant arithmetic never enters a loop.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "temper/analysis/affine.h"
#include "temper/lower/kernel.h"

namespace temper::lower {

class Emitter {
 public:
  explicit Emitter(Kernel& kernel) : kernel_(kernel) {}

  const Type& type(Value v) const { return kernel_.types[static_cast<std::size_t>(v)]; }
  Kernel& kernel() { return kernel_; }

  /// Opens a block inside the current one. It must be appended to its parent (as part of a For or If) after `close`.
  void open(Block& block);
  void close();
  std::size_t level_of(Value v) const { return value_level_[static_cast<std::size_t>(v)]; }
  /// A value defined by the current block itself (induction, carried value, result of control flow).
  Value define(Type type);

  Value const_int(std::int64_t value, Type type = {Scalar::I64, 1});
  Value const_float(double value, Type type);
  Value const_mask(std::uint64_t bits, int lanes);
  Value iota(int lanes);
  Value undef(Type type);
  /// A pure instruction. `here`: keep it in the current block (address displacements fold into the access there).
  Value pure(Op op, Type type, std::vector<Value> args, std::int64_t imm = 0, std::vector<int> mask = {},
             bool here = false);
  Value binary(Op op, Value a, Value b) { return pure(op, type(a), {a, b}); }
  Value compare(Op op, Value a, Value b) { return pure(op, {Scalar::I1, type(a).lanes}, {a, b}); }
  Value unary(Op op, Value a) { return pure(op, type(a), {a}); }
  Value cast(Value a, Scalar to);
  /// `a` on `lanes` lanes: itself, or broadcast from a scalar.
  Value widen(Value a, int lanes);
  Value extract(Value vector, int lane);
  Value select(Value condition, Value a, Value b);
  Value logical_and(Value a, Value b);  ///< kNoValue stands for "true"; lanes are widened to agree
  Value logical_not(Value a) { return unary(Op::Not, a); }

  /// Memory access; never merged by the emitter.
  Value load(int buffer, Value offset, Type type, Value mask = kNoValue);
  void store(int buffer, Value offset, Value value, Value mask = kNoValue);
  Value gather(int buffer, Value offsets, Scalar scalar, Value mask = kNoValue);
  void scatter(int buffer, Value offsets, Value value, Value mask = kNoValue);
  void prefetch(int buffer, Value offset);
  void append(Instr instr);

 private:
  using Key = std::tuple<Op, Scalar, int, std::vector<Value>, std::int64_t, std::uint64_t, std::vector<int>>;
  struct Level {
    Block* block;
    std::map<Key, Value> numbers;
  };
  Value place(std::size_t level, Op op, Type type, std::vector<Value> args, std::int64_t imm, double fimm,
              std::vector<int> mask);

  Kernel& kernel_;
  std::vector<Level> levels_;
  std::vector<std::size_t> value_level_;
};

}  // namespace temper::lower
