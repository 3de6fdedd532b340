#include "temper/analysis/never_positive.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "temper/ir/visit.h"

namespace temper::analysis {

namespace {

using ir::BinaryOp;
using ir::Expr;
using ir::ExprKind;

/// The element's definition, at the indices where it is read; nothing for reductions, tuples and placeholders.
Expr definition_of(const Expr& load) {
  const ir::Stage& stage = *load->stage;
  if (stage.kind != ir::StageKind::Compute || stage.is_reduction() || stage.body.size() != 1) return {};
  std::vector<std::pair<ir::Axis, Expr>> values;
  for (std::size_t a = 0; a < stage.axes.size(); ++a) values.emplace_back(stage.axes[a], load->args[a]);
  return ir::substitute(stage.body[0], values);
}

/// The element that a copy, or a copy of copies, was made of.
Expr original(Expr value) {
  while (value->kind == ExprKind::Load) {
    const Expr definition = definition_of(value);
    if (definition.get() == nullptr || definition->kind != ExprKind::Load) break;
    value = definition;
  }
  return value;
}

bool are_both_params(const Expr& a, const Expr& b) {
  return a->kind == ExprKind::Param && b->kind == ExprKind::Param && a->index != b->index;
}

/// Whether no number among the terms is larger than the result: max(a, b), or a > b ? a : b.
bool is_maximum(const ir::Stage& stage) {
  if (!stage.is_reduction() || !stage.where.empty() || stage.body.size() != 1) return false;
  const Expr& combine = stage.reducer->combine[0];
  if (combine->kind == ExprKind::Binary)
    return combine->binary == BinaryOp::Max && are_both_params(combine->args[0], combine->args[1]);
  if (combine->kind != ExprKind::Select) return false;
  const Expr& condition = combine->args[0];
  return condition->kind == ExprKind::Binary && condition->binary == BinaryOp::Gt &&
         are_both_params(combine->args[1], combine->args[2]) && ir::same(condition->args[0], combine->args[1]) &&
         ir::same(condition->args[1], combine->args[2]);
}

/// Whether some terms of a reduction are a given expression: its axes stand for the indices at which the result is
/// read, its reduce axes for whatever makes both equal and lies in their range.
class TermMatch {
 public:
  explicit TermMatch(const Expr& load) : stage_(*load->stage), at_(stage_.reduce_axes.size()) {
    for (std::size_t a = 0; a < stage_.axes.size(); ++a) values_.emplace_back(stage_.axes[a], load->args[a]);
  }

  bool matches(const Expr& value) { return match(stage_.body[0], value); }

 private:
  bool match(const Expr& term, const Expr& value) {
    const Expr a = original(term), b = original(value);
    if (a->kind == ExprKind::Var) {
      for (const auto& [axis, index] : values_) {
        if (axis == a->axis) return ir::same(index, b);
      }
      for (std::size_t r = 0; r < at_.size(); ++r) {
        if (!(stage_.reduce_axes[r] == a->axis)) continue;
        if (at_[r]) return ir::same(at_[r], b);
        at_[r] = b;
        return in_range(b, stage_.reduce_axes[r].extent());
      }
      return false;
    }
    if (a->args.empty()) return ir::same(a, b);
    if (a->kind != b->kind || a->dtype != b->dtype || a->args.size() != b->args.size()) return false;
    const bool alike = a->unary == b->unary && a->binary == b->binary && a->stage == b->stage && a->index == b->index;
    return alike && std::equal(a->args.begin(), a->args.end(), b->args.begin(),
                               [&](const Expr& x, const Expr& y) { return match(x, y); });
  }

  static bool in_range(const Expr& index, const ir::Extent& extent) {
    if (!extent.is_constant()) return false;
    if (index->kind == ExprKind::Int) return index->int_value >= 0 && index->int_value < extent.constant;
    return index->kind == ExprKind::Var && index->axis.extent().is_constant() &&
           index->axis.extent().constant <= extent.constant;
  }

  const ir::Stage& stage_;
  std::vector<std::pair<ir::Axis, Expr>> values_;
  std::vector<Expr> at_;  ///< per reduce axis; empty while it is open
};

}  // namespace

bool never_positive(const Expr& value) {
  switch (value->kind) {
    case ExprKind::Float: return value->float_value <= 0;
    case ExprKind::Unary:
      return value->unary == ir::UnaryOp::Neg && value->args[0]->kind == ExprKind::Unary &&
             value->args[0]->unary == ir::UnaryOp::Abs;
    case ExprKind::Binary: break;
    case ExprKind::Load: {
      const Expr definition = definition_of(value);
      return definition ? never_positive(definition) : false;
    }
    default: return false;
  }
  if (value->binary == BinaryOp::Min) return never_positive(value->args[0]) || never_positive(value->args[1]);
  if (value->binary != BinaryOp::Sub) return false;
  const Expr largest = original(value->args[1]);
  return largest->kind == ExprKind::Load && is_maximum(*largest->stage) && TermMatch(largest).matches(value->args[0]);
}

}  // namespace temper::analysis
