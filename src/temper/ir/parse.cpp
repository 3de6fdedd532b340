// Reads the text form of a compute definition:
//
//   compute     = { parameter } { input | stage } { output }
//   parameter   = "parameter" NAME "in" INT ".." INT "by" INT
//   input       = ("placeholder" | "constant") NAME axes [ strides ] ":" TYPE
//   strides     = "strides" INT { "," INT }
//   stage       = "stage" NAME axes [ strides ] ":" TYPE { "," TYPE }
//                 [ "reducer" NAME ["associative"] ["commutative"] ["idempotent"] "identity" list "combine" list "over"
//                 axes ] [ "where" list ] [ "init" list ] "body" list
//   output      = "output" NAME
//   axes        = "[" [ NAME ":" extent { "," NAME ":" extent } ] "]"      extent = term { ("+" | "-") term }, term =
//   INT ["*" NAME] list        = expr { "," expr } expr        = infix operators of expr_names.h over primaries, all
//   left-associative primary     = literal | AXIS | "#" INT | NAME ["." INT] "[" [list] "]" | FUNCTION "(" list ")" |
//   "(" expr ")" literal     = [ "-" ] number [ "_" TYPE ]: i64 without, f32 with a point or exponent, unless a type
//   follows; "inf", "nan"
#include <charconv>
#include <limits>
#include <system_error>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "temper/ir/compute.h"
#include "temper/ir/expr_build.h"
#include "temper/ir/expr_names.h"
#include "temper/ir/lexer.h"
#include "temper/support/error.h"

namespace temper::ir {
namespace {

constexpr int kDeepestNesting = 1000;

class Parser {
 public:
  explicit Parser(std::string_view source) : lexer_(source) {}

  Compute compute() {
    while (accept_word("parameter")) parameter();
    while (true) {
      if (accept_word("placeholder")) {
        input(false);
      } else if (accept_word("constant")) {
        input(true);
      } else if (accept_word("stage")) {
        stage();
      } else {
        break;
      }
    }
    while (accept_word("output")) {
      const Token name = identifier("the name of a stage");
      compute_.outputs.push_back(find_stage(name));
    }
    if (lexer_.peek().kind != TokenKind::End) {
      unexpected(compute_.outputs.empty() ? "'placeholder', 'constant', 'stage' or 'output'" : "'output' or the end");
    }
    if (compute_.outputs.empty()) unexpected("'output'");
    return std::move(compute_);
  }

 private:
  // ---- declarations

  void parameter() {
    Parameter p;
    p.name = identifier("the name of a parameter").text;
    expect_word("in");
    p.min = integer();
    expect("..");
    p.max = integer();
    expect_word("by");
    p.divisor = integer();
    compute_.parameters.push_back(std::move(p));
  }

  void input(bool is_constant) {
    auto stage = std::make_shared<Stage>();
    stage->kind = StageKind::Placeholder;
    stage->constant = is_constant;
    const Token name = identifier("the name of an input");
    stage->name = name.text;
    stage->axes = axes(false);
    if (accept_word("strides")) stage->strides = integers();
    expect(":");
    stage->dtypes = {dtype()};
    add(std::move(stage), name);
  }

  void stage() {
    auto stage = std::make_shared<Stage>();
    const Token name = identifier("the name of a stage");
    stage->name = name.text;
    stage->axes = axes(false);
    if (accept_word("strides")) stage->strides = integers();
    expect(":");
    do stage->dtypes.push_back(dtype());
    while (accept(","));
    scope_ = stage.get();
    if (accept_word("reducer")) reducer(*stage);
    if (accept_word("where")) stage->where = list();
    if (accept_word("init")) stage->init = list();
    expect_word("body");
    stage->body = list();
    scope_ = nullptr;
    add(std::move(stage), name);
  }

  void reducer(Stage& stage) {
    Reducer r;
    r.name = identifier("the name of a reducer").text;
    r.associative = accept_word("associative");
    r.commutative = accept_word("commutative");
    r.idempotent = accept_word("idempotent");
    expect_word("identity");
    r.identity = list();
    expect_word("combine");
    r.combine = list();
    expect_word("over");
    stage.reduce_axes = axes(true);
    stage.reducer = std::move(r);
  }

  void add(std::shared_ptr<Stage> stage, const Token& name) {
    if (!by_name_.emplace(stage->name, stage).second) {
      lexer_.fail("two stages are named '" + stage->name + "'", name.position);
    }
    compute_.stages.push_back(std::move(stage));
  }

  std::vector<Axis> axes(bool reduce_axes) {
    std::vector<Axis> result;
    expect("[");
    if (accept("]")) return result;
    do {
      std::string name(identifier("the name of an axis").text);
      expect(":");
      result.emplace_back(std::move(name), extent(), reduce_axes);
    } while (accept(","));
    expect("]");
    return result;
  }

