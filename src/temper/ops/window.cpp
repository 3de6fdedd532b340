#include "temper/ops/window.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "temper/support/error.h"

namespace temper::ops {

std::vector<ir::Expr> WindowAxis::conditions(const ir::Expr& position) const {
  std::vector<ir::Expr> result;
  if (pad_begin > 0) result.push_back(position >= 0);
  if ((output - 1) * stride + span() - 1 - pad_begin >= input) result.push_back(position < ir::Expr(input));
  return result;
}

void WindowAxis::set_output(bool ceil_mode) {
  const std::int64_t room = input + pad_begin + pad_end - span();
  output = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  if (ceil_mode && (output - 1) * stride >= input + pad_begin) --output;
}

ir::Axis tap_axis(const std::vector<WindowAxis>& window, std::size_t i) {
  constexpr const char* kNames[] = {"kd", "kh", "kw"};
  return ir::reduce(kNames[std::size(kNames) - window.size() + i], window[i].kernel);
}

WindowTaps window_taps(const std::vector<WindowAxis>& window, std::span<const ir::Axis> out) {
  WindowTaps taps;
  for (std::size_t i = 0; i < window.size(); ++i) {
    taps.axes.push_back(tap_axis(window, i));
    taps.places.push_back(window[i].position(out[i], taps.axes.back()));
  }
  return taps;
}

ir::Definition inside(ir::Definition definition, const std::vector<WindowAxis>& window,
                      const std::vector<ir::Expr>& places) {
  for (std::size_t i = 0; i < window.size(); ++i) {
    for (const ir::Expr& condition : window[i].conditions(places[i]))
      definition = std::move(definition).where(condition);
  }
  return definition;
}

std::vector<std::int64_t> integers_per_axis(const Node& node, std::string_view name, std::size_t count,
                                            std::int64_t if_absent) {
  std::vector<std::int64_t> values = node.attributes->integers(name, std::vector<std::int64_t>(count, if_absent));
  if (values.size() != count) {
    invalid(node, "attribute '" + std::string(name) + "' has " + std::to_string(values.size()) + " values, not " +
                      std::to_string(count));
  }
  return values;
}

std::vector<std::string> SpatialLayout::names(const std::string& channel_name) const {
  std::vector<std::string> places{"z", "y", "x"};
  places.erase(places.begin(), places.end() - static_cast<std::ptrdiff_t>(spatial()));
  if (!blocks) return arrange<std::string>("n", channel_name, std::move(places));
  std::vector<std::string> all = arrange<std::string>("n", channel_name + "b", std::move(places));
  all.push_back(channel_name + "i");
  return all;
}

std::vector<WindowAxis> window_axes(const Node& node, const std::vector<std::int64_t>& input_shape,
                                    std::optional<std::vector<std::int64_t>> kernel) {
  if (input_shape.size() < 3 || input_shape.size() > 5) {
    unsupported(node, "the input has rank " + std::to_string(input_shape.size()) +
                          "; one to three spatial axes (rank 3 to 5) are supported");
  }
  const SpatialLayout layout(node.layout, input_shape.size());
  const std::size_t count = layout.spatial();
  const Attributes& attributes = *node.attributes;
  const std::vector<std::int64_t> strides = integers_per_axis(node, "strides", count, 1),
                                  dilations = integers_per_axis(node, "dilations", count, 1),
                                  pads = integers_per_axis(node, "pads", 2 * count, 0);
  const std::vector<std::int64_t> kernel_shape = kernel ? *kernel : attributes.integers("kernel_shape");
  if (kernel_shape.size() != count) {
    invalid(node, "attribute 'kernel_shape' has " + std::to_string(kernel_shape.size()) + " values, not " +
                      std::to_string(count));
  }
  if (kernel && attributes.has("kernel_shape") && integers_per_axis(node, "kernel_shape", count, 0) != kernel_shape) {
    invalid(node, "attribute 'kernel_shape' differs from the shape of the weights");
  }
  const std::string auto_pad = attributes.text("auto_pad", "NOTSET");
  const bool ceil_mode = attributes.integer("ceil_mode", 0) != 0;
  std::vector<WindowAxis> axes(count);
  for (std::size_t i = 0; i < count; ++i) {
    WindowAxis& axis = axes[i];
    axis.input = input_shape[layout.first + i];
    axis.kernel = kernel_shape[i];
    axis.stride = strides[i];
    axis.dilation = dilations[i];
    if (axis.kernel < 1 || axis.stride < 1 || axis.dilation < 1)
      invalid(node, "kernel, stride and dilation must be positive");
    if (auto_pad == "NOTSET") {
      axis.pad_begin = pads[i];
      axis.pad_end = pads[i + count];
    } else if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      const std::int64_t wanted = (axis.input + axis.stride - 1) / axis.stride;
      const std::int64_t total = std::max<std::int64_t>(0, (wanted - 1) * axis.stride + axis.span() - axis.input);
      axis.pad_begin = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      axis.pad_end = total - axis.pad_begin;
    } else if (auto_pad != "VALID") {
      invalid(node, "auto_pad '" + auto_pad + "' is not known", "expected NOTSET, SAME_UPPER, SAME_LOWER or VALID");
    }
    if (axis.pad_begin < 0 || axis.pad_end < 0) unsupported(node, "negative padding");
    if (axis.input + axis.pad_begin + axis.pad_end < axis.span())
      invalid(node, "the kernel is larger than the padded input");
    axis.set_output(ceil_mode);
  }
  return axes;
}

}  // namespace temper::ops
