// Tokens of the text form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace temper::ir {

enum class TokenKind : std::uint8_t { Identifier, Number, Symbol, End };

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text;     ///< a number without its suffix
  std::string_view suffix;   ///< of a number: "i32" in `3_i32`; empty for none
  bool has_point = false;    ///< of a number: it has a decimal point or an exponent
  std::size_t position = 0;  ///< offset in the source
};

/// Splits a text into tokens, one ahead. The text must outlive the lexer.
class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) { advance(); }
  const Token& peek() const { return token_; }
  Token next() {
    const Token current = token_;
    advance();
    return current;
  }
  /// Throws Error{InvalidArgument} with line and column of `position`.
  [[noreturn]] void fail(std::string what, std::size_t position, std::string hint = {}) const;

 private:
  void advance();

  std::string_view source_;
  std::size_t cursor_ = 0;
  Token token_;
};

}  // namespace temper::ir
