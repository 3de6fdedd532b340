#include "temper/store/task_distance.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace temper::store {
namespace {

/// A value of a field in parts: its numbers, and the text around them with a mark in each number's place.
struct Parts {
  std::string text;
  std::vector<double> numbers;
};

bool belongs_to_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

Parts split(std::string_view value) {
  Parts parts;
  for (std::size_t i = 0; i < value.size();) {
    // The digits of a name, such as f32, are no number.
    const bool begins =
        std::isdigit(static_cast<unsigned char>(value[i])) != 0 && (i == 0 || !belongs_to_word(value[i - 1]));
    double number = 0;
    const auto read = begins ? std::from_chars(value.data() + i, value.data() + value.size(), number)
                             : std::from_chars_result{value.data(), std::errc::invalid_argument};
    if (read.ec == std::errc{} && std::isfinite(number)) {
      parts.numbers.push_back(number);
      parts.text += '\0';
      i = static_cast<std::size_t>(read.ptr - value.data());
    } else {
      parts.text += value[i++];
    }
  }
  return parts;
}

double number_distance(double a, double b) {
  if (a == b) return 0;
  if (a <= 0 || b <= 0) return kOtherValue;
  return std::min(std::abs(std::log2(a / b)), kOtherValue);
}

double value_distance(const std::string& a, const std::string& b) {
  if (a == b) return 0;
  const Parts x = split(a), y = split(b);
  if (x.text != y.text) return kOtherValue;
  double sum = 0;
  for (std::size_t i = 0; i < x.numbers.size(); ++i) sum += number_distance(x.numbers[i], y.numbers[i]);
  return sum > 0 ? sum : kOtherValue;  // 1 and 1.0 are the same number, but not the same key
}

}  // namespace

double distance(const record::TaskKey& a, const record::TaskKey& b) {
  if (a.op != b.op) return std::numeric_limits<double>::infinity();
  double sum = 0;
  std::vector<bool> used(b.fields.size(), false);
  for (std::size_t i = 0; i < a.fields.size(); ++i) {
    const auto& [name, value] = a.fields[i];
    // Keys of one operator mostly have the same fields in the same places.
    std::size_t at = i;
    if (at >= b.fields.size() || used[at] || b.fields[at].first != name) {
      at = 0;
      while (at < b.fields.size() && (used[at] || b.fields[at].first != name)) ++at;
    }
    if (at == b.fields.size()) {
      sum += kOtherValue;
      continue;
    }
    used[at] = true;
    sum += value_distance(value, b.fields[at].second);
  }
  return sum + kOtherValue * static_cast<double>(std::ranges::count(used, false));
}

}  // namespace temper::store