  Extent extent() {
    Extent result;
    std::int64_t sign = 1;
    do {
      if (lexer_.peek().kind == TokenKind::Identifier) {
        result.terms.emplace_back(lexer_.next().text, sign);
      } else {
        const std::int64_t value = sign * integer();
        if (accept("*")) {
          result.terms.emplace_back(identifier("the name of a parameter").text, value);
        } else {
          result.constant += value;
        }
      }
      if (accept("+")) {
        sign = 1;
      } else if (accept("-")) {
        sign = -1;
      } else {
        break;
      }
    } while (true);
    return result;
  }

  // ---- expressions

  std::vector<Expr> list() {
    std::vector<Expr> result;
    do result.push_back(expr(1));
    while (accept(","));
    return result;
  }

  /// Precedence climbing: reads operators that bind at least as tightly as `least`.
  Expr expr(int least) {
    Expr left = primary();
    while (lexer_.peek().kind == TokenKind::Symbol) {
      const BinarySpelling* op = infix(lexer_.peek().text);
      if (op == nullptr || op->precedence < least) break;
      const Token token = lexer_.next();
      Expr right = expr(op->precedence + 1);
      left = build(token, [&] { return exact_binary(op->op, std::move(left), std::move(right)); });
    }
    return left;
  }

  Expr primary() {
    const Token token = lexer_.peek();
    if (++depth_ > kDeepestNesting) lexer_.fail("the expression is nested too deeply", token.position);
    Expr result = primary_at(token);
    --depth_;
    return result;
  }

  Expr primary_at(const Token& token) {
    if (accept("(")) {
      Expr inner = expr(1);
      expect(")");
      return inner;
    }
    if (accept("#")) return parameter_reference(token);
    if (token.kind == TokenKind::Number || is_symbol("-") || is_special(token)) return number();
    if (token.kind != TokenKind::Identifier) unexpected("an expression");
    lexer_.next();
    if (is_symbol("(")) return call(token);
    if (is_symbol("[") || is_symbol(".")) return load(token);
    if (scope_ != nullptr) {
      for (const auto* axes : {&scope_->axes, &scope_->reduce_axes}) {
        for (const Axis& axis : *axes) {
          if (axis.name() == token.text) return axis;
        }
      }
    }
    lexer_.fail("there is no axis '" + std::string(token.text) + "' here", token.position);
  }

  Expr parameter_reference(const Token& token) {
    const std::int64_t index = integer();
    const auto arity = static_cast<std::int64_t>(scope_->dtypes.size());
    if (index < 0 || index >= 2 * arity) {
      lexer_.fail("#" + std::to_string(index) + " is not an argument of this reducer", token.position,
                  "it has " + std::to_string(2 * arity) + " arguments, numbered from 0");
    }
    return param(static_cast<int>(index), scope_->dtypes[static_cast<std::size_t>(index % arity)]);
  }

  Expr call(const Token& function) {
    expect("(");
    if (function.text == "cast") {
      const DType to = dtype();
      expect(",");
      Expr value = expr(1);
      expect(")");
      return exact_cast(std::move(value), to);
    }
    std::vector<Expr> args = list();
    expect(")");
    auto expect_arguments = [&](std::size_t count) {
      if (args.size() == count) return;
      lexer_.fail("'" + std::string(function.text) + "' takes " + std::to_string(count) + " arguments, not " +
                      std::to_string(args.size()),
                  function.position);
    };
    if (function.text == "select") {
      expect_arguments(3);
      return build(function, [&] { return exact_select(args[0], args[1], args[2]); });
    }
    for (const UnarySpelling& entry : kUnarySpellings) {
      if (entry.name != function.text) continue;
      expect_arguments(1);
      return build(function, [&] { return exact_unary(entry.op, args[0]); });
    }
    for (const BinarySpelling& entry : kBinarySpellings) {
      if (entry.precedence != 0 || entry.name != function.text) continue;
      expect_arguments(2);
      return build(function, [&] { return exact_binary(entry.op, args[0], args[1]); });
    }
    lexer_.fail("there is no function '" + std::string(function.text) + "'", function.position);
  }

  Expr load(const Token& name) {
    const StagePtr& stage = find_stage(name);
    int component = 0;
    if (accept(".")) component = static_cast<int>(integer());
    expect("[");
    std::vector<Expr> index;
    if (!accept("]")) {
      index = list();
      expect("]");
    }
    return build(name, [&] { return exact_load(stage, component, std::move(index)); });
  }

  static bool is_special(const Token& token) {
    return token.kind == TokenKind::Identifier &&
           (token.text == "inf" || token.text == "nan" || token.text == "inf_f64" || token.text == "nan_f64");
  }

