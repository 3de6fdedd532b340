#include "temper/nest/implication.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "temper/nest/coverage.h"

namespace temper::nest {

using analysis::Interval;

bool Implication::holds(const Condition& c, std::span<const Condition> facts) const {
  if (!c.equality) return nonnegative(c.form, facts);
  if (analysis::decide(c, vars_) == true) return true;
  // The same form, or a remainder of it: a % d == 0 follows from a == 0, and the other way round where |a| < d.
  const auto same = [&](const Affine& a, const Affine& b) {
    return range_of(a - b, vars_) == Interval{0, 0} || range_of(a + b, vars_) == Interval{0, 0};
  };
  const Affine* inner = remainder_operand(c.form);
  return std::any_of(facts.begin(), facts.end(), [&](const Condition& f) {
    if (!f.equality) return false;
    if (same(f.form, c.form) || (inner != nullptr && same(f.form, *inner))) return true;
    const Affine* other = remainder_operand(f.form);
    if (other == nullptr || !same(*other, c.form)) return false;
    const Affine room(vars_[f.form.terms.front().var].divisor - 1);
    return nonnegative(room - c.form, facts) && nonnegative(room + c.form, facts);
  });
}

const Affine* Implication::remainder_operand(const Affine& form) const {
  if (form.constant != 0 || form.terms.size() != 1) return nullptr;
  const auto& info = vars_[form.terms.front().var];
  return info.kind == analysis::VarKind::Mod ? &info.operand : nullptr;
}

bool Implication::nonnegative(const Affine& form, std::span<const Condition> facts, int uses) const {
  if (range_of(form, vars_).lo >= 0) return true;
  for (const Condition& fact : facts) {
    if (uses == 0) break;
    if (fact.form.terms.empty()) continue;
    // p * form - q * fact, in which the fact's first variable cancels; p * form > -p is enough for integers.
    const analysis::Term& lead = fact.form.terms.front();
    const std::int64_t own = form.coefficient(lead.var);
    if (own == 0 || ((own > 0) != (lead.coefficient > 0) && !fact.equality)) continue;
    const std::int64_t common = std::gcd(own, lead.coefficient);
    const std::int64_t p = std::abs(lead.coefficient) / common;
    Affine rest = form * p;
    rest.add_scaled(fact.form, -own * p / lead.coefficient);
    rest.constant += p - 1;
    if (nonnegative(rest, facts, uses - 1)) return true;
  }
  if (uses < kMostUses) return false;
  // c * floor(e / d) + t >= 0 with c of 1 or -1 says the same as a form without the division.
  for (const analysis::Term& term : form.terms) {
    const auto& info = vars_[term.var];
    if (info.kind != analysis::VarKind::FloorDiv || (term.coefficient != 1 && term.coefficient != -1)) continue;
    Affine rest = (form - Affine::of(term.var, term.coefficient)) * info.divisor;
    rest.add_scaled(info.operand, term.coefficient);
    if (term.coefficient == -1) rest.constant += info.divisor - 1;
    return nonnegative(rest, facts, kMostUses);
  }
  return least(form, facts) >= 0;
}

std::int64_t Implication::least(const Affine& form, std::span<const Condition> facts) const {
  std::int64_t sum = form.constant;
  Affine rest;
  for (const analysis::Term& term : form.terms) {
    const auto& info = vars_[term.var];
    if (info.kind != analysis::VarKind::FloorDiv) {
      rest += Affine::of(term.var, term.coefficient);
      continue;
    }
    Interval operand = range_of(info.operand, vars_);
    for (const Condition& fact : facts) {
      operand.lo = std::max(operand.lo, range_of(info.operand - fact.form, vars_).lo);
      operand.hi = std::min(operand.hi, range_of(info.operand + fact.form, vars_).hi);
    }
    sum += term.coefficient * analysis::floor_div(term.coefficient > 0 ? operand.lo : operand.hi, info.divisor);
  }
  return sum + range_of(rest, vars_).lo;
}

}  // namespace temper::nest
