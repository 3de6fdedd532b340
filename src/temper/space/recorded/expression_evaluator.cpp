// What the nodes of an expression mean, as in Python.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "temper/space/recorded/expression_nodes.h"
#include "temper/support/error.h"

namespace temper::space::recorded {
namespace {

constexpr std::int64_t kLongestRange = 10'000'000;

[[noreturn]] void fail(const std::string& what) { throw Error(ErrorCode::InvalidArgument, what); }
[[noreturn]] void too_large() {
  throw Error(ErrorCode::Unsupported, "a whole number needs more than 64 bits", {}, "use smaller values");
}

const char* kind_of(const Value& value) { return value.is_text() ? "a text" : value.is_list() ? "a list" : "a number"; }

void require_numbers(const Value& a, const Value& b, const std::string& symbol) {
  if (a.is_number() && b.is_number()) return;
  fail(fmt::format("'{}' cannot be used between {} and {}", symbol, kind_of(a), kind_of(b)));
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  if (b == -1) {
    if (a == std::numeric_limits<std::int64_t>::min()) too_large();
    return -a;
  }
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
std::int64_t floor_modulo(std::int64_t a, std::int64_t b) {
  if (b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
double floor_modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

Value power(const Value& a, const Value& b) {
  const std::optional<std::int64_t> base = a.whole(), exponent = b.whole();
  if (base && exponent && *exponent >= 0) {
    std::int64_t result = 1, factor = *base;
    for (std::int64_t rest = *exponent; rest > 0; rest >>= 1) {
      if ((rest & 1) != 0 && __builtin_mul_overflow(result, factor, &result)) too_large();
      if (rest > 1 && __builtin_mul_overflow(factor, factor, &factor)) too_large();
    }
    return {result};
  }
  if (a.real() == 0 && b.real() < 0) fail("a division by zero");
  if (a.real() < 0 && !exponent) fail("a root of a negative number");
  return {std::pow(a.real(), b.real())};
}

Value whole_arithmetic(std::int64_t a, std::int64_t b, const std::string& symbol) {
  std::int64_t result = 0;
  bool overflow = false;
  switch (symbol[0]) {
    case '+': overflow = __builtin_add_overflow(a, b, &result); break;
    case '-': overflow = __builtin_sub_overflow(a, b, &result); break;
    case '*': overflow = __builtin_mul_overflow(a, b, &result); break;
    case '%':
      if (b == 0) fail("a division by zero");
      return {floor_modulo(a, b)};
    case '|': return {a | b};
    case '&': return {a & b};
    case '^': return {a ^ b};
    case '<':
      if (b < 0 || b > 62) too_large();
      overflow = __builtin_mul_overflow(a, std::int64_t{1} << b, &result);
      break;
    case '>':
      if (b < 0) fail("a shift by a negative number");
      return {a >> std::min<std::int64_t>(b, 63)};
    default:  // "/" and "//"
      if (b == 0) fail("a division by zero");
      if (symbol == "/") return {static_cast<double>(a) / static_cast<double>(b)};
      return {floor_divide(a, b)};
  }
  if (overflow) too_large();
  return {result};
}

Value real_arithmetic(double a, double b, const std::string& symbol) {
  switch (symbol[0]) {
    case '+': return {a + b};
    case '-': return {a - b};
    case '*': return {a * b};
    case '/':
    case '%':
      if (b == 0) fail("a division by zero");
      if (symbol == "%") return {floor_modulo(a, b)};
      return {symbol == "/" ? a / b : std::floor(a / b)};
    default: fail("'" + symbol + "' needs whole numbers");
  }
}

Value binary(const Value& a, const Value& b, const std::string& symbol) {
  if (a.is_list() && b.is_list() && symbol == "+") {
    List joined = a.list();
    joined.insert(joined.end(), b.list().begin(), b.list().end());
    return {std::move(joined)};
  }
  if (a.is_text() && b.is_text() && symbol == "+") return {a.text() + b.text()};
  require_numbers(a, b, symbol);
  if (symbol == "**") return power(a, b);
  const std::optional<std::int64_t> whole_a = a.whole(), whole_b = b.whole();
  if (whole_a && whole_b) return whole_arithmetic(*whole_a, *whole_b, symbol);
  return real_arithmetic(a.real(), b.real(), symbol);
}

Value unary(const Value& operand, const std::string& symbol) {
  if (!operand.is_number()) fail(fmt::format("'{}' cannot be used on {}", symbol, kind_of(operand)));
  const std::optional<std::int64_t> whole = operand.whole();
  if (symbol == "~") {
    if (!whole) fail("'~' needs a whole number");
    return {~*whole};
  }
  if (symbol == "+") return whole ? Value(*whole) : operand;
  if (!whole) return {-operand.real()};
  if (*whole == std::numeric_limits<std::int64_t>::min()) too_large();
  return {-*whole};
}

bool contains(const Value& container, const Value& item) {
  if (container.is_text() && item.is_text()) return container.text().find(item.text()) != std::string::npos;
  if (!container.is_list()) fail(fmt::format("'in' needs a list, not {}", kind_of(container)));
  return std::find(container.list().begin(), container.list().end(), item) != container.list().end();
}

bool compare(const Value& a, const Value& b, Comparison comparison) {
  if (comparison == Comparison::Equal) return a == b;
  if (comparison == Comparison::NotEqual) return !(a == b);
  if (comparison == Comparison::In) return contains(b, a);
  if (comparison == Comparison::NotIn) return !contains(b, a);
  int order = 0;
  if (a.is_text() && b.is_text()) {
    order = a.text().compare(b.text());
  } else {
    require_numbers(a, b, "<");
    if (std::isnan(a.real()) || std::isnan(b.real())) return false;
    order = compare_numbers(a, b);
  }
  switch (comparison) {
    case Comparison::Less: return order < 0;
    case Comparison::LessEqual: return order <= 0;
    case Comparison::Greater: return order > 0;
    default: return order >= 0;
  }
}

std::int64_t to_whole(double value) {
  if (!(std::abs(value) < 0x1.0p63)) too_large();
  return static_cast<std::int64_t>(value);
}

Value make_range(const List& arguments) {
  std::vector<std::int64_t> bounds;
  for (const Value& argument : arguments) {
    if (!argument.whole()) fail("range needs whole numbers");
    bounds.push_back(*argument.whole());
  }
  if (bounds.size() == 1) bounds.insert(bounds.begin(), 0);
  if (bounds.size() == 2) bounds.push_back(1);
  const std::int64_t step = bounds[2];
  if (step == 0) fail("range needs a step other than zero");
  List result;
  std::int64_t value = bounds[0];
  while (step > 0 ? value < bounds[1] : value > bounds[1]) {
    if (static_cast<std::int64_t>(result.size()) == kLongestRange) {
      throw Error(ErrorCode::Unsupported, "a range has more than ten million values");
    }
    result.emplace_back(value);
    if (__builtin_add_overflow(value, step, &value)) break;
  }
  return {std::move(result)};
}

Value extreme(const List& arguments, bool largest) {
  const bool of_list = arguments.size() == 1 && arguments[0].is_list();
  const List& items = of_list ? arguments[0].list() : arguments;
  if (items.empty() || (arguments.size() == 1 && !of_list)) fail("min and max need a list, or several values");
  const Comparison better = largest ? Comparison::Greater : Comparison::Less;
  const Value* best = &items[0];
  for (const Value& item : items) {
    if (compare(item, *best, better)) best = &item;
  }
  return *best;
}

Value round_number(const Value& value, const List& arguments) {
  if (arguments.size() == 1 && value.whole()) return {*value.whole()};
  if (arguments.size() == 2) {
    if (!arguments[1].whole() || std::abs(*arguments[1].whole()) > 15) fail("round needs a number of digits");
    const double scale = std::pow(10.0, static_cast<double>(*arguments[1].whole()));
    return {std::nearbyint(value.real() * scale) / scale};
  }
  return {to_whole(std::nearbyint(value.real()))};
}

Value of_list(const std::string& function, const Value& argument) {
  if (function == "len" && argument.is_text()) return {static_cast<std::int64_t>(argument.text().size())};
  if (!argument.is_list()) fail(fmt::format("{} needs a list, not {}", function, kind_of(argument)));
  const List& items = argument.list();
  if (function == "len") return {static_cast<std::int64_t>(items.size())};
  const auto truth = [](const Value& item) { return item.truth(); };
  if (function == "all") return {std::all_of(items.begin(), items.end(), truth)};
  if (function == "any") return {std::any_of(items.begin(), items.end(), truth)};
  Value sum(std::int64_t{0});
  for (const Value& item : items) sum = binary(sum, item, "+");
  return sum;
}

Value of_number(const std::string& function, const List& arguments) {
  const Value& value = arguments[0];
  if (!value.is_number()) fail(fmt::format("{} needs a number, not {}", function, kind_of(value)));
  if (function == "round") return round_number(value, arguments);
  if (function == "float") return {value.real()};
  if (function == "int") return {value.whole() ? *value.whole() : to_whole(std::trunc(value.real()))};
  return compare_numbers(value, Value(std::int64_t{0})) < 0 ? unary(value, "-") : unary(value, "+");  // abs
}

Value call(const std::string& function, const List& arguments) {
  const std::size_t most = function == "range" ? 3 : function == "round" ? 2 : 1;
  const bool open = function == "min" || function == "max";
  if (arguments.empty() || (!open && arguments.size() > most)) {
    fail(fmt::format("{} cannot take {} arguments", function, arguments.size()));
  }
  if (open) return extreme(arguments, function == "max");
  if (function == "range") return make_range(arguments);
  if (function == "bool") return {arguments[0].truth()};
  if (function == "len" || function == "all" || function == "any" || function == "sum") {
    return of_list(function, arguments[0]);
  }
  return of_number(function, arguments);
}

Value subscript(const Value& list, const Value& place) {
  if (!list.is_list()) fail(fmt::format("{} has no elements to choose", kind_of(list)));
  if (!place.whole()) fail("an element is chosen by a whole number");
  const auto size = static_cast<std::int64_t>(list.list().size());
  const std::int64_t at = *place.whole() < 0 ? *place.whole() + size : *place.whole();
  if (at < 0 || at >= size) fail(fmt::format("a list of {} has no element {}", size, *place.whole()));
  return list.list()[static_cast<std::size_t>(at)];
}

Value comprehension(const ExpressionNode& node, std::span<Value> slots) {
  const Value iterable = evaluate_node(*node.operands[1], slots);
  if (!iterable.is_list()) fail(fmt::format("a comprehension runs over a list, not {}", kind_of(iterable)));
  List result;
  Value& variable = slots[static_cast<std::size_t>(node.slot)];
  for (const Value& item : iterable.list()) {
    variable = item;
    bool kept = true;
    for (std::size_t i = 2; i < node.operands.size() && kept; ++i) {
      kept = evaluate_node(*node.operands[i], slots).truth();
    }
    if (kept) result.push_back(evaluate_node(*node.operands[0], slots));
  }
  return {std::move(result)};
}

Value comparisons(const ExpressionNode& node, std::span<Value> slots) {
  Value left = evaluate_node(*node.operands[0], slots);
  for (std::size_t i = 0; i < node.comparisons.size(); ++i) {
    Value right = evaluate_node(*node.operands[i + 1], slots);
    if (!compare(left, right, node.comparisons[i])) return {false};
    left = std::move(right);
  }
  return {true};
}

}  // namespace

Value evaluate_node(const ExpressionNode& node, std::span<Value> slots) {
  const auto operand = [&](std::size_t i) { return evaluate_node(*node.operands[i], slots); };
  switch (node.kind) {
    case Operator::Constant: return node.constant;
    case Operator::Name: return slots[static_cast<std::size_t>(node.slot)];
    case Operator::Or:
    case Operator::And: {
      Value value;
      for (const NodePointer& next : node.operands) {
        value = evaluate_node(*next, slots);
        if (value.truth() == (node.kind == Operator::Or)) break;
      }
      return value;
    }
    case Operator::Not: return {!operand(0).truth()};
    case Operator::Compare: return comparisons(node, slots);
    case Operator::Conditional: return operand(1).truth() ? operand(0) : operand(2);
    case Operator::Binary: return binary(operand(0), operand(1), node.symbol);
    case Operator::Unary: return unary(operand(0), node.symbol);
    case Operator::Subscript: return subscript(operand(0), operand(1));
    case Operator::Comprehension: return comprehension(node, slots);
    case Operator::Sequence:
    case Operator::Call: {
      List items;
      items.reserve(node.operands.size());
      for (std::size_t i = 0; i < node.operands.size(); ++i) items.push_back(operand(i));
      return node.kind == Operator::Sequence ? Value(std::move(items)) : call(node.symbol, items);
    }
  }
  return {};
}

}  // namespace temper::space::recorded
