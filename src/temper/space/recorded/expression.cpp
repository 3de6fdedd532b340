#include "temper/space/recorded/expression.h"

#include <algorithm>
#include <array>

#include "temper/space/recorded/expression_nodes.h"
#include "temper/support/error.h"

namespace temper::space::recorded {
namespace {

void collect_names(const ExpressionNode& node, std::vector<bool>& used) {
  if (node.kind == Operator::Name) used[static_cast<std::size_t>(node.slot)] = true;
  for (const NodePointer& operand : node.operands) collect_names(*operand, used);
}

bool shares_a_name(const ExpressionNode& a, const ExpressionNode& b, std::size_t slots) {
  std::vector<bool> of_a(slots), of_b(slots);
  collect_names(a, of_a);
  collect_names(b, of_b);
  for (std::size_t i = 0; i < slots; ++i) {
    if (of_a[i] && of_b[i]) return true;
  }
  return false;
}

/// Whether evaluation may fail for some numbers, so that what stands before it in an `and` guards it.
bool can_fail(const ExpressionNode& node) {
  const std::string& symbol = node.symbol;
  if (node.kind == Operator::Subscript || node.kind == Operator::Call) return true;
  if (node.kind == Operator::Binary && (symbol == "**" || symbol == "<<" || symbol == ">>")) return true;
  if (node.kind == Operator::Binary && (symbol[0] == '/' || symbol[0] == '%')) {
    const ExpressionNode& divisor = *node.operands[1];
    if (divisor.kind != Operator::Constant || !divisor.constant.truth()) return true;
  }
  return std::any_of(node.operands.begin(), node.operands.end(),
                     [](const NodePointer& operand) { return can_fail(*operand); });
}

/// The parts that Python would evaluate one after another, until one does not hold.
void collect_parts(const NodePointer& node, std::vector<NodePointer>& result) {
  if (node->kind == Operator::And) {
    for (const NodePointer& operand : node->operands) collect_parts(operand, result);
    return;
  }
  if (node->kind == Operator::Compare && node->comparisons.size() > 1) {
    for (std::size_t i = 0; i < node->comparisons.size(); ++i) {
      ExpressionNode one = *node;
      one.comparisons = {node->comparisons[i]};
      one.operands = {node->operands[i], node->operands[i + 1]};
      result.push_back(std::make_shared<const ExpressionNode>(std::move(one)));
    }
    return;
  }
  result.push_back(node);
}

}  // namespace

Expression::Expression(std::string_view text) : text_(text) {
  ParsedExpression parsed = parse_expression(text);
  root_ = std::move(parsed.root);
  names_ = std::move(parsed.names);
  slots_ = parsed.slots;
  for (std::size_t i = 0; i < names_.size(); ++i) slot_.push_back(static_cast<int>(i));
}

Value Expression::evaluate(std::span<const Value> values) const {
  TEMPER_CHECK(values.size() == names_.size(), "an expression needs a value for each of its names");
  // Constraints are evaluated millions of times: the environment of a short one is not allocated.
  constexpr std::size_t kFew = 12;
  std::array<Value, kFew> few;
  std::vector<Value> many;
  if (slots_ > kFew) many.resize(slots_);
  const std::span<Value> slots = slots_ > kFew ? std::span<Value>(many) : std::span<Value>(few.data(), slots_);
  for (std::size_t i = 0; i < values.size(); ++i) slots[static_cast<std::size_t>(slot_[i])] = values[i];
  try {
    return evaluate_node(*root_, slots);
  } catch (const Error& error) {
    std::string where = "expression \"" + text_ + "\"";
    for (std::size_t i = 0; i < values.size(); ++i) {
      where += (i == 0 ? " with " : ", ") + names_[i] + " = " + values[i].written();
    }
    throw Error(error.code(), error.message(), where, error.hint());
  }
}

std::vector<Expression> Expression::conjuncts() const {
  std::vector<NodePointer> parts;
  collect_parts(root_, parts);
  if (parts.size() == 1) return {*this};
  std::vector<Expression> result;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Expression one = *this;
    one.text_ = text_.substr(parts[i]->begin, parts[i]->end - parts[i]->begin);
    one.root_ = parts[i];
    if (can_fail(*parts[i])) {
      ExpressionNode guarded{.kind = Operator::And, .begin = parts[i]->begin, .end = parts[i]->end};
      for (std::size_t before = 0; before < i; ++before) {
        if (shares_a_name(*parts[before], *parts[i], slots_)) guarded.operands.push_back(parts[before]);
      }
      guarded.operands.push_back(parts[i]);
      one.root_ = std::make_shared<const ExpressionNode>(std::move(guarded));
    }
    one.names_.clear();
    one.slot_.clear();
    std::vector<bool> used(slots_);
    collect_names(*one.root_, used);
    for (std::size_t name = 0; name < names_.size(); ++name) {
      if (!used[static_cast<std::size_t>(slot_[name])]) continue;
      one.names_.push_back(names_[name]);
      one.slot_.push_back(slot_[name]);
    }
    result.push_back(std::move(one));
  }
  return result;
}

}  // namespace temper::space::recorded
