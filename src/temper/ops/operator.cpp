#include "temper/ops/operator.h"

#include <algorithm>
#include <array>

#include "temper/support/error.h"

namespace temper::ops {

std::string_view to_string(Layout layout) {
  constexpr std::array<std::string_view, 4> kNames{"nchw", "nhwc", "nchw8c", "nchw16c"};
  return kNames.at(static_cast<std::size_t>(layout));
}

std::int64_t channel_block(Layout layout) { return layout == Layout::Nchw8c ? 8 : layout == Layout::Nchw16c ? 16 : 0; }

Layout blocked_layout(std::int64_t lanes) { return lanes >= 16 ? Layout::Nchw16c : Layout::Nchw8c; }

const ir::Tensor& Node::input(std::size_t index) const {
  if (!has(index)) invalid(*this, "input " + std::to_string(index) + " is missing");
  return inputs[index].tensor;
}

const TensorValue& Node::value(std::size_t index) const {
  input(index);
  if (inputs[index].value == nullptr) {
    unsupported(*this, "input " + std::to_string(index) + " is computed by the model; its value must be constant",
                "fix the input shapes, so that it can be computed ahead, or bind the input with --constant");
  }
  return *inputs[index].value;
}

void invalid(const Node& node, std::string what, std::string hint) {
  throw Error(ErrorCode::InvalidModel, std::move(what), node.op, std::move(hint));
}
void unsupported(const Node& node, std::string what, std::string hint) {
  throw Error(ErrorCode::Unsupported, std::move(what), node.op, std::move(hint));
}

std::int64_t normalise_axis(const Node& node, std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) {
    invalid(node, "axis " + std::to_string(axis) + " does not exist in a tensor of rank " + std::to_string(rank));
  }
  return axis < 0 ? axis + count : axis;
}

std::vector<std::int64_t> normalise_axes(const Node& node, std::vector<std::int64_t> axes, std::size_t rank) {
  for (std::int64_t& axis : axes) axis = normalise_axis(node, axis, rank);
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

std::vector<ir::Extent> extents(const std::vector<std::int64_t>& shape) { return {shape.begin(), shape.end()}; }

TensorType type_of(const ir::Tensor& tensor) { return {tensor.dtype(), tensor.shape()}; }

}  // namespace temper::ops
