// Scalar expressions of a compute definition: immutable trees over axes, constants and element reads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "temper/ir/dtype.h"

namespace temper::ir {

/// Size of an axis: an affine form in named parameters. Constants are the common case; a parameter has a range and a
/// divisibility (declared in `Compute::parameters`).
struct Extent {
  std::int64_t constant = 0;
  std::vector<std::pair<std::string, std::int64_t>> terms;  ///< (parameter, coefficient), sorted by parameter

  Extent() = default;
  Extent(std::int64_t value)
      : constant(value) {}  // NOLINT(google-explicit-constructor): extents are written as numbers
  bool is_constant() const { return terms.empty(); }
  /// The constant. Throws Error{Unsupported} when the extent depends on a parameter.
  std::int64_t value() const;
  bool operator==(const Extent&) const = default;
};

/// Identity of an axis; two axes are the same when they are the same object. Names are unique within a stage.
struct AxisNode {
  std::string name;
  Extent extent;
  bool reduce = false;
};
class Expr;
/// A spatial or reduce axis; usable wherever an integer expression is.
class Axis {
 public:
  Axis() = default;
  Axis(std::string name, Extent extent, bool reduce_axis = false);
  const std::string& name() const { return node_->name; }
  const Extent& extent() const { return node_->extent; }
  bool is_reduce() const { return node_->reduce; }
  const AxisNode* get() const { return node_.get(); }
  bool operator==(const Axis& other) const { return node_ == other.node_; }
  operator Expr() const;  // NOLINT(google-explicit-constructor): an axis is an expression

 private:
  std::shared_ptr<const AxisNode> node_;
};
inline Axis reduce(std::string name, Extent extent) { return Axis(std::move(name), std::move(extent), true); }

enum class ExprKind : std::uint8_t {
  Int,    ///< integer literal, dtype i64
  Float,  ///< floating literal of `dtype`
  Var,    ///< value of an axis, dtype i64
  Param,  ///< argument of a reducer's combine function (`index`: 0..arity-1 the running value, arity..2*arity-1 the new
          ///< term)
  Unary,
  Binary,
  Select,  ///< args: condition, then, else
  Cast,
  Load,  ///< element `args` of component `index` of stage `stage`
};

enum class UnaryOp : std::uint8_t {
  Neg,
  Abs,
  Not,
  Exp,
  Log,
  Sqrt,
  Rsqrt,
  Tanh,
  Erf,
  Sigmoid,
  Sin,
  Cos,
  Floor,
  Ceil,
  Round /* half to even */,
  Sign
};
enum class BinaryOp : std::uint8_t {
  Add,
  Sub,
  Mul,
  Div /* float: IEEE; integer: towards zero */,
  FloorDiv,
  Mod /* floor modulo, sign of the divisor */,
  Min,
  Max /* of floats: NaN if either is NaN */,
  Pow,
  Lt,
  Le,
  Gt,
  Ge,
  Eq,
  Ne,
  And,
  Or
};

struct Stage;

struct ExprNode;

/// A handle to an immutable node. Arithmetic operators build new nodes; operands must agree in dtype, except that an
/// integer literal adapts to the other side. Throws Error{InvalidArgument} on a dtype mismatch.
class Expr {
 public:
  Expr() = default;
  Expr(int value);           // NOLINT(google-explicit-constructor): literals are expressions
  Expr(std::int64_t value);  // NOLINT(google-explicit-constructor)
  Expr(float value);         // NOLINT(google-explicit-constructor): an f32 literal
  explicit Expr(std::shared_ptr<const ExprNode> node) : node_(std::move(node)) {}
  const ExprNode* operator->() const { return node_.get(); }
  const ExprNode& operator*() const { return *node_; }
  const ExprNode* get() const { return node_.get(); }
  explicit operator bool() const { return node_ != nullptr; }
  DType dtype() const;

 private:
  std::shared_ptr<const ExprNode> node_;
};

struct ExprNode {
  ExprKind kind;
  DType dtype;
  UnaryOp unary{};
  BinaryOp binary{};
  std::int64_t int_value = 0;
  double float_value = 0;
  Axis axis{};
  std::shared_ptr<const Stage> stage{};
  int index = 0;
  std::vector<Expr> args{};
};
inline DType Expr::dtype() const { return node_->dtype; }

Expr literal(double value, DType dtype);
Expr unary(UnaryOp op, Expr a);
Expr binary(BinaryOp op, Expr a, Expr b);
Expr select(Expr condition, Expr then_value, Expr else_value);
Expr cast(Expr a, DType dtype);
/// Argument `index` of a combine function (see ExprKind::Param).
Expr param(int index, DType dtype);

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);
Expr operator-(Expr a);
Expr floor_div(Expr a, Expr b);
Expr mod(Expr a, Expr b);
Expr min(Expr a, Expr b);
Expr max(Expr a, Expr b);
Expr pow(Expr a, Expr b);
Expr operator<(Expr a, Expr b);
Expr operator<=(Expr a, Expr b);
Expr operator>(Expr a, Expr b);
Expr operator>=(Expr a, Expr b);
Expr operator==(Expr a, Expr b);
Expr operator!=(Expr a, Expr b);
Expr operator&&(Expr a, Expr b);
Expr operator||(Expr a, Expr b);
/// 0 <= e < extent
Expr in_range(Expr e, std::int64_t extent);

Expr exp(Expr a);
Expr log(Expr a);
Expr sqrt(Expr a);
Expr rsqrt(Expr a);
Expr tanh(Expr a);
Expr erf(Expr a);
Expr sigmoid(Expr a);
Expr abs(Expr a);
Expr floor(Expr a);

}  // namespace temper::ir
