// The syntax tree of an expression, and what its nodes mean. Internal to expression*.cpp.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "temper/space/recorded/value.h"

namespace temper::space::recorded {

enum class Operator {
  Constant,
  Name,  ///< `slot` of the environment
  Or,    ///< any number of operands
  And,   ///< any number of operands
  Not,
  Compare,      ///< operands a, b, c, ... with `comparisons` between them
  Conditional,  ///< value if true, condition, value if false
  Binary,       ///< `symbol`
  Unary,        ///< `symbol`
  Sequence,
  Comprehension,  ///< element, iterable, conditions...; `slot` is its variable
  Subscript,
  Call,  ///< `symbol` is the function's name
};

enum class Comparison { Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual, In, NotIn };

struct ExpressionNode;
using NodePointer = std::shared_ptr<const ExpressionNode>;

struct ExpressionNode {
  Operator kind = Operator::Constant;
  Value constant = {};
  int slot = -1;
  std::string symbol = {};
  std::vector<Comparison> comparisons = {};
  std::vector<NodePointer> operands = {};
  std::size_t begin = 0, end = 0;  ///< its place in the text
};

/// What a parse gives: the tree, the free names in order of appearance (their slots are 0, 1, ...) and how many slots
/// there are with the variables of comprehensions.
struct ParsedExpression {
  NodePointer root;
  std::vector<std::string> names;
  std::size_t slots = 0;
};
/// Throws what `Expression` throws.
ParsedExpression parse_expression(std::string_view text);

/// `slots` is the environment; variables of comprehensions are written into it. Throws what `Expression::evaluate`
/// throws, without the expression's text.
Value evaluate_node(const ExpressionNode& node, std::span<Value> slots);

}  // namespace temper::space::recorded
