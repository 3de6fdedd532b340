#include "temper/app/difference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "temper/runtime/plan.h"
#include "temper/support/error.h"

namespace temper::app {
namespace {

/// For each stored element, in order, its place in the reference.
std::vector<std::int64_t> places(const std::vector<std::int64_t>& sizes, const std::vector<int>& order,
                                 const std::vector<std::int64_t>& reference) {
  std::vector<std::int64_t> stride(reference.size(), 1);
  for (std::size_t i = reference.size(); i-- > 1;) stride[i - 1] = stride[i] * reference[i];
  std::vector<std::int64_t> result{0};
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    std::vector<std::int64_t> next;
    next.reserve(result.size() * static_cast<std::size_t>(sizes[axis]));
    for (const std::int64_t base : result) {
      for (std::int64_t i = 0; i < sizes[axis]; ++i)
        next.push_back(base + i * stride[static_cast<std::size_t>(order[axis])]);
    }
    result = std::move(next);
  }
  return result;
}

std::vector<std::int64_t> without_ones(std::vector<std::int64_t> sizes) {
  std::erase(sizes, 1);
  return sizes;
}

/// The elements in the reference's order.
std::vector<std::byte> reordered(std::span<const std::byte> actual, std::size_t element,
                                 const std::vector<std::int64_t>& sizes, const std::vector<int>& order,
                                 const std::vector<std::int64_t>& reference) {
  std::vector<std::byte> result(actual.size());
  std::size_t from = 0;
  for (const std::int64_t to : places(sizes, order, reference)) {
    std::memcpy(result.data() + static_cast<std::size_t>(to) * element, actual.data() + from, element);
    from += element;
  }
  return result;
}

/// `Number` is the type of both sides' elements.
template <class Number>
Difference compare_numbers(std::span<const std::byte> actual, std::span<const std::byte> reference) {
  Difference result;
  double worst = 0, magnitude = 0;
  Number largest = 0, reference_largest = 0;
  for (std::size_t e = 0; e < reference.size() / sizeof(Number); ++e) {
    Number value, expected;
    std::memcpy(&value, actual.data() + e * sizeof(Number), sizeof value);
    std::memcpy(&expected, reference.data() + e * sizeof(Number), sizeof expected);
    if (result.largest_at < 0 || value > largest) {
      largest = value;
      result.largest_at = static_cast<std::int64_t>(e);
    }
    if (result.reference_largest_at < 0 || expected > reference_largest) {
      reference_largest = expected;
      result.reference_largest_at = static_cast<std::int64_t>(e);
    }
    if ((std::isnan(value) && std::isnan(expected)) || value == expected) {
      if (std::isfinite(value)) magnitude = std::max(magnitude, std::abs(static_cast<double>(value)));
      continue;
    }
    const double distance = std::abs(static_cast<double>(value) - static_cast<double>(expected));
    worst = std::isfinite(distance) ? std::max(worst, distance) : std::numeric_limits<double>::infinity();
    if (std::isfinite(expected)) magnitude = std::max(magnitude, std::abs(static_cast<double>(expected)));
  }
  result.error = magnitude > 0 ? worst / magnitude : worst;
  return result;
}

}  // namespace

Difference compare(std::span<const std::byte> actual, temper_dtype dtype, const std::vector<std::int64_t>& sizes,
                   const std::vector<int>& order, const peers::Tensor& reference) {
  TEMPER_CHECK(reference.dtype == runtime::dtype_name(dtype) && reference.data.size() == actual.size(),
               "the reference '" + reference.name + "' is of another type or size");
  std::vector<std::byte> moved;
  if (!order.empty()) {
    TEMPER_CHECK(order.size() == sizes.size(), "an order has one place for each axis");
    std::vector<std::int64_t> dims(sizes.size());
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) dims[static_cast<std::size_t>(order[axis])] = sizes[axis];
    TEMPER_CHECK(without_ones(dims) == without_ones(reference.dims),
                 "the reference '" + reference.name + "' has another shape");
    moved = reordered(actual, static_cast<std::size_t>(runtime::element_bytes(dtype)), sizes, order, dims);
    actual = moved;
  }
  if (dtype == TEMPER_F32) return compare_numbers<float>(actual, reference.data);
  if (dtype == TEMPER_F64) return compare_numbers<double>(actual, reference.data);
  Difference result;
  if (!std::equal(actual.begin(), actual.end(), reference.data.begin()))
    result.error = std::numeric_limits<double>::infinity();
  return result;
}

nlohmann::json error_json(double error) {
  return std::isfinite(error) ? nlohmann::json(error) : nlohmann::json("infinity");
}

}  // namespace temper::app
