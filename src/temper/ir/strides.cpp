#include "temper/ir/strides.h"

#include <utility>

namespace temper::ir {

std::vector<std::int64_t> row_major_strides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

std::int64_t span_elements(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return 0;
    last += (shape[i] - 1) * strides[i];
  }
  return last + 1;
}

std::vector<std::size_t> element_places(const std::vector<std::int64_t>& shape,
                                        const std::vector<std::int64_t>& strides) {
  std::vector<std::size_t> places{0};
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    std::vector<std::size_t> inner;
    for (const std::size_t place : places) {
      for (std::int64_t i = 0; i < shape[axis]; ++i)
        inner.push_back(place + static_cast<std::size_t>(i * strides[axis]));
    }
    places = std::move(inner);
  }
  return places;
}

}  // namespace temper::ir
