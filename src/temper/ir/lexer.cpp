#include "temper/ir/lexer.h"

#include <algorithm>
#include <array>

#include "temper/support/error.h"

namespace temper::ir {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

constexpr std::array<std::string_view, 8> kLongSymbols{"..", "//", "<=", ">=", "==", "!=", "&&", "||"};
constexpr std::string_view kShortSymbols = "+-*/%<>()[],:.#";

}  // namespace

void Lexer::advance() {
  auto peek_char = [&](std::size_t i) { return i < source_.size() ? source_[i] : '\0'; };
  while (cursor_ < source_.size() && (source_[cursor_] == ' ' || source_[cursor_] == '\n' || source_[cursor_] == '\t' ||
                                      source_[cursor_] == '\r')) {
    ++cursor_;
  }
  const std::size_t start = cursor_;
  token_ = Token{TokenKind::End, {}, {}, false, start};
  if (start == source_.size()) return;
  const char first = source_[start];
  std::size_t end = start;
  if (is_digit(first)) {
    token_.kind = TokenKind::Number;
    while (is_digit(peek_char(end))) ++end;
    if (peek_char(end) == '.' && is_digit(peek_char(end + 1))) {
      token_.has_point = true;
      ++end;
      while (is_digit(peek_char(end))) ++end;
    }
    if (peek_char(end) == 'e') {
      std::size_t exponent = end + 1;
      if (peek_char(exponent) == '+' || peek_char(exponent) == '-') ++exponent;
      if (is_digit(peek_char(exponent))) {
        token_.has_point = true;
        end = exponent;
        while (is_digit(peek_char(end))) ++end;
      }
    }
    token_.text = source_.substr(start, end - start);
    if (peek_char(end) == '_') {
      const std::size_t suffix = end + 1;
      end = suffix;
      while (is_word(peek_char(end))) ++end;
      token_.suffix = source_.substr(suffix, end - suffix);
      if (token_.suffix.empty()) fail("a number ends in '_' without a type", start, "write 3_i32, for example");
    } else if (is_word(peek_char(end))) {
      fail("a name cannot start with a digit", start);
    }
    cursor_ = end;
    return;
  }
  if (is_word(first)) {
    token_.kind = TokenKind::Identifier;
    while (is_word(peek_char(end))) ++end;
  } else {
    token_.kind = TokenKind::Symbol;
    const std::string_view two = source_.substr(start, 2);
    if (std::find(kLongSymbols.begin(), kLongSymbols.end(), two) != kLongSymbols.end()) {
      end = start + 2;
    } else if (kShortSymbols.find(first) != std::string_view::npos) {
      end = start + 1;
    } else {
      fail("unexpected character '" + std::string(1, first) + "'", start);
    }
  }
  token_.text = source_.substr(start, end - start);
  cursor_ = end;
}

void Lexer::fail(std::string what, std::size_t position, std::string hint) const {
  const std::string_view before = source_.substr(0, std::min(position, source_.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  throw Error(ErrorCode::InvalidArgument, std::move(what),
              "line " + std::to_string(line) + ", column " + std::to_string(before.size() - line_start + 1),
              std::move(hint));
}

}  // namespace temper::ir
