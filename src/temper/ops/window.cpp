#include "temper/ops/window.h"

#include <algorithm>

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

std::array<WindowAxis, 2> window_axes(const Node& node, const std::vector<std::int64_t>& input_shape,
                                      std::optional<std::array<std::int64_t, 2>> kernel) {
  if (input_shape.size() != 4) {
    unsupported(node, "the input has rank " + std::to_string(input_shape.size()) +
                          "; only two spatial axes (rank 4) are supported");
  }
  const Attributes& attributes = *node.attributes;
  const auto of_length = [&](std::string_view name, std::size_t length, std::int64_t value) {
    std::vector<std::int64_t> values = attributes.integers(name, std::vector<std::int64_t>(length, value));
    if (values.size() != length) {
      invalid(node, "attribute '" + std::string(name) + "' has " + std::to_string(values.size()) + " values, not " +
                        std::to_string(length));
    }
    return values;
  };
  const std::vector<std::int64_t> strides = of_length("strides", 2, 1), dilations = of_length("dilations", 2, 1),
                                  pads = of_length("pads", 4, 0);
  std::vector<std::int64_t> kernel_shape =
      kernel ? std::vector<std::int64_t>{(*kernel)[0], (*kernel)[1]} : attributes.integers("kernel_shape");
  if (kernel_shape.size() != 2)
    invalid(node, "attribute 'kernel_shape' has " + std::to_string(kernel_shape.size()) + " values, not 2");
  if (kernel && of_length("kernel_shape", 2, 0) != kernel_shape && attributes.has("kernel_shape")) {
    invalid(node, "attribute 'kernel_shape' differs from the shape of the weights");
  }
  const std::string auto_pad = attributes.text("auto_pad", "NOTSET");
  const bool ceil_mode = attributes.integer("ceil_mode", 0) != 0;
  const PixelLayout layout(node.layout);
  std::array<WindowAxis, 2> axes;
  for (std::size_t i = 0; i < 2; ++i) {
    WindowAxis& axis = axes[i];
    axis.input = input_shape[i == 0 ? layout.y : layout.x];
    axis.kernel = kernel_shape[i];
    axis.stride = strides[i];
    axis.dilation = dilations[i];
    if (axis.kernel < 1 || axis.stride < 1 || axis.dilation < 1)
      invalid(node, "kernel, stride and dilation must be positive");
    if (auto_pad == "NOTSET") {
      axis.pad_begin = pads[i];
      axis.pad_end = pads[i + 2];
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
