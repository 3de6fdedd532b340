// Comparing a kernel's output with what was expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "temper/target/artifact_abi.h"

namespace temper::runner {

struct Comparison {
  std::int64_t wrong = 0;         ///< elements that differ by more than the tolerance
  std::int64_t first_wrong = -1;  ///< the first of them
  double max_difference = 0;      ///< infinite where one side alone is NaN, or infinities differ
  double max_expected = 0;        ///< largest absolute expected value among the finite ones
  std::string first_text;         ///< "element 17 is 0.5 instead of 0.25"
  /// Largest difference over the largest expected value; the difference itself where that is zero.
  double relative() const { return max_expected > 0 ? max_difference / max_expected : max_difference; }
};

/// Element by element. NaN equals NaN, an infinity equals itself; differences are taken in f64.
/// Requires spans of equal size, whole elements.
Comparison compare(temper_dtype dtype, std::span<const std::byte> actual, std::span<const std::byte> expected,
                   double absolute_tolerance);

}  // namespace temper::runner
