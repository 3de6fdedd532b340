// How far a tensor is from the one that another library computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "temper/peers/work.h"
#include "temper/target/artifact_abi.h"

namespace temper::app {

/// Results equal when no element is further off than this part of the largest absolute value.
inline constexpr double kEqual = 1e-4;

struct Difference {
  /// Largest absolute difference over the largest absolute value of the reference; the difference itself when that is
  /// all zeros. Equal infinities and two NaNs are no difference. Infinity when one side alone is NaN, and when elements
  /// of another type than f32 and f64 differ at all.
  double error = 0;
  std::int64_t largest_at = -1;            ///< place of the largest element in the reference's order; -1: integers
  std::int64_t reference_largest_at = -1;  ///< the same of the reference
};

/// `actual` is a tensor of these sizes whose axis i is axis `order[i]` of the reference, apart from axes of one
/// element, which either may have more of; an empty order is the reference's own. Throws Error{Internal} when types or
/// sizes do not fit.
Difference compare(std::span<const std::byte> actual, temper_dtype dtype, const std::vector<std::int64_t>& sizes,
                   const std::vector<int>& order, const peers::Tensor& reference);

/// An error as JSON, which has no infinity.
nlohmann::json error_json(double error);

}  // namespace temper::app
