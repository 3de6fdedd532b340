#include "temper/ir/expr.h"

#include <cmath>
#include <limits>
#include <utility>

#include "temper/ir/compute.h"
#include "temper/ir/expr_build.h"
#include "temper/ir/expr_names.h"
#include "temper/support/error.h"

namespace temper::ir {
namespace {

Expr make(ExprNode node) { return Expr(std::make_shared<const ExprNode>(std::move(node))); }

[[noreturn]] void bad(std::string what, std::string hint = {}) {
  throw Error(ErrorCode::InvalidArgument, std::move(what), {}, std::move(hint));
}

void require(const Expr& e, std::string_view operation) {
  if (!e) bad("an operand of '" + std::string(operation) + "' is an empty expression");
}

bool is_comparison(BinaryOp op) { return op >= BinaryOp::Lt && op <= BinaryOp::Ne; }
bool is_logical(BinaryOp op) { return op == BinaryOp::And || op == BinaryOp::Or; }

/// Which operands an operation takes.
enum class Domain { Number, FloatOnly, IntegerOnly, BoolOnly, Any };

Domain domain(UnaryOp op) {
  switch (op) {
    case UnaryOp::Not: return Domain::BoolOnly;
    case UnaryOp::Neg:
    case UnaryOp::Abs:
    case UnaryOp::Sign: return Domain::Number;
    default: return Domain::FloatOnly;
  }
}
Domain domain(BinaryOp op) {
  if (is_logical(op)) return Domain::BoolOnly;
  if (op == BinaryOp::Eq || op == BinaryOp::Ne) return Domain::Any;
  if (op == BinaryOp::FloorDiv || op == BinaryOp::Mod) return Domain::IntegerOnly;
  return Domain::Number;
}

void check_domain(Domain wanted, DType dtype, std::string_view operation) {
  const bool ok = wanted == Domain::Any || (wanted == Domain::Number && dtype != DType::Bool) ||
                  (wanted == Domain::FloatOnly && is_float(dtype)) ||
                  (wanted == Domain::IntegerOnly && !is_float(dtype) && dtype != DType::Bool) ||
                  (wanted == Domain::BoolOnly && dtype == DType::Bool);
  if (ok) return;
  static constexpr std::string_view kWanted[] = {"numbers", "floating-point numbers", "integers", "conditions", ""};
  bad("'" + std::string(operation) + "' takes " + std::string(kWanted[static_cast<int>(wanted)]) + ", not " +
          std::string(to_string(dtype)),
      "convert the operand with cast()");
}

/// An integer literal takes the dtype of the other operand.
void adapt(Expr& a, Expr& b) {
  if (a.dtype() == b.dtype()) return;
  auto adapted = [](const Expr& literal_expr, DType dtype) {
    return is_float(dtype) ? literal(static_cast<double>(literal_expr->int_value), dtype)
                           : int_literal(literal_expr->int_value, dtype);
  };
  if (a->kind == ExprKind::Int && a.dtype() == DType::I64 && b.dtype() != DType::Bool) {
    a = adapted(a, b.dtype());
  } else if (b->kind == ExprKind::Int && b.dtype() == DType::I64 && a.dtype() != DType::Bool) {
    b = adapted(b, a.dtype());
  }
}

std::int64_t floor_division(std::int64_t a, std::int64_t b) {
  const std::int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

/// Integer identities that keep index arithmetic short; empty when nothing applies. Floating arithmetic is never
/// touched.
Expr fold_integer(BinaryOp op, const Expr& a, const Expr& b) {
  if (a.dtype() != DType::I64 || b.dtype() != DType::I64) return {};
  const bool a_literal = a->kind == ExprKind::Int, b_literal = b->kind == ExprKind::Int;
  const std::int64_t x = a->int_value, y = b->int_value;
  std::int64_t result = 0;
  if (a_literal && b_literal) {
    switch (op) {
      case BinaryOp::Add:
        if (!__builtin_add_overflow(x, y, &result)) return Expr(result);
        break;
      case BinaryOp::Sub:
        if (!__builtin_sub_overflow(x, y, &result)) return Expr(result);
        break;
      case BinaryOp::Mul:
        if (!__builtin_mul_overflow(x, y, &result)) return Expr(result);
        break;
      case BinaryOp::FloorDiv:
        if (y > 0) return Expr(floor_division(x, y));
        break;
      case BinaryOp::Mod:
        if (y > 0) return Expr(x - floor_division(x, y) * y);
        break;
      case BinaryOp::Min: return Expr(std::min(x, y));
      case BinaryOp::Max: return Expr(std::max(x, y));
      default: break;
    }
    return {};
  }
  if (b_literal) {
    if ((op == BinaryOp::Add || op == BinaryOp::Sub) && y == 0) return a;
    if ((op == BinaryOp::Mul || op == BinaryOp::FloorDiv || op == BinaryOp::Div) && y == 1) return a;
    if ((op == BinaryOp::Mul && y == 0) || (op == BinaryOp::Mod && y == 1)) return Expr(std::int64_t{0});
    // (e + c) + y, with both literals on the right, becomes e + (c + y)
    if ((op == BinaryOp::Add || op == BinaryOp::Sub) && a->kind == ExprKind::Binary &&
        a->args[1]->kind == ExprKind::Int && (a->binary == BinaryOp::Add || a->binary == BinaryOp::Sub)) {
      const std::int64_t inner = a->args[1]->int_value;
      const std::int64_t total = (a->binary == BinaryOp::Add ? inner : -inner) + (op == BinaryOp::Add ? y : -y);
      if (total == 0) return a->args[0];
      return total > 0 ? exact_binary(BinaryOp::Add, a->args[0], Expr(total))
                       : exact_binary(BinaryOp::Sub, a->args[0], Expr(-total));
    }
  }
  if (a_literal) {
    if (op == BinaryOp::Add && x == 0) return b;
    if (op == BinaryOp::Mul && x == 1) return b;
    if (op == BinaryOp::Mul && x == 0) return Expr(std::int64_t{0});
  }
  return {};
}

}  // namespace

std::int64_t Extent::value() const {
  if (!is_constant()) {
    throw Error(ErrorCode::Unsupported, "the extent depends on the parameter '" + terms.front().first + "'", {},
                "fix the shape first");
  }
  return constant;
}

Axis::Axis(std::string name, Extent extent, bool reduce_axis)
    : node_(std::make_shared<const AxisNode>(AxisNode{std::move(name), std::move(extent), reduce_axis})) {}

Axis::operator Expr() const {
  if (!node_) bad("an empty axis was used in an expression");
  ExprNode node{.kind = ExprKind::Var, .dtype = DType::I64};
  node.axis = *this;
  return make(std::move(node));
}

Expr::Expr(int value) : Expr(static_cast<std::int64_t>(value)) {}
Expr::Expr(std::int64_t value) : Expr(int_literal(value, DType::I64)) {}
Expr::Expr(float value) : Expr(literal(static_cast<double>(value), DType::F32)) {}

Expr int_literal(std::int64_t value, DType dtype) {
  if (is_float(dtype)) bad("an integer literal cannot have the type " + std::string(to_string(dtype)));
  ExprNode node{.kind = ExprKind::Int, .dtype = dtype};
  node.int_value = value;
  return make(std::move(node));
}

Expr literal(double value, DType dtype) {
  if (!is_float(dtype)) return int_literal(static_cast<std::int64_t>(value), dtype);
  ExprNode node{.kind = ExprKind::Float, .dtype = dtype};
  node.float_value = dtype == DType::F32 ? static_cast<double>(static_cast<float>(value)) : value;
  return make(std::move(node));
}

Expr param(int index, DType dtype) {
  ExprNode node{.kind = ExprKind::Param, .dtype = dtype};
  node.index = index;
  return make(std::move(node));
}

Expr exact_unary(UnaryOp op, Expr a) {
  require(a, spelling(op));
  check_domain(domain(op), a.dtype(), spelling(op));
  ExprNode node{.kind = ExprKind::Unary, .dtype = a.dtype(), .unary = op};
  node.args = {std::move(a)};
  return make(std::move(node));
}

Expr exact_binary(BinaryOp op, Expr a, Expr b) {
  const std::string_view name = spelling(op).name;
  require(a, name);
  require(b, name);
  if (a.dtype() != b.dtype()) {
    bad("the operands of '" + std::string(name) + "' differ in type: " + std::string(to_string(a.dtype())) + " and " +
            std::string(to_string(b.dtype())),
        "convert one of them with cast()");
  }
  check_domain(domain(op), a.dtype(), name);
  ExprNode node{.kind = ExprKind::Binary, .dtype = is_comparison(op) ? DType::Bool : a.dtype()};
  node.binary = op;
  node.args = {std::move(a), std::move(b)};
  return make(std::move(node));
}

Expr exact_select(Expr condition, Expr then_value, Expr else_value) {
  require(condition, "select");
  require(then_value, "select");
  require(else_value, "select");
  if (condition.dtype() != DType::Bool) {
    bad("the condition of 'select' is " + std::string(to_string(condition.dtype())) + ", not bool",
        "compare it with 0");
  }
  if (then_value.dtype() != else_value.dtype()) {
    bad("the branches of 'select' differ in type: " + std::string(to_string(then_value.dtype())) + " and " +
            std::string(to_string(else_value.dtype())),
        "convert one of them with cast()");
  }
  ExprNode node{.kind = ExprKind::Select, .dtype = then_value.dtype()};
  node.args = {std::move(condition), std::move(then_value), std::move(else_value)};
  return make(std::move(node));
}

Expr exact_cast(Expr a, DType dtype) {
  require(a, "cast");
  ExprNode node{.kind = ExprKind::Cast, .dtype = dtype};
  node.args = {std::move(a)};
  return make(std::move(node));
}

Expr exact_load(std::shared_ptr<const Stage> stage, int component, std::vector<Expr> index) {
  if (!stage) bad("an empty tensor was read");
  if (component < 0 || static_cast<std::size_t>(component) >= stage->dtypes.size()) {
    bad("component " + std::to_string(component) + " of '" + stage->name + "' was read; it has " +
        std::to_string(stage->dtypes.size()));
  }
  if (index.size() != stage->axes.size()) {
    bad("'" + stage->name + "' has " + std::to_string(stage->axes.size()) + " axes but was read with " +
        std::to_string(index.size()) + " indices");
  }
  for (const Expr& e : index) {
    require(e, stage->name);
    if (e.dtype() != DType::I64) {
      bad("an index into '" + stage->name + "' is " + std::string(to_string(e.dtype())) + ", not i64",
          "convert it with cast()");
    }
  }
  ExprNode node{.kind = ExprKind::Load, .dtype = stage->dtypes[static_cast<std::size_t>(component)]};
  node.stage = std::move(stage);
  node.index = component;
  node.args = std::move(index);
  return make(std::move(node));
}

Expr unary(UnaryOp op, Expr a) {
  require(a, spelling(op));
  if (op == UnaryOp::Neg && a->kind == ExprKind::Int && a.dtype() == DType::I64 &&
      a->int_value != std::numeric_limits<std::int64_t>::min()) {
    return Expr(-a->int_value);
  }
  return exact_unary(op, std::move(a));
}

Expr binary(BinaryOp op, Expr a, Expr b) {
  require(a, spelling(op).name);
  require(b, spelling(op).name);
  adapt(a, b);
  if (Expr folded = fold_integer(op, a, b)) return folded;
  return exact_binary(op, std::move(a), std::move(b));
}

Expr select(Expr condition, Expr then_value, Expr else_value) {
  require(then_value, "select");
  require(else_value, "select");
  adapt(then_value, else_value);
  return exact_select(std::move(condition), std::move(then_value), std::move(else_value));
}

Expr cast(Expr a, DType dtype) {
  require(a, "cast");
  if (a.dtype() == dtype) return a;
  return exact_cast(std::move(a), dtype);
}

Expr operator+(Expr a, Expr b) { return binary(BinaryOp::Add, std::move(a), std::move(b)); }
Expr operator-(Expr a, Expr b) { return binary(BinaryOp::Sub, std::move(a), std::move(b)); }
Expr operator*(Expr a, Expr b) { return binary(BinaryOp::Mul, std::move(a), std::move(b)); }
Expr operator/(Expr a, Expr b) { return binary(BinaryOp::Div, std::move(a), std::move(b)); }
Expr operator-(Expr a) { return unary(UnaryOp::Neg, std::move(a)); }
Expr floor_div(Expr a, Expr b) { return binary(BinaryOp::FloorDiv, std::move(a), std::move(b)); }
Expr mod(Expr a, Expr b) { return binary(BinaryOp::Mod, std::move(a), std::move(b)); }
Expr min(Expr a, Expr b) { return binary(BinaryOp::Min, std::move(a), std::move(b)); }
Expr max(Expr a, Expr b) { return binary(BinaryOp::Max, std::move(a), std::move(b)); }
Expr pow(Expr a, Expr b) { return binary(BinaryOp::Pow, std::move(a), std::move(b)); }
Expr operator<(Expr a, Expr b) { return binary(BinaryOp::Lt, std::move(a), std::move(b)); }
Expr operator<=(Expr a, Expr b) { return binary(BinaryOp::Le, std::move(a), std::move(b)); }
Expr operator>(Expr a, Expr b) { return binary(BinaryOp::Gt, std::move(a), std::move(b)); }
Expr operator>=(Expr a, Expr b) { return binary(BinaryOp::Ge, std::move(a), std::move(b)); }
Expr operator==(Expr a, Expr b) { return binary(BinaryOp::Eq, std::move(a), std::move(b)); }
Expr operator!=(Expr a, Expr b) { return binary(BinaryOp::Ne, std::move(a), std::move(b)); }
Expr operator&&(Expr a, Expr b) { return binary(BinaryOp::And, std::move(a), std::move(b)); }
Expr operator||(Expr a, Expr b) { return binary(BinaryOp::Or, std::move(a), std::move(b)); }

Expr in_range(Expr e, std::int64_t extent) { return e >= 0 && e < Expr(extent); }

Expr exp(Expr a) { return unary(UnaryOp::Exp, std::move(a)); }
Expr log(Expr a) { return unary(UnaryOp::Log, std::move(a)); }
Expr sqrt(Expr a) { return unary(UnaryOp::Sqrt, std::move(a)); }
Expr rsqrt(Expr a) { return unary(UnaryOp::Rsqrt, std::move(a)); }
Expr tanh(Expr a) { return unary(UnaryOp::Tanh, std::move(a)); }
Expr erf(Expr a) { return unary(UnaryOp::Erf, std::move(a)); }
Expr sigmoid(Expr a) { return unary(UnaryOp::Sigmoid, std::move(a)); }
Expr abs(Expr a) { return unary(UnaryOp::Abs, std::move(a)); }
Expr floor(Expr a) { return unary(UnaryOp::Floor, std::move(a)); }

}  // namespace temper::ir
