#include "temper/runner/compare.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>
#include <type_traits>

#include "temper/runtime/plan.h"
#include "temper/support/error.h"

namespace temper::runner {
namespace {

template <class T>
T load(std::span<const std::byte> bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <class T>
double difference(T actual, T expected) {
  if (actual == expected) return 0;
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(actual) && std::isnan(expected)) return 0;
    const double result = std::fabs(static_cast<double>(actual) - static_cast<double>(expected));
    return std::isnan(result) ? std::numeric_limits<double>::infinity() : result;
  } else {
    // Differences of i64 do not always fit one: take the larger minus the smaller, without a sign.
    const auto high = static_cast<std::uint64_t>(std::max(actual, expected)),
               low = static_cast<std::uint64_t>(std::min(actual, expected));
    return static_cast<double>(high - low);
  }
}

template <class T>
Comparison compare_as(std::span<const std::byte> actual, std::span<const std::byte> expected, double tolerance) {
  Comparison result;
  const std::size_t count = actual.size() / sizeof(T);
  for (std::size_t i = 0; i < count; ++i) {
    const T a = load<T>(actual, i), e = load<T>(expected, i);
    const double size = std::fabs(static_cast<double>(e));
    if (std::isfinite(size)) result.max_expected = std::max(result.max_expected, size);
    const double error = difference(a, e);
    result.max_difference = std::max(result.max_difference, error);
    if (error <= tolerance) continue;
    if (result.wrong++ == 0) {
      result.first_wrong = static_cast<std::int64_t>(i);
      std::ostringstream text;
      text.precision(9);
      text << "element " << i << " is " << static_cast<double>(a) << " instead of " << static_cast<double>(e);
      result.first_text = text.str();
    }
  }
  return result;
}

}  // namespace

Comparison compare(temper_dtype dtype, std::span<const std::byte> actual, std::span<const std::byte> expected,
                   double absolute_tolerance) {
  TEMPER_CHECK(actual.size() == expected.size(), "outputs of equal size are compared");
  switch (dtype) {
    case TEMPER_F32: return compare_as<float>(actual, expected, absolute_tolerance);
    case TEMPER_F64: return compare_as<double>(actual, expected, absolute_tolerance);
    case TEMPER_I8: return compare_as<std::int8_t>(actual, expected, absolute_tolerance);
    case TEMPER_U8:
    case TEMPER_BOOL: return compare_as<std::uint8_t>(actual, expected, absolute_tolerance);
    case TEMPER_I32: return compare_as<std::int32_t>(actual, expected, absolute_tolerance);
    case TEMPER_I64: return compare_as<std::int64_t>(actual, expected, absolute_tolerance);
  }
  check_failed("dtype", __FILE__, __LINE__, "an element type that nobody checked");
}

}  // namespace temper::runner
