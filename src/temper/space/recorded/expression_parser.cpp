// Recursive descent over Python's grammar, one function for each level of precedence.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <map>

#include "temper/space/recorded/expression_nodes.h"
#include "temper/support/error.h"

namespace temper::space::recorded {
namespace {

enum class TokenKind { Number, Text, Name, Symbol, End };

struct Token {
  TokenKind kind = TokenKind::End;
  std::string text = {};
  Value value = {};
  std::size_t begin = 0, end = 0;
};

constexpr std::array kFunctions{"abs", "all", "any", "bool",  "float", "int",
                                "len", "max", "min", "range", "round", "sum"};
constexpr std::array kLongSymbols{"**", "//", "<<", ">>", "<=", ">=", "==", "!="};
constexpr std::string_view kShortSymbols = "+-*/%<>()[],&|^~";
constexpr int kDeepest = 200;  // levels of nesting; far more than people write, far less than the stack holds

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) { tokenize(); }

  ParsedExpression parse() {
    NodePointer root = conditional();
    if (token().kind != TokenKind::End) fail("'" + token().text + "' was not expected");
    return {std::move(root), std::move(names_), names_end_ + locals_};
  }
  /// Local variables get slots after all names, whose number is known at the end only: count names first.
  static std::size_t count_names(std::string_view text) {
    Parser first(text);
    first.conditional();
    return first.names_.size();
  }
  void reserve_names(std::size_t count) { names_end_ = count; }

 private:
  [[noreturn]] void fail(const std::string& what, ErrorCode code = ErrorCode::InvalidArgument) const {
    const std::size_t place = token().begin;
    throw Error(
        code, what, fmt::format("expression \"{}\", column {}", text_, place + 1),
        code == ErrorCode::Unsupported
            ? "write it with comparisons, arithmetic, and/or/not, lists and abs, all, any, len, max, min, range, sum"
            : "expressions are written as in Python");
  }

