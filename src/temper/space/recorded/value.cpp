#include "temper/space/recorded/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "temper/support/error.h"

namespace temper::space::recorded {

double Value::real() const {
  if (const auto* fraction = std::get_if<double>(&data_)) return *fraction;
  const std::optional<std::int64_t> integer = whole();
  TEMPER_CHECK(integer.has_value(), "a text was read as a number");
  return static_cast<double>(*integer);
}

bool Value::truth() const {
  if (is_text()) return !text().empty();
  if (is_list()) return !list().empty();
  return real() != 0;
}

std::optional<double> number_in(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' ? std::optional<double>(value) : std::nullopt;
}

int compare_numbers(const Value& a, const Value& b) {
  const std::optional<std::int64_t> whole_a = a.whole(), whole_b = b.whole();
  if (whole_a && whole_b) return *whole_a < *whole_b ? -1 : *whole_a > *whole_b ? 1 : 0;
  // Values of spaces are far below 2^53, where a double holds every whole number.
  const double real_a = a.real(), real_b = b.real();
  return real_a < real_b ? -1 : real_a > real_b ? 1 : 0;
}

bool Value::operator==(const Value& other) const {
  if (is_number() && other.is_number()) {
    if (const std::optional<std::int64_t> a = whole(), b = other.whole(); a && b) return *a == *b;
    return real() == other.real();
  }
  if (is_text() && other.is_text()) return text() == other.text();
  if (is_list() && other.is_list()) return list() == other.list();
  return false;
}

std::string Value::written() const {
  if (is_text()) return "'" + text() + "'";
  if (is_list()) {
    std::string inside;
    for (const Value& item : list()) inside += (inside.empty() ? "" : ", ") + item.written();
    return "[" + inside + "]";
  }
  if (is_bool()) return truth() ? "True" : "False";
  if (is_integer()) return std::to_string(*whole());
  return fmt::format("{}", real());
}

}  // namespace temper::space::recorded
