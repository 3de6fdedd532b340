// Sizes of tensors, and small helpers on tensors whose contents are known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "temper/ops/tensor_value.h"

namespace temper::graph {

/// Sizes of the dimensions, outermost first; empty for a scalar.
using Sizes = std::vector<std::int64_t>;

/// Largest number of elements a tensor may have; a larger product in a model is an error, not an allocation.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

/// Number of elements. Throws Error{InvalidModel} (at `where`) for a negative size or a product above `kMaxElements`.
std::int64_t element_count(const Sizes& sizes, const std::string& where = {});
/// "[1,3,224,224]"
std::string to_string(const Sizes& sizes);

/// The same bytes under another shape of equal count.
ops::TensorValue reshaped(const ops::TensorValue& value, Sizes sizes);
/// The elements in another order of axes: axis i of the result is axis `order[i]` of `value`.
ops::TensorValue transposed(const ops::TensorValue& value, const std::vector<int>& order);
/// The elements at the start of a larger tensor of the same rank that holds `rest` everywhere else.
ops::TensorValue padded(const ops::TensorValue& value, const Sizes& sizes, double rest = 0);
/// Orders for `transposed`: from NCHW to NHWC, and back.
inline const std::vector<int> kToNhwc{0, 2, 3, 1};
inline const std::vector<int> kToNchw{0, 3, 1, 2};
/// Sizes in that order.
Sizes permuted(const Sizes& sizes, const std::vector<int>& order);
/// Whether elements of the given strides follow each other in row-major order without gaps.
bool is_row_major(const Sizes& sizes, const Sizes& given);
/// Strides of elements under another shape of equal count, nested as in row-major order for axes of size 1 too. None
/// where an axis would have to make steps of different lengths. Requires at least one element.
std::optional<Sizes> reshaped_strides(const Sizes& sizes, const Sizes& given, const Sizes& to);

}  // namespace temper::graph
