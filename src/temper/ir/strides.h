// Where elements of a tensor lie in memory, counted in elements from the first one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace temper::ir {

/// Strides of a shape without gaps.
std::vector<std::int64_t> row_major_strides(const std::vector<std::int64_t>& shape);

/// Elements from the first to the last, gaps included; 0 for a shape without elements. Requires as many strides as
/// axes.
std::int64_t span_elements(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides);

/// The place of each element, in row-major order. Requires as many strides as axes.
std::vector<std::size_t> element_places(const std::vector<std::int64_t>& shape,
                                        const std::vector<std::int64_t>& strides);

}  // namespace temper::ir
