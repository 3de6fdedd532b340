// Whether an expression can hold when only ranges of its names are known: interval arithmetic over the syntax tree.
// What it does not follow (texts, lists, functions other than min, max and abs) may be anything.
#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>

#include "temper/space/recorded/expression.h"
#include "temper/space/recorded/expression_nodes.h"
#include "temper/support/error.h"

namespace temper::space::recorded {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Whole numbers above are not exact in the arithmetic of ranges.
constexpr double kExact = 0x1.0p53;

using search::Bounds;

/// Also what a text or a list has.
constexpr Bounds kAnything{-kInfinity, kInfinity};
constexpr Bounds kFalse{0, 0}, kTrue{1, 1}, kEither{0, 1};

Bounds sound(double low, double high) {
  // NaN comes from infinities that meet; rounding could cut a bound off where numbers are large.
  if (std::isnan(low) || std::isnan(high) || low < -kExact || high > kExact) return kAnything;
  return {low, high};
}

Bounds around(std::initializer_list<double> corners) {
  for (const double corner : corners) {
    if (std::isnan(corner)) return kAnything;
  }
  return sound(std::min(corners), std::max(corners));
}

/// As true as `if` finds a number in the range.
Bounds truth(const Bounds& b) {
  if (b.low == 0 && b.high == 0) return kFalse;
  return b.low > 0 || b.high < 0 ? kTrue : kEither;
}

Bounds divide(const Bounds& a, const Bounds& b) {
  if (b.low <= 0 && b.high >= 0) return kAnything;
  const Bounds exact = around({a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high});
  if (exact.low == -kInfinity) return kAnything;
  // Quotients are rounded: a range a little wider holds them all.
  const double slack = 1e-12 * std::max(std::abs(exact.low), std::abs(exact.high));
  return {exact.low - slack, exact.high + slack};
}

Bounds modulo(const Bounds& a, const Bounds& b) {
  if (b.low <= 0) return kAnything;
  if (a.low >= 0 && a.high < b.low) return a;
  return {0, b.high};
}

Bounds binary(const std::string& symbol, const Bounds& a, const Bounds& b) {
  if (a.low == -kInfinity || b.low == -kInfinity) return kAnything;
  if (symbol == "+") return sound(a.low + b.low, a.high + b.high);
  if (symbol == "-") return sound(a.low - b.high, a.high - b.low);
  if (symbol == "*") return around({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  if (symbol == "/") return divide(a, b);
  if (symbol == "%") return modulo(a, b);
  if (symbol == "//") {
    const Bounds quotient = divide(a, b);
    return quotient.low == -kInfinity ? kAnything : Bounds{std::floor(quotient.low), std::floor(quotient.high)};
  }
  return kAnything;
}

Bounds compare(const Bounds& a, const Bounds& b, Comparison comparison) {
  const auto decide = [](bool always, bool never) { return always ? kTrue : never ? kFalse : kEither; };
  switch (comparison) {
    case Comparison::Less: return decide(a.high < b.low, a.low >= b.high);
    case Comparison::LessEqual: return decide(a.high <= b.low, a.low > b.high);
    case Comparison::Greater: return decide(a.low > b.high, a.high <= b.low);
    case Comparison::GreaterEqual: return decide(a.low >= b.high, a.high < b.low);
    case Comparison::Equal: return decide(a.low == a.high && a == b, a.high < b.low || b.high < a.low);
    case Comparison::NotEqual: return decide(a.high < b.low || b.high < a.low, a.low == a.high && a == b);
    default: return kEither;
  }
}

Bounds bounds_of(const ExpressionNode& node, std::span<const Bounds> names);
Bounds truth_of(const ExpressionNode& node, std::span<const Bounds> names);

Bounds call(const ExpressionNode& node, std::span<const Bounds> names) {
  const bool smallest = node.symbol == "min", largest = node.symbol == "max";
  if (node.symbol == "abs" && node.operands.size() == 1) {
    const Bounds b = bounds_of(*node.operands[0], names);
    const double far = std::max(std::abs(b.low), std::abs(b.high));
    if (b.low == -kInfinity) return kAnything;
    return {b.low <= 0 && b.high >= 0 ? 0 : std::min(std::abs(b.low), std::abs(b.high)), far};
  }
  if ((!smallest && !largest) || node.operands.size() < 2) return kAnything;
  Bounds result = bounds_of(*node.operands[0], names);
  for (const NodePointer& operand : node.operands) {
    const Bounds b = bounds_of(*operand, names);
    if (b.low == -kInfinity || result.low == -kInfinity) return kAnything;
    result.low = smallest ? std::min(result.low, b.low) : std::max(result.low, b.low);
    result.high = smallest ? std::min(result.high, b.high) : std::max(result.high, b.high);
  }
  return result;
}

/// Only the truth of `and` and `or` is followed: their value is one of the operands.
Bounds logic(const ExpressionNode& node, std::span<const Bounds> names) {
  const bool any = node.kind == Operator::Or;
  Bounds result = any ? kFalse : kTrue;
  for (const NodePointer& operand : node.operands) {
    const Bounds b = truth_of(*operand, names);
    result.low = any ? std::max(result.low, b.low) : std::min(result.low, b.low);
    result.high = any ? std::max(result.high, b.high) : std::min(result.high, b.high);
  }
  return result;
}

Bounds comparisons(const ExpressionNode& node, std::span<const Bounds> names) {
  Bounds result = kTrue;
  Bounds left = bounds_of(*node.operands[0], names);
  for (std::size_t i = 0; i < node.comparisons.size(); ++i) {
    const Bounds right = bounds_of(*node.operands[i + 1], names);
    const Bounds b = compare(left, right, node.comparisons[i]);
    result = {std::min(result.low, b.low), std::min(result.high, b.high)};
    left = right;
  }
  return result;
}

Bounds bounds_of(const ExpressionNode& node, std::span<const Bounds> names) {
  switch (node.kind) {
    case Operator::Constant:
      if (!node.constant.is_number()) return kAnything;
      return sound(node.constant.real(), node.constant.real());
    case Operator::Name: {
      const auto slot = static_cast<std::size_t>(node.slot);
      return slot < names.size() ? names[slot] : kAnything;
    }
    case Operator::Not: {
      const Bounds b = truth_of(*node.operands[0], names);
      return {1 - b.high, 1 - b.low};
    }
    case Operator::Compare: return comparisons(node, names);
    case Operator::Conditional: {
      const Bounds condition = truth_of(*node.operands[1], names);
      const Bounds yes = bounds_of(*node.operands[0], names), no = bounds_of(*node.operands[2], names);
      if (condition == kTrue) return yes;
      if (condition == kFalse) return no;
      return {std::min(yes.low, no.low), std::max(yes.high, no.high)};
    }
    case Operator::Binary:
      return binary(node.symbol, bounds_of(*node.operands[0], names), bounds_of(*node.operands[1], names));
    case Operator::Unary: {
      const Bounds b = bounds_of(*node.operands[0], names);
      if (node.symbol == "-") return {-b.high, -b.low};
      return node.symbol == "+" ? b : kAnything;
    }
    case Operator::Call: return call(node, names);
    default: return kAnything;
  }
}

/// As `bounds_of`, where only the truth of the result counts.
Bounds truth_of(const ExpressionNode& node, std::span<const Bounds> names) {
  if (node.kind == Operator::And || node.kind == Operator::Or) return logic(node, names);
  return truth(bounds_of(node, names));
}

}  // namespace

bool Expression::may_hold(std::span<const search::Bounds> bounds) const {
  TEMPER_CHECK(bounds.size() == names_.size(), "an expression needs a range for each of its names");
  constexpr std::size_t kFew = 12;
  std::array<Bounds, kFew> few;
  std::vector<Bounds> many(slots_ > kFew ? slots_ : 0);
  const std::span<Bounds> slots = slots_ > kFew ? std::span<Bounds>(many) : std::span<Bounds>(few.data(), slots_);
  std::fill(slots.begin(), slots.end(), kAnything);
  for (std::size_t i = 0; i < bounds.size(); ++i) slots[static_cast<std::size_t>(slot_[i])] = bounds[i];
  return truth_of(*root_, slots).high > 0;
}

}  // namespace temper::space::recorded
