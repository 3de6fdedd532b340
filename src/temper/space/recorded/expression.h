// The expressions of search-space descriptions: the part of Python that constraints and value lists are written in.
//
//   use_padding == 0 or block_size_x % 32 != 0          KWG % ((MDIMC * NDIMC) / MDIMA) == 0
//   32 <= block_size_x * block_size_y <= 1024           [1] + [2 * i for i in range(1, 11)]
//
// There are numbers, texts, True, False, lists and tuples, comprehensions with one `for` and any number of `if`, the
// operators or, and, not, in, not in, comparisons (chained ones too), | ^ & << >> + - * / // % ** and unary + - ~, `a
// if c else b`, subscripts with one index, and the functions abs, all, any, bool, float, int, len, max, min, range,
// round and sum. They mean what Python says: `/` divides into fractions, `//` and `%` round towards minus infinity,
// `and` and `or` give one of their operands. Whole numbers have 64 bits, and more is an error.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "temper/search/space.h"
#include "temper/space/recorded/value.h"

namespace temper::space::recorded {

/// A node of the syntax tree; defined in expression_nodes.h.
struct ExpressionNode;

class Expression {
 public:
  /// Throws Error{InvalidArgument} when the text is no expression, and Error{Unsupported} when it is one that is not
  /// listed above; both show the place.
  explicit Expression(std::string_view text);

  const std::string& text() const { return text_; }
  /// The names that need a value, in order of appearance.
  const std::vector<std::string>& names() const { return names_; }
  /// `values` belong to `names()`. Throws Error{InvalidArgument} for operands that do not go together (a text times a
  /// list, a division by zero) and Error{Unsupported} for numbers past 64 bits. The message holds the whole expression.
  Value evaluate(std::span<const Value> values) const;

  /// False only when the expression holds for no values in these ranges, which belong to `names()`. A name whose values
  /// are no numbers has the range from minus to plus infinity.
  bool may_hold(std::span<const search::Bounds> bounds) const;

  /// Expressions that all hold exactly when this one holds, over fewer names each where that is possible: `a and b`
  /// and `a < b < c` fall apart.
  std::vector<Expression> conjuncts() const;

 private:
  std::string text_;
  std::vector<std::string> names_;
  std::vector<int> slot_;  ///< name → slot of the tree's environment
  std::size_t slots_ = 0;  ///< size of that environment: names, then variables of comprehensions
  std::shared_ptr<const ExpressionNode> root_;
};

}  // namespace temper::space::recorded
