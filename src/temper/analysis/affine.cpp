#include "temper/analysis/affine.h"

#include <algorithm>

#include "temper/support/error.h"

namespace temper::analysis {

Affine Affine::of(Var var, std::int64_t coefficient) {
  Affine form;
  if (coefficient != 0) form.terms.push_back({var, coefficient});
  return form;
}

std::int64_t Affine::coefficient(Var var) const {
  for (const Term& term : terms) {
    if (term.var == var) return term.coefficient;
  }
  return 0;
}

Affine& Affine::operator+=(const Affine& other) { return add_scaled(other, 1); }

Affine& Affine::operator*=(std::int64_t scale) {
  constant *= scale;
  if (scale == 0) terms.clear();
  for (Term& term : terms) term.coefficient *= scale;
  return *this;
}

Affine& Affine::add_scaled(const Affine& other, std::int64_t scale) {
  constant += other.constant * scale;
  if (scale == 0) return *this;
  if (terms.empty()) {
    terms = other.terms;
    for (Term& term : terms) term.coefficient *= scale;
    return *this;
  }
  for (const Term& term : other.terms) {
    auto at = std::lower_bound(terms.begin(), terms.end(), term.var, [](const Term& t, Var v) { return t.var < v; });
    if (at != terms.end() && at->var == term.var) {
      at->coefficient += term.coefficient * scale;
      if (at->coefficient == 0) terms.erase(at);
    } else {
      terms.insert(at, {term.var, term.coefficient * scale});
    }
  }
  return *this;
}

Affine operator+(Affine a, const Affine& b) { return a += b; }
Affine operator-(Affine a, const Affine& b) { return a.add_scaled(b, -1); }
Affine operator*(Affine a, std::int64_t scale) { return a *= scale; }

Var VarSpace::add(std::string name, Interval range) {
  infos_.push_back({std::move(name), range, VarKind::Loop, {}, 1});
  return static_cast<Var>(infos_.size() - 1);
}

Interval VarSpace::range(const Affine& form) const {
  Interval out{form.constant, form.constant};
  for (const Term& term : form.terms) {
    const Interval& r = (*this)[term.var].range;
    if (term.coefficient > 0) {
      out.lo += term.coefficient * r.lo;
      out.hi += term.coefficient * r.hi;
    } else {
      out.lo += term.coefficient * r.hi;
      out.hi += term.coefficient * r.lo;
    }
  }
  return out;
}

Var VarSpace::derived(VarKind kind, Affine operand, std::int64_t divisor) {
  for (std::size_t i = 0; i < infos_.size(); ++i) {
    const VarInfo& info = infos_[i];
    if (info.kind == kind && info.divisor == divisor && info.operand == operand) return static_cast<Var>(i);
  }
  Interval r = range(operand);
  Interval own = kind == VarKind::FloorDiv
                     ? Interval{analysis::floor_div(r.lo, divisor), analysis::floor_div(r.hi, divisor)}
                     : Interval{0, divisor - 1};
  infos_.push_back({"", own, kind, std::move(operand), divisor});
  return static_cast<Var>(infos_.size() - 1);
}

namespace {

/// a = divisor * quotient + rest, where the rest keeps every term that the divisor does not divide.
void split_multiples(const Affine& a, std::int64_t divisor, Affine& quotient, Affine& rest) {
  quotient = Affine(floor_div(a.constant, divisor));
  rest = Affine(floor_mod(a.constant, divisor));
  for (const Term& term : a.terms) {
    if (term.coefficient % divisor == 0) {
      quotient.terms.push_back({term.var, term.coefficient / divisor});
    } else {
      rest.terms.push_back(term);
    }
  }
}

}  // namespace

Affine VarSpace::floor_div(const Affine& a, std::int64_t divisor) {
  if (divisor == 1) return a;
  Affine quotient, rest;
  split_multiples(a, divisor, quotient, rest);
  const Interval r = range(rest);
  const std::int64_t lo = analysis::floor_div(r.lo, divisor);
  if (lo == analysis::floor_div(r.hi, divisor)) {
    quotient.constant += lo;
    return quotient;
  }
  return quotient += Affine::of(derived(VarKind::FloorDiv, std::move(rest), divisor));
}

Affine VarSpace::mod(const Affine& a, std::int64_t divisor) {
  if (divisor == 1) return {};
  Affine quotient, rest;
  split_multiples(a, divisor, quotient, rest);
  const Interval r = range(rest);
  const std::int64_t lo = analysis::floor_div(r.lo, divisor);
  if (lo == analysis::floor_div(r.hi, divisor)) {
    rest.constant -= lo * divisor;
    return rest;
  }
  return Affine::of(derived(VarKind::Mod, std::move(rest), divisor));
}

Affine VarSpace::rejoin(Affine form) const {
  for (std::size_t i = 0; i < form.terms.size();) {
    const Term rest = form.terms[i];
    const VarInfo& mod = (*this)[rest.var];
    const auto quotient = std::find_if(form.terms.begin(), form.terms.end(), [&](const Term& term) {
      const VarInfo& info = (*this)[term.var];
      return mod.kind == VarKind::Mod && info.kind == VarKind::FloorDiv && info.divisor == mod.divisor &&
             term.coefficient == rest.coefficient * mod.divisor && info.operand == mod.operand;
    });
    if (quotient == form.terms.end()) {
      ++i;
      continue;
    }
    const Term taken = *quotient;
    form.add_scaled(Affine::of(taken.var), -taken.coefficient);
    form.add_scaled(Affine::of(rest.var), -rest.coefficient);
    form.add_scaled(mod.operand, rest.coefficient);
    i = 0;  // what was joined may be half of another pair
  }
  return form;
}

Affine VarSpace::substitute(const Affine& form, const std::function<const Affine*(Var)>& value) {
  Affine out(form.constant);
  for (const Term& term : form.terms) {
    if (const Affine* replacement = value(term.var)) {
      out.add_scaled(*replacement, term.coefficient);
      continue;
    }
    const VarInfo info = (*this)[term.var];
    if (info.kind == VarKind::Loop) {
      out.add_scaled(Affine::of(term.var), term.coefficient);
      continue;
    }
    Affine operand = substitute(info.operand, value);
    if (operand == info.operand) {
      out.add_scaled(Affine::of(term.var), term.coefficient);
    } else {
      out.add_scaled(info.kind == VarKind::FloorDiv ? floor_div(operand, info.divisor) : mod(operand, info.divisor),
                     term.coefficient);
    }
  }
  return out;
}

bool VarSpace::depends_on(const Affine& form, Var var) const {
  return std::any_of(form.terms.begin(), form.terms.end(), [&](const Term& term) {
    return term.var == var || ((*this)[term.var].kind != VarKind::Loop && depends_on((*this)[term.var].operand, var));
  });
}

std::optional<Affine> to_affine(const ir::Expr& expr, const AxisValue& value, VarSpace& vars) {
  using ir::BinaryOp;
  switch (expr->kind) {
    case ir::ExprKind::Int: return Affine(expr->int_value);
    case ir::ExprKind::Var: {
      const Affine* form = value(expr->axis.get());
      if (form == nullptr) return std::nullopt;
      return *form;
    }
    case ir::ExprKind::Unary: {
      if (expr->unary != ir::UnaryOp::Neg || ir::is_float(expr->dtype)) return std::nullopt;
      auto a = to_affine(expr->args[0], value, vars);
      if (!a) return std::nullopt;
      return *a * -1;
    }
    case ir::ExprKind::Binary: {
      if (ir::is_float(expr->dtype)) return std::nullopt;
      switch (expr->binary) {
        case BinaryOp::Add:
        case BinaryOp::Sub:
        case BinaryOp::Mul:
        case BinaryOp::FloorDiv:
        case BinaryOp::Mod: break;
        default: return std::nullopt;
      }
      auto a = to_affine(expr->args[0], value, vars);
      if (!a) return std::nullopt;
      auto b = to_affine(expr->args[1], value, vars);
      if (!b) return std::nullopt;
      switch (expr->binary) {
        case BinaryOp::Add: return vars.rejoin(*a + *b);
        case BinaryOp::Sub: return *a - *b;
        case BinaryOp::Mul:
          if (b->is_constant()) return *a * b->constant;
          if (a->is_constant()) return *b * a->constant;
          return std::nullopt;
        case BinaryOp::FloorDiv:
          if (!b->is_constant() || b->constant <= 0) return std::nullopt;
          return vars.floor_div(*a, b->constant);
        case BinaryOp::Mod:
          if (!b->is_constant() || b->constant <= 0) return std::nullopt;
          return vars.mod(*a, b->constant);
        default: return std::nullopt;
      }
    }
    default: return std::nullopt;
  }
}

std::optional<std::vector<Condition>> to_conditions(const ir::Expr& expr, const AxisValue& value, VarSpace& vars) {
  using ir::BinaryOp;
  if (expr->kind != ir::ExprKind::Binary) return std::nullopt;
  if (expr->binary == BinaryOp::And) {
    auto left = to_conditions(expr->args[0], value, vars);
    if (!left) return std::nullopt;
    auto right = to_conditions(expr->args[1], value, vars);
    if (!right) return std::nullopt;
    left->insert(left->end(), right->begin(), right->end());
    return left;
  }
  switch (expr->binary) {
    case BinaryOp::Lt:
    case BinaryOp::Le:
    case BinaryOp::Gt:
    case BinaryOp::Ge:
    case BinaryOp::Eq: break;
    default: return std::nullopt;
  }
  auto a = to_affine(expr->args[0], value, vars);
  if (!a) return std::nullopt;
  auto b = to_affine(expr->args[1], value, vars);
  if (!b) return std::nullopt;
  Affine difference = *b - *a;  // a < b  ⇔  b - a - 1 >= 0
  switch (expr->binary) {
    case BinaryOp::Lt: return std::vector<Condition>{{difference - Affine(1), false}};
    case BinaryOp::Le: return std::vector<Condition>{{difference, false}};
    case BinaryOp::Gt: return std::vector<Condition>{{difference * -1 - Affine(1), false}};
    case BinaryOp::Ge: return std::vector<Condition>{{difference * -1, false}};
    default: return std::vector<Condition>{{difference, true}};
  }
}

std::vector<Condition> implied_conditions(const ir::Expr& expr, bool truth, const AxisValue& value, VarSpace& vars) {
  using ir::BinaryOp;
  if (expr->kind == ir::ExprKind::Unary && expr->unary == ir::UnaryOp::Not)
    return implied_conditions(expr->args[0], !truth, value, vars);
  if (expr->kind != ir::ExprKind::Binary) return {};
  const BinaryOp op = expr->binary;
  if (op == BinaryOp::And || op == BinaryOp::Or) {
    if ((op == BinaryOp::And) != truth) return {};
    std::vector<Condition> out = implied_conditions(expr->args[0], truth, value, vars);
    for (Condition& condition : implied_conditions(expr->args[1], truth, value, vars))
      out.push_back(std::move(condition));
    return out;
  }
  if (op < BinaryOp::Lt || op > BinaryOp::Ne || expr->args[0].dtype() != ir::DType::I64) return {};
  const auto a = to_affine(expr->args[0], value, vars);
  if (!a) return {};
  const auto b = to_affine(expr->args[1], value, vars);
  if (!b) return {};
  const Affine up = *b - *a, down = *a - *b;
  switch (op) {
    case BinaryOp::Lt: return {truth ? Condition{up - Affine(1), false} : Condition{down, false}};
    case BinaryOp::Le: return {truth ? Condition{up, false} : Condition{down - Affine(1), false}};
    case BinaryOp::Gt: return {truth ? Condition{down - Affine(1), false} : Condition{up, false}};
    case BinaryOp::Ge: return {truth ? Condition{down, false} : Condition{up - Affine(1), false}};
    default: break;
  }
  if ((op == BinaryOp::Eq) == truth) return {Condition{up, true}};
  return {};
}

std::optional<bool> decide(const Condition& condition, const VarSpace& vars) {
  const Interval r = vars.range(condition.form);
  if (condition.equality) {
    if (r.lo == 0 && r.hi == 0) return true;
    if (r.lo > 0 || r.hi < 0) return false;
    return std::nullopt;
  }
  if (r.lo >= 0) return true;
  if (r.hi < 0) return false;
  return std::nullopt;
}

std::string print(const Affine& form, const VarSpace& vars) {
  std::string text;
  for (const Term& term : form.terms) {
    const VarInfo& info = vars[term.var];
    std::string name = info.name;
    if (info.kind != VarKind::Loop) {
      name = "(" + print(info.operand, vars) + (info.kind == VarKind::FloorDiv ? ") / " : ") % ") +
             std::to_string(info.divisor);
      name = "(" + name + ")";
    }
    const std::int64_t magnitude = term.coefficient < 0 ? -term.coefficient : term.coefficient;
    if (text.empty()) {
      text += term.coefficient < 0 ? "-" : "";
    } else {
      text += term.coefficient < 0 ? " - " : " + ";
    }
    if (magnitude != 1) text += std::to_string(magnitude) + "*";
    text += name;
  }
  if (text.empty()) return std::to_string(form.constant);
  if (form.constant > 0) text += " + " + std::to_string(form.constant);
  if (form.constant < 0) text += " - " + std::to_string(-form.constant);
  return text;
}

}  // namespace temper::analysis
