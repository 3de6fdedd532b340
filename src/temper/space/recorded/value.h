// A value of the expressions in a search-space description: what Python calls bool, int, float, str and list.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace temper::space::recorded {

class Value;
using List = std::vector<Value>;

class Value {
 public:
  Value() : data_(false) {}
  Value(bool value) : data_(value) {}          // NOLINT(google-explicit-constructor)
  Value(std::int64_t value) : data_(value) {}  // NOLINT(google-explicit-constructor)
  Value(double value) : data_(value) {}        // NOLINT(google-explicit-constructor)
  Value(std::string value) : data_(std::make_shared<const std::string>(std::move(value))) {}  // NOLINT
  Value(List value) : data_(std::make_shared<const List>(std::move(value))) {}                // NOLINT
  Value(const char*) = delete;                                                                // would become a bool

  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_integer() const { return std::holds_alternative<std::int64_t>(data_); }
  bool is_text() const { return std::holds_alternative<std::shared_ptr<const std::string>>(data_); }
  bool is_list() const { return std::holds_alternative<std::shared_ptr<const List>>(data_); }
  /// A bool counts as 0 or 1, as in Python.
  bool is_number() const { return !is_text() && !is_list(); }

  /// The value as a whole number when it is an integer or a bool.
  std::optional<std::int64_t> whole() const {
    if (const auto* integer = std::get_if<std::int64_t>(&data_)) return *integer;
    if (const auto* boolean = std::get_if<bool>(&data_)) return *boolean ? 1 : 0;
    return std::nullopt;
  }
  /// Requires is_number().
  double real() const;
  /// Requires is_text().
  const std::string& text() const { return *std::get<std::shared_ptr<const std::string>>(data_); }
  /// Requires is_list().
  const List& list() const { return *std::get<std::shared_ptr<const List>>(data_); }

  /// What Python's `if` says of it.
  bool truth() const;
  /// As Python's `==`: numbers by value, whatever their type; a text never equals a number.
  bool operator==(const Value& other) const;
  /// As it would be written in an expression.
  std::string written() const;

 private:
  std::variant<bool, std::int64_t, double, std::shared_ptr<const std::string>, std::shared_ptr<const List>> data_;
};

/// The number that a text is written like, NaN and infinities among them; nothing for other texts.
std::optional<double> number_in(const std::string& text);

/// Negative, zero or positive as `a` comes before, with or after `b`; whole numbers and fractions compare exactly.
/// Requires numbers.
int compare_numbers(const Value& a, const Value& b);

}  // namespace temper::space::recorded