  Expr number() {
    const std::size_t start = lexer_.peek().position;
    const bool negative = accept("-");
    const Token token = lexer_.peek();
    if (is_special(token)) {
      lexer_.next();
      const double magnitude =
          token.text[0] == 'i' ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
      return literal(negative ? -magnitude : magnitude, token.text.size() > 3 ? DType::F64 : DType::F32);
    }
    if (token.kind != TokenKind::Number) unexpected("a number");
    lexer_.next();
    const DType type = !token.suffix.empty() ? build(token, [&] { return parse_dtype(token.suffix); })
                       : token.has_point     ? DType::F32
                                             : DType::I64;
    if (!is_float(type)) {
      if (token.has_point) lexer_.fail("'" + std::string(token.text) + "' is not an integer", start);
      return int_literal(to_integer(token, negative), type);
    }
    // An f32 literal is rounded once, from its decimal text.
    double value = 0;
    float narrow = 0;
    const char* const end = token.text.data() + token.text.size();
    const std::errc error = type == DType::F32 ? std::from_chars(token.text.data(), end, narrow).ec
                                               : std::from_chars(token.text.data(), end, value).ec;
    if (error != std::errc{}) lexer_.fail("'" + std::string(token.text) + "' is out of range", start);
    if (type == DType::F32) value = static_cast<double>(narrow);
    return literal(negative ? -value : value, type);
  }

  // ---- tokens

  static const BinarySpelling* infix(std::string_view text) {
    for (const BinarySpelling& entry : kBinarySpellings) {
      if (entry.precedence > 0 && entry.name == text) return &entry;
    }
    return nullptr;
  }

  std::int64_t to_integer(const Token& token, bool negative) const {
    std::uint64_t magnitude = 0;
    const auto result = std::from_chars(token.text.data(), token.text.data() + token.text.size(), magnitude);
    const std::uint64_t limit =
        static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) + (negative ? 1U : 0U);
    if (token.has_point || result.ec != std::errc{} || magnitude > limit) {
      lexer_.fail("'" + std::string(token.text) + "' is not an integer of 64 bits", token.position);
    }
    return static_cast<std::int64_t>(negative ? 0U - magnitude : magnitude);
  }

  std::int64_t integer() {
    const bool negative = accept("-");
    if (lexer_.peek().kind != TokenKind::Number) unexpected("an integer");
    return to_integer(lexer_.next(), negative);
  }

  std::vector<std::int64_t> integers() {
    std::vector<std::int64_t> result;
    do result.push_back(integer());
    while (accept(","));
    return result;
  }

  DType dtype() {
    const Token token = identifier("an element type");
    return build(token, [&] { return parse_dtype(token.text); });
  }

  const StagePtr& find_stage(const Token& name) const {
    const auto found = by_name_.find(std::string(name.text));
    if (found == by_name_.end())
      lexer_.fail("there is no stage '" + std::string(name.text) + "' before this", name.position);
    return found->second;
  }

  /// Runs `make`; gives an error the place in the text.
  template <class Make>
  std::invoke_result_t<Make&> build(const Token& at, Make&& make) const {
    try {
      return make();
    } catch (const Error& error) {
      lexer_.fail(error.message(), at.position, error.hint());
    }
  }

  bool is_symbol(std::string_view symbol) const {
    return lexer_.peek().kind == TokenKind::Symbol && lexer_.peek().text == symbol;
  }
  bool accept(std::string_view symbol) {
    if (!is_symbol(symbol)) return false;
    lexer_.next();
    return true;
  }
  bool accept_word(std::string_view word) {
    if (lexer_.peek().kind != TokenKind::Identifier || lexer_.peek().text != word) return false;
    lexer_.next();
    return true;
  }
  void expect(std::string_view symbol) {
    if (!accept(symbol)) unexpected("'" + std::string(symbol) + "'");
  }
  void expect_word(std::string_view word) {
    if (!accept_word(word)) unexpected("'" + std::string(word) + "'");
  }
  Token identifier(std::string_view what) {
    if (lexer_.peek().kind != TokenKind::Identifier) unexpected(std::string(what));
    return lexer_.next();
  }
  [[noreturn]] void unexpected(const std::string& wanted) const {
    const Token& token = lexer_.peek();
    lexer_.fail("expected " + wanted + ", found " +
                    (token.kind == TokenKind::End ? "the end of the text" : "'" + std::string(token.text) + "'"),
                token.position);
  }

  Lexer lexer_;
  Compute compute_;
  std::unordered_map<std::string, StagePtr> by_name_;
  const Stage* scope_ = nullptr;
  int depth_ = 0;
};

}  // namespace

Compute parse_compute(std::string_view text) { return Parser(text).compute(); }

}  // namespace temper::ir
