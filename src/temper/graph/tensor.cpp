#include "temper/graph/tensor.h"

#include <cstring>
#include <memory>
#include <utility>

#include "temper/ir/strides.h"
#include "temper/support/error.h"

namespace temper::graph {

std::int64_t element_count(const Sizes& sizes, const std::string& where) {
  std::int64_t count = 1;
  bool empty = false;
  for (const std::int64_t size : sizes) {
    if (size < 0) {
      throw Error(ErrorCode::InvalidModel, "a dimension is negative: " + to_string(sizes), where,
                  "every dimension of a tensor is at least 0");
    }
    if (size == 0) {
      empty = true;
      continue;
    }
    if (size > kMaxElements / count) {
      throw Error(ErrorCode::InvalidModel, "a tensor of shape " + to_string(sizes) + " has too many elements", where,
                  "at most 2^40 elements are accepted");
    }
    count *= size;
  }
  return empty ? 0 : count;
}

std::string to_string(const Sizes& sizes) {
  std::string text = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) text += (i ? "," : "") + std::to_string(sizes[i]);
  return text + "]";
}

ops::TensorValue reshaped(const ops::TensorValue& value, Sizes sizes) {
  TEMPER_CHECK(element_count(sizes) == value.type.elements(), "a reshape changes the number of elements");
  return ops::TensorValue{{value.type.dtype, std::move(sizes)}, value.bytes};
}

Sizes permuted(const Sizes& sizes, const std::vector<int>& order) {
  Sizes result;
  for (const int axis : order) result.push_back(sizes.at(static_cast<std::size_t>(axis)));
  return result;
}

bool is_row_major(const Sizes& sizes, const Sizes& given) {
  const Sizes dense = ir::row_major_strides(sizes);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != 1 && given[i] != dense[i]) return false;
  }
  return true;
}

std::optional<Sizes> reshaped_strides(const Sizes& sizes, const Sizes& given, const Sizes& to) {
  // Runs of axes along which steps have one length, innermost first.
  struct Run {
    std::int64_t elements, step;
  };
  std::vector<Run> runs;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (!runs.empty() && given[i] == runs.back().step * runs.back().elements) {
      runs.back().elements *= sizes[i];
    } else {
      runs.push_back({sizes[i], given[i]});
    }
  }
  Sizes result(to.size(), 1);
  std::size_t run = 0;
  std::int64_t taken = 1;  // elements of the run
  for (std::size_t i = to.size(); i-- > 0;) {
    if (to[i] == 1) {
      if (i + 1 < to.size()) result[i] = result[i + 1] * to[i + 1];
      continue;
    }
    if (run == runs.size() || runs[run].elements % (taken * to[i]) != 0) return std::nullopt;
    result[i] = runs[run].step * taken;
    taken *= to[i];
    if (taken < runs[run].elements) continue;
    ++run;
    taken = 1;
  }
  return result;
}

ops::TensorValue transposed(const ops::TensorValue& value, const std::vector<int>& order) {
  const Sizes sizes = permuted(value.type.shape, order);
  const Sizes steps = permuted(ir::row_major_strides(value.type.shape), order);
  const auto width = static_cast<std::size_t>(ir::bytes(value.type.dtype));
  auto bytes = std::make_shared<std::vector<std::byte>>(value.bytes->size());
  Sizes index(sizes.size(), 0);
  std::size_t from = 0;
  for (std::size_t to = 0; to < bytes->size(); to += width) {
    std::memcpy(bytes->data() + to, value.bytes->data() + from * width, width);
    for (std::size_t axis = sizes.size(); axis-- > 0;) {
      from += static_cast<std::size_t>(steps[axis]);
      if (++index[axis] < sizes[axis]) break;
      from -= static_cast<std::size_t>(steps[axis] * sizes[axis]);
      index[axis] = 0;
    }
  }
  return ops::TensorValue{{value.type.dtype, sizes}, std::move(bytes)};
}

ops::TensorValue padded(const ops::TensorValue& value, const Sizes& sizes, double rest) {
  if (sizes == value.type.shape) return value;
  const std::vector<double> filled(static_cast<std::size_t>(element_count(sizes)), rest);
  const ops::TensorValue whole = ops::TensorValue::from_numbers({value.type.dtype, sizes}, filled);
  auto bytes = std::make_shared<std::vector<std::byte>>(*whole.bytes);
  const auto width = static_cast<std::size_t>(ir::bytes(value.type.dtype));
  const std::vector<std::size_t> places = ir::element_places(value.type.shape, ir::row_major_strides(sizes));
  for (std::size_t i = 0; i < places.size(); ++i)
    std::memcpy(bytes->data() + places[i] * width, value.bytes->data() + i * width, width);
  return ops::TensorValue{{value.type.dtype, sizes}, std::move(bytes)};
}

}  // namespace temper::graph