  void tokenize() {
    std::size_t at = 0;
    while (at < text_.size()) {
      const char c = text_[at];
      if (std::isspace(static_cast<unsigned char>(c)) != 0) {
        ++at;
        continue;
      }
      Token token;
      token.begin = at;
      if (std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_') {
        while (at < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at])) != 0 || text_[at] == '_'))
          ++at;
        token.kind = TokenKind::Name;
      } else if (std::isdigit(static_cast<unsigned char>(c)) != 0 || (c == '.' && at + 1 < text_.size())) {
        at = number(at, token);
      } else if (c == '\'' || c == '"') {
        const std::size_t close = text_.find(c, at + 1);
        if (close == std::string_view::npos) {
          tokens_ = {token};
          fail("a text is not closed");
        }
        token.kind = TokenKind::Text;
        token.value = Value(std::string(text_.substr(at + 1, close - at - 1)));
        at = close + 1;
      } else {
        token.kind = TokenKind::Symbol;
        const std::string_view pair = text_.substr(at, 2);
        const bool is_long = std::find(kLongSymbols.begin(), kLongSymbols.end(), pair) != kLongSymbols.end();
        if (!is_long && kShortSymbols.find(c) == std::string_view::npos) {
          tokens_ = {token};
          fail(fmt::format("'{}' is no part of an expression", c));
        }
        at += is_long ? 2 : 1;
      }
      token.end = at;
      token.text = std::string(text_.substr(token.begin, at - token.begin));
      tokens_.push_back(std::move(token));
    }
    Token end;
    end.begin = end.end = text_.size();
    end.text = "the end";
    tokens_.push_back(std::move(end));
  }

  std::size_t number(std::size_t at, Token& token) {
    token.kind = TokenKind::Number;
    const std::string text(text_.substr(at));
    std::int64_t whole = 0;
    double fraction = 0;
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    const auto as_whole = std::from_chars(begin, end, whole);
    const auto as_fraction = std::from_chars(begin, end, fraction);
    const bool is_fraction = as_fraction.ec == std::errc() && as_fraction.ptr > as_whole.ptr;
    if (as_whole.ec == std::errc() && !is_fraction) {
      token.value = Value(whole);
      at += static_cast<std::size_t>(as_whole.ptr - begin);
    } else if (is_fraction) {
      token.value = Value(fraction);
      at += static_cast<std::size_t>(as_fraction.ptr - begin);
    } else {
      tokens_ = {token};
      fail("a number cannot be read");
    }
    return at;
  }

  const Token& token() const { return tokens_[std::min(at_, tokens_.size() - 1)]; }
  bool is(std::string_view text) const {
    return (token().kind == TokenKind::Symbol || token().kind == TokenKind::Name) && token().text == text;
  }
  bool take(std::string_view text) {
    if (!is(text)) return false;
    ++at_;
    return true;
  }
  void expect(std::string_view text) {
    if (!take(text)) fail(fmt::format("'{}' was expected, not '{}'", text, token().text));
  }

  NodePointer make(ExpressionNode node, std::size_t begin) const {
    node.begin = begin;
    node.end = at_ > 0 ? tokens_[at_ - 1].end : 0;
    return std::make_shared<const ExpressionNode>(std::move(node));
  }

  NodePointer conditional() {
    if (++depth_ > kDeepest) fail("the expression is nested too deeply", ErrorCode::Unsupported);
    const std::size_t begin = token().begin;
    NodePointer value = disjunction();
    if (take("if")) {
      NodePointer condition = disjunction();
      expect("else");
      NodePointer otherwise = conditional();
      value = make({.kind = Operator::Conditional, .operands = {value, condition, otherwise}}, begin);
    }
    --depth_;
    return value;
  }

  NodePointer several(Operator kind, std::string_view word, NodePointer (Parser::*operand)()) {
    const std::size_t begin = token().begin;
    std::vector<NodePointer> operands{(this->*operand)()};
    while (take(word)) operands.push_back((this->*operand)());
    if (operands.size() == 1) return operands.front();
    return make({.kind = kind, .operands = std::move(operands)}, begin);
  }
  NodePointer disjunction() { return several(Operator::Or, "or", &Parser::conjunction); }
  NodePointer conjunction() { return several(Operator::And, "and", &Parser::negation); }

  NodePointer negation() {
    const std::size_t begin = token().begin;
    bool negate = false, any = false;
    while (take("not")) negate = !negate, any = true;
    NodePointer operand = comparison();
    if (!any) return operand;
    const auto negated = [&](const NodePointer& of) {
      ExpressionNode node{.kind = Operator::Not};
      node.operands.push_back(of);
      return make(std::move(node), begin);
    };
    operand = negated(operand);
    return negate ? operand : negated(operand);
  }

  bool take_comparison(Comparison& comparison) {
    static constexpr std::array<std::pair<std::string_view, Comparison>, 7> kComparisons{
        {{"<", Comparison::Less},
         {"<=", Comparison::LessEqual},
         {">", Comparison::Greater},
         {">=", Comparison::GreaterEqual},
         {"==", Comparison::Equal},
         {"!=", Comparison::NotEqual},
         {"in", Comparison::In}}};
    for (const auto& [symbol, meaning] : kComparisons) {
      if (!take(symbol)) continue;
      comparison = meaning;
      return true;
    }
    if (!is("not")) return false;
    ++at_;
    expect("in");
    comparison = Comparison::NotIn;
    return true;
  }

  NodePointer comparison() {
    const std::size_t begin = token().begin;
    ExpressionNode node{.kind = Operator::Compare};
    node.operands.push_back(binary(0));
    Comparison next{};
    while (take_comparison(next)) {
      node.comparisons.push_back(next);
      node.operands.push_back(binary(0));
    }
    if (node.comparisons.empty()) return node.operands.front();
    return make(std::move(node), begin);
  }

  NodePointer binary(std::size_t level) {
    static const std::vector<std::vector<std::string_view>> kLevels{{"|"},        {"^"},      {"&"},
                                                                    {"<<", ">>"}, {"+", "-"}, {"*", "/", "//", "%"}};
    if (level == kLevels.size()) return unary();
    const std::size_t begin = token().begin;
    NodePointer left = binary(level + 1);
    for (;;) {
      const auto symbol = std::find_if(kLevels[level].begin(), kLevels[level].end(), [&](auto s) { return is(s); });
      if (symbol == kLevels[level].end()) return left;
      ++at_;
      NodePointer right = binary(level + 1);
      left = make({.kind = Operator::Binary, .symbol = std::string(*symbol), .operands = {left, right}}, begin);
    }
  }

  NodePointer unary() {
    const std::size_t begin = token().begin;
    for (const std::string_view symbol : {"-", "+", "~"}) {
      if (!take(symbol)) continue;
      if (++depth_ > kDeepest) fail("the expression is nested too deeply", ErrorCode::Unsupported);
      NodePointer operand = unary();
      --depth_;
      return make({.kind = Operator::Unary, .symbol = std::string(symbol), .operands = {operand}}, begin);
    }
    NodePointer base = postfix();
    if (!take("**")) return base;
    NodePointer exponent = unary();  // binds to the right, and closer than a sign on its left
    return make({.kind = Operator::Binary, .symbol = "**", .operands = {base, exponent}}, begin);
  }

  NodePointer postfix() {
    const std::size_t begin = token().begin;
    NodePointer value = atom();
    while (take("[")) {
      NodePointer place = conditional();
      expect("]");
      value = make({.kind = Operator::Subscript, .operands = {value, place}}, begin);
    }
    if (is("(")) fail("only functions can be called");
    return value;
  }

  NodePointer atom() {
    const std::size_t begin = token().begin;
    if (token().kind == TokenKind::Number || token().kind == TokenKind::Text) {
      Value value = token().value;
      ++at_;
      return make({.kind = Operator::Constant, .constant = std::move(value)}, begin);
    }
    if (take("True")) return make({.kind = Operator::Constant, .constant = Value(true)}, begin);
    if (take("False")) return make({.kind = Operator::Constant, .constant = Value(false)}, begin);
    if (take("(")) {
      if (take(")")) return make({.kind = Operator::Sequence}, begin);
      NodePointer first = conditional();
      if (take(")")) return first;
      std::vector<NodePointer> items = rest_of_list(std::move(first), ")");
      return make({.kind = Operator::Sequence, .operands = std::move(items)}, begin);
    }
    if (take("[")) {
      if (take("]")) return make({.kind = Operator::Sequence}, begin);
      return list_or_comprehension("]", begin);
    }
    if (token().kind != TokenKind::Name) fail(fmt::format("a value was expected, not '{}'", token().text));
    for (const std::string_view word : {"or", "and", "not", "in", "if", "else", "for"}) {
      if (is(word)) fail(fmt::format("a value was expected, not '{}'", word));
    }
    if (is("lambda") || is("None")) fail("'" + token().text + "' is not supported", ErrorCode::Unsupported);
    const std::string name = token().text;
    ++at_;
    if (is("(")) return call(name, begin);
    return make({.kind = Operator::Name, .slot = slot_of(name)}, begin);
  }

  NodePointer call(const std::string& name, std::size_t begin) {
    if (std::find(kFunctions.begin(), kFunctions.end(), name) == kFunctions.end()) {
      --at_;
      fail("the function '" + name + "' is not supported", ErrorCode::Unsupported);
    }
    expect("(");
    ExpressionNode node{.kind = Operator::Call, .symbol = name};
    if (take(")")) return make(std::move(node), begin);
    // A single argument may be a comprehension without brackets: any(x > 2 for x in sizes).
    const NodePointer arguments = list_or_comprehension(")", token().begin);
    if (arguments->kind == Operator::Comprehension) {
      node.operands = {arguments};
    } else {
      node.operands = arguments->operands;
    }
    return make(std::move(node), begin);
  }

  std::vector<NodePointer> rest_of_list(NodePointer first, std::string_view close) {
    std::vector<NodePointer> items{std::move(first)};
    while (take(",")) {
      if (is(close)) break;
      items.push_back(conditional());
    }
    expect(close);
    return items;
  }

  /// After the opening bracket.
  NodePointer list_or_comprehension(std::string_view close, std::size_t begin) {
    const std::size_t start = at_;
    // The variable is named after the element that uses it: look ahead for `for NAME in` at this depth.
    int depth = 0;
    for (std::size_t i = start; i + 1 < tokens_.size(); ++i) {
      const Token& t = tokens_[i];
      if (t.kind == TokenKind::Symbol && (t.text == "(" || t.text == "[")) ++depth;
      if (t.kind == TokenKind::Symbol && (t.text == ")" || t.text == "]") && --depth < 0) break;
      if (depth == 0 && t.kind == TokenKind::Name && t.text == "for") return comprehension(i, close, begin);
    }
    std::vector<NodePointer> items = rest_of_list(conditional(), close);
    return make({.kind = Operator::Sequence, .operands = std::move(items)}, begin);
  }

  NodePointer comprehension(std::size_t for_at, std::string_view close, std::size_t begin) {
    const Token& variable = tokens_[std::min(for_at + 1, tokens_.size() - 1)];
    if (variable.kind != TokenKind::Name) {
      at_ = for_at + 1;
      fail("a comprehension needs a variable");
    }
    const std::size_t element_at = at_;
    // The iterable is evaluated outside of the variable's scope.
    at_ = for_at + 2;
    expect("in");
    NodePointer iterable = disjunction();
    const std::size_t conditions_at = at_;
    const auto shadowed = local_.find(variable.text);
    const int outer = shadowed == local_.end() ? -1 : shadowed->second;
    const int slot = static_cast<int>(names_end_ + locals_++);
    local_[variable.text] = slot;
    at_ = element_at;
    NodePointer element = conditional();
    if (at_ != for_at) fail(fmt::format("'{}' was not expected", token().text));
    at_ = conditions_at;
    ExpressionNode node{.kind = Operator::Comprehension, .slot = slot, .operands = {element, iterable}};
    while (take("if")) node.operands.push_back(disjunction());
    if (is("for")) fail("a comprehension with two `for` is not supported", ErrorCode::Unsupported);
    if (outer < 0) {
      local_.erase(variable.text);
    } else {
      local_[variable.text] = outer;
    }
    expect(close);
    return make(std::move(node), begin);
  }

  int slot_of(const std::string& name) {
    if (const auto local = local_.find(name); local != local_.end()) return local->second;
    const auto known = std::find(names_.begin(), names_.end(), name);
    if (known != names_.end()) return static_cast<int>(known - names_.begin());
    names_.push_back(name);
    return static_cast<int>(names_.size()) - 1;
  }

  std::string_view text_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::vector<std::string> names_;
  std::size_t names_end_ = 0, locals_ = 0;
  std::map<std::string, int> local_;  ///< variables of the comprehensions around here
};

}  // namespace

ParsedExpression parse_expression(std::string_view text) {
  Parser parser(text);
  parser.reserve_names(Parser::count_names(text));
  return parser.parse();
}

}  // namespace temper::space::recorded
