// Evaluation of a stage's expressions under the current loop bindings.
#include <algorithm>

#include "temper/analysis/never_positive.h"
#include "temper/lower/lowering.h"
#include "temper/support/error.h"

namespace temper::lower {

namespace {

constexpr Op kUnary[] = {Op::Neg, Op::Abs,     Op::Not, Op::Exp, Op::Log,   Op::Sqrt, Op::Rsqrt, Op::Tanh,
                         Op::Erf, Op::Sigmoid, Op::Sin, Op::Cos, Op::Floor, Op::Ceil, Op::Round, Op::Sign};
constexpr Op kBinary[] = {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::FloorDiv, Op::Mod, Op::Min, Op::Max, Op::Pow,
                          Op::Lt,  Op::Le,  Op::Gt,  Op::Ge,  Op::Eq,       Op::Ne,  Op::And, Op::Or};

bool is_comparison(ir::BinaryOp op) { return op >= ir::BinaryOp::Lt && op <= ir::BinaryOp::Ne; }

}  // namespace

analysis::AxisValue Lowering::axis_lookup() const {
  return [this](const ir::AxisNode* axis) -> const Affine* {
    for (auto at = axes_.rbegin(); at != axes_.rend(); ++at) {
      if (at->first == axis) return &at->second;
    }
    return nullptr;
  };
}

Value Lowering::boolean(Value v) {
  if (emit_.type(v).scalar == Scalar::I1) return v;
  const Type type = emit_.type(v);
  const Value zero = is_float(type.scalar) ? emit_.const_float(0, type) : emit_.const_int(0, type);
  return emit_.compare(Op::Ne, v, zero);
}

Value Lowering::stored(Value v, ir::DType dtype) {
  if (dtype != ir::DType::Bool || emit_.type(v).scalar != Scalar::I1) return v;
  const Type type{Scalar::I8, emit_.type(v).lanes};
  return emit_.pure(Op::Select, type, {v, emit_.const_int(1, type), emit_.const_int(0, type)});
}

Value Lowering::evaluate_integer(const Affine& form, Scalar scalar) {
  const Affine folded = fold(form);
  const Value v = lane_dependent(folded) ? materialise_lanes(folded) : materialise(folded);
  return emit_.cast(v, scalar);
}

Value Lowering::evaluate(const ir::Expr& expr, const Mask& mask) {
  const ir::ExprNode& node = *expr;
  const Scalar scalar = value_scalar(node.dtype);
  switch (node.kind) {
    case ir::ExprKind::Int: return emit_.const_int(node.int_value, {scalar, 1});
    case ir::ExprKind::Float: return emit_.const_float(node.float_value, {scalar, 1});
    case ir::ExprKind::Var: {
      const Affine* form = axis_lookup()(node.axis.get());
      TEMPER_CHECK(form != nullptr, "an axis has no value: " + node.axis.name());
      return evaluate_integer(*form, scalar);
    }
    case ir::ExprKind::Param: {
      const Param& param = params_[static_cast<std::size_t>(node.index)];
      return param.expr != nullptr ? evaluate(*param.expr, mask) : param.value;
    }
    case ir::ExprKind::Unary: {
      const Value a = evaluate(node.args[0], mask);
      const Op op = kUnary[static_cast<int>(node.unary)];
      return emit_.unary(op == Op::Exp && analysis::never_positive(node.args[0]) ? Op::ExpNonPositive : op, a);
    }
    case ir::ExprKind::Binary: return evaluate_binary(node, mask);
    case ir::ExprKind::Select: return evaluate_select(node, mask);
    case ir::ExprKind::Cast: {
      const Value a = evaluate(node.args[0], mask);
      if (scalar == Scalar::I1) return boolean(a);
      if (emit_.type(a).scalar == Scalar::I1) {
        const Type type{scalar, emit_.type(a).lanes};
        const Value one = is_float(scalar) ? emit_.const_float(1, type) : emit_.const_int(1, type);
        const Value zero = is_float(scalar) ? emit_.const_float(0, type) : emit_.const_int(0, type);
        return emit_.pure(Op::Select, type, {a, one, zero});
      }
      return emit_.cast(a, scalar);
    }
    case ir::ExprKind::Load: return evaluate_load(node, mask);
  }
  TEMPER_CHECK(false, "an expression kind that does not exist");
}

const ir::ExprNode* Lowering::as_product(const ir::Expr& expr) const {
  const ir::ExprNode* node = expr.get();
  if (node->kind == ir::ExprKind::Param) {
    const Param& param = params_[static_cast<std::size_t>(node->index)];
    if (param.expr == nullptr) return nullptr;
    node = param.expr->get();
  }
  return node->kind == ir::ExprKind::Binary && node->binary == ir::BinaryOp::Mul && ir::is_float(node->dtype) ? node
                                                                                                              : nullptr;
}

Value Lowering::evaluate_binary(const ir::ExprNode& node, const Mask& mask) {
  const auto agree = [&](Value& a, Value& b) {
    const int lanes = std::max(emit_.type(a).lanes, emit_.type(b).lanes);
    a = emit_.widen(a, lanes);
    b = emit_.widen(b, lanes);
  };
  if (node.dtype == ir::DType::I64) {
    if (auto form = analysis::to_affine(ir::Expr(std::make_shared<ir::ExprNode>(node)), axis_lookup(), vars_))
      return evaluate_integer(*form, Scalar::I64);
  }
  // a*b + c rounds once.
  if (node.binary == ir::BinaryOp::Add && ir::is_float(node.dtype)) {
    for (int side = 1; side >= 0; --side) {
      const ir::ExprNode* product = as_product(node.args[static_cast<std::size_t>(side)]);
      if (product == nullptr) continue;
      Value a = evaluate(product->args[0], mask), b = evaluate(product->args[1], mask);
      Value c = evaluate(node.args[static_cast<std::size_t>(1 - side)], mask);
      agree(a, b);
      agree(a, c);
      agree(b, c);
      return emit_.pure(Op::Fma, emit_.type(c), {a, b, c});
    }
  }
  const Op op = kBinary[static_cast<int>(node.binary)];
  if (op == Op::FloorDiv || op == Op::Mod) {
    const ir::ExprNode& divisor = *node.args[1];
    if (divisor.kind != ir::ExprKind::Int || divisor.int_value <= 0) {
      throw Error(ErrorCode::Unsupported, "floor division by a value that is not a positive constant",
                  "stage " + program_.stages[static_cast<std::size_t>(statement_->stage)]->name);
    }
    const Value a = evaluate(node.args[0], mask);
    return emit_.binary(op, a, emit_.const_int(divisor.int_value, emit_.type(a)));
  }
  Value a = evaluate(node.args[0], mask), b = evaluate(node.args[1], mask);
  agree(a, b);
  if (is_comparison(node.binary)) return emit_.compare(op, a, b);
  return emit_.binary(op, a, b);
}

Value Lowering::evaluate_select(const ir::ExprNode& node, const Mask& mask) {
  // The branch that is not taken may index outside, so what an index condition implies masks its loads.
  Mask then_mask = mask, else_mask = mask;
  const auto conditions = analysis::to_conditions(node.args[0], axis_lookup(), vars_);
  if (conditions) {
    bool always = true, never = false;
    for (Condition condition : *conditions) {
      condition.form = fold(condition.form);
      const std::optional<bool> truth = analysis::decide(condition, vars_);
      always = always && truth == true;
      never = never || truth == false;
    }
    if (always) return evaluate(node.args[1], mask);
    if (never) return evaluate(node.args[2], mask);
  }
  for (const bool branch : {true, false}) {
    for (const Condition& condition : analysis::implied_conditions(node.args[0], branch, axis_lookup(), vars_)) {
      if (!narrow(branch ? then_mask : else_mask, condition)) return evaluate(node.args[branch ? 2 : 1], mask);
    }
  }
  const Value condition = boolean(evaluate(node.args[0], mask));
  const Value a = evaluate(node.args[1], then_mask);
  const Value b = evaluate(node.args[2], else_mask);
  return emit_.select(condition, a, b);
}

Value Lowering::evaluate_load(const ir::ExprNode& node, const Mask& mask) {
  int stage = -1;
  for (std::size_t i = 0; i < program_.stages.size(); ++i) {
    if (program_.stages[i].get() == node.stage.get()) stage = static_cast<int>(i);
  }
  TEMPER_CHECK(stage >= 0, "a stage reads a stage that is not in the program");
  std::vector<Affine> index;
  bool affine = true;
  for (const ir::Expr& arg : node.args) {
    auto form = analysis::to_affine(arg, axis_lookup(), vars_);
    affine = affine && form.has_value();
    index.push_back(form.value_or(Affine(0)));
  }
  if (program_.inlined[static_cast<std::size_t>(stage)]) {
    const ir::Stage& inlined = *program_.stages[static_cast<std::size_t>(stage)];
    if (!affine) {
      throw Error(ErrorCode::Unsupported, "an inlined stage is indexed by values known only at run time",
                  "stage " + inlined.name, "do not inline it");
    }
    const std::size_t depth = axes_.size();
    for (std::size_t i = 0; i < index.size(); ++i) axes_.emplace_back(inlined.axes[i].get(), std::move(index[i]));
    const Value v = evaluate(inlined.body[static_cast<std::size_t>(node.index)], mask);
    axes_.resize(depth);
    return v;
  }
  int storage = -1;
  for (const auto& [read, at] : statement_->reads) {
    if (read == stage) storage = at;
  }
  TEMPER_CHECK(storage >= 0,
               "a statement reads a stage without storage: " + program_.stages[static_cast<std::size_t>(stage)]->name);
  if (affine) return load(storage, node.index, index, mask);
  std::vector<Value> values;
  for (const ir::Expr& arg : node.args) values.push_back(evaluate(arg, mask));
  return load_at(storage, node.index, values, mask);
}

void Lowering::narrow(Mask& mask, Value condition) {
  const bool shared = emit_.type(condition).lanes == 1;
  if (!shared) mask.maybe_empty = true;
  Value& part = shared ? mask.uniform : mask.lanes;
  part = emit_.logical_and(part, condition);
}

bool Lowering::narrow(Mask& mask, const Condition& condition) {
  Condition folded{fold(condition.form), condition.equality};
  const std::optional<bool> truth = analysis::decide(folded, vars_);
  if (truth == true) return true;
  if (truth == false) return false;
  const Op op = condition.equality ? Op::Eq : Op::Ge;
  if (!lane_dependent(folded.form)) {
    narrow(mask, emit_.compare(op, materialise(folded.form), emit_.const_int(0)));
    return true;
  }
  if (folded.form.terms.size() == 1 && folded.form.terms[0].var == lanes_.var) {
    std::uint64_t bits = 0;
    for (int lane = 0; lane < lanes_.width; ++lane) {
      const std::int64_t v = folded.form.constant + folded.form.terms[0].coefficient * lane;
      if (condition.equality ? v == 0 : v >= 0) bits |= std::uint64_t{1} << lane;
    }
    if ((bits & ((std::uint64_t{2} << (lanes_.active - 1)) - 1)) == 0) return false;
    narrow_lanes(mask, emit_.const_mask(bits, lanes_.width), true);
    return true;
  }
  // Whether the condition holds in its best lane, of those of the loop, whatever the other variables are.
  bool holds_somewhere = false;
  const std::int64_t step = folded.form.coefficient(lanes_.var);
  const Affine rest = folded.form - Affine::of(lanes_.var, step);
  if (!condition.equality && !lane_dependent(rest))
    holds_somewhere = vars_.range(rest).lo + std::max<std::int64_t>(0, step * (lanes_.active - 1)) >= 0;
  narrow_lanes(mask, emit_.compare(op, materialise_lanes(folded.form), emit_.const_int(0, {Scalar::I64, lanes_.width})),
               holds_somewhere);
  return true;
}

void Lowering::narrow_lanes(Mask& mask, Value condition, bool holds_somewhere) {
  // Two conditions that hold somewhere each need not hold together anywhere.
  const bool empty_before = mask.maybe_empty, first = mask.lanes == kNoValue;
  narrow(mask, condition);
  mask.maybe_empty = empty_before || !holds_somewhere || !first;
}

Value Lowering::combine(const ir::Reducer& reducer, int component, std::vector<Param> params, const Mask& mask) {
  std::swap(params_, params);
  const Value v = evaluate(reducer.combine[static_cast<std::size_t>(component)], mask);
  std::swap(params_, params);
  return v;
}

}  // namespace temper::lower
