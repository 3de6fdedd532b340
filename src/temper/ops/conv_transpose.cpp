#include "temper/ops/conv_transpose.h"

#include <algorithm>

#include "temper/ops/epilogue.h"
#include "temper/ops/indexing.h"

namespace temper::ops {

using ir::Axis;
using ir::Expr;
using ir::Tensor;

std::array<WindowAxis, 2> transposed_window_axes(const Node& node, const std::vector<std::int64_t>& input_shape,
                                                 const std::vector<std::int64_t>& weight_shape) {
  if (input_shape.size() != 4 || weight_shape.size() != 4)
    unsupported(node, "input and weights have ranks " + std::to_string(input_shape.size()) + " and " +
                          std::to_string(weight_shape.size()) + "; only two spatial axes (rank 4) are supported");
  const auto of_length = [&](std::string_view name, std::size_t length, std::int64_t value) {
    std::vector<std::int64_t> values = node.attributes->integers(name, std::vector<std::int64_t>(length, value));
    if (values.size() != length)
      invalid(node, "attribute '" + std::string(name) + "' has " + std::to_string(values.size()) + " values, not " +
                        std::to_string(length));
    return values;
  };
  const std::vector<std::int64_t> strides = of_length("strides", 2, 1), dilations = of_length("dilations", 2, 1),
                                  pads = of_length("pads", 4, 0), extra = of_length("output_padding", 2, 0),
                                  kernel = of_length("kernel_shape", 2, 0);
  std::vector<std::int64_t> wanted = node.attributes->integers("output_shape", {});
  if (wanted.size() == 4) wanted.erase(wanted.begin(), wanted.begin() + 2);
  const std::string auto_pad = node.attributes->text("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (!same && auto_pad != "NOTSET" && auto_pad != "VALID")
    invalid(node, "auto_pad '" + auto_pad + "' is not known", "expected NOTSET, SAME_UPPER, SAME_LOWER or VALID");
  const PixelLayout layout(node.layout);
  std::array<WindowAxis, 2> axes;
  for (std::size_t i = 0; i < 2; ++i) {
    WindowAxis& axis = axes[i];
    axis.input = input_shape[i == 0 ? layout.y : layout.x];
    axis.kernel = weight_shape[2 + i];
    axis.stride = strides[i];
    axis.dilation = dilations[i];
    if (axis.stride < 1 || axis.dilation < 1) invalid(node, "stride and dilation must be positive");
    if (node.attributes->has("kernel_shape") && kernel[i] != axis.kernel)
      invalid(node, "attribute 'kernel_shape' differs from the shape of the weights");
    const std::int64_t whole = (axis.input - 1) * axis.stride + axis.span() + extra[i];
    if (!wanted.empty() || same) {
      if (!wanted.empty() && wanted.size() != 2) invalid(node, "attribute 'output_shape' needs two values");
      axis.output = wanted.empty() ? axis.input * axis.stride : wanted[i];
      const std::int64_t total = std::max<std::int64_t>(0, whole - axis.output);
      axis.pad_begin = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      axis.pad_end = total - axis.pad_begin;
    } else {
      if (auto_pad == "NOTSET") {
        axis.pad_begin = pads[i];
        axis.pad_end = pads[i + 2];
      }
      axis.output = whole - axis.pad_begin - axis.pad_end;
    }
    if (axis.output < 1) invalid(node, "the padding leaves no output");
  }
  return axes;
}

std::vector<Tensor> build_conv_transpose(const Node& node) {
  const Tensor &in = node.input(0), &weight = node.input(1);
  const std::vector<std::int64_t> shape = in.shape(), weights = weight.shape();
  const auto [y_axis, x_axis] = transposed_window_axes(node, shape, weights);
  const PixelLayout layout(node.layout);
  const std::int64_t groups = node.attributes->integer("group", 1), channels = shape[layout.channel];
  if (groups < 1 || channels != weights[0] || channels % groups != 0)
    invalid(node, "the weights " + type_of(weight).text() + " do not fit " + std::to_string(channels) +
                      " input channels in " + std::to_string(groups) + " groups");
  const std::int64_t group_ic = channels / groups, group_oc = weights[1], filters = group_oc * groups;
  const Axis ic = ir::reduce("ic", group_ic), kh = ir::reduce("kh", weights[2]), kw = ir::reduce("kw", weights[3]);
  const bool biased = node.has(2);
  const Tensor sum = ir::compute(
      biased ? node.name + "_conv" : node.name,
      extents(layout.arrange(shape[0], filters, y_axis.output, x_axis.output)),
      [&](std::span<const Axis> axes) {
        const Axis& oc = axes[layout.channel];
        const Expr from = groups == 1 ? Expr(ic) : ir::floor_div(oc, group_oc) * group_ic + ic;
        const Expr to = groups == 1 ? Expr(oc) : ir::mod(oc, Expr(group_oc));
        std::vector<Expr> conditions;
        const auto position = [&](const WindowAxis& axis, const Axis& out, const Axis& tap) {
          const Expr place = out + axis.pad_begin - tap * axis.dilation;
          if (axis.stride == 1) {
            conditions.push_back(ir::in_range(place, axis.input));
            return place;
          }
          conditions.push_back(ir::mod(place, Expr(axis.stride)) == Expr(0));
          const Expr source = ir::floor_div(place, axis.stride);
          conditions.push_back(ir::in_range(source, axis.input));
          return source;
        };
        const Expr iy = position(y_axis, axes[layout.y], kh), ix = position(x_axis, axes[layout.x], kw);
        ir::Definition definition =
            ir::sum(in.at(layout.arrange<Expr>(axes[0], from, iy, ix)) * weight(from, to, kh, kw), {ic, kh, kw});
        for (const Expr& condition : conditions) definition = std::move(definition).where(condition);
        return definition;
      },
      layout.arrange<std::string>("n", "oc", "y", "x"));
  if (!biased) return {sum};
  const Tensor& bias = node.input(2);
  if (bias.shape() != std::vector<std::int64_t>{filters})
    invalid(node, "the bias must have one value per output channel");
  return {append_epilogue(sum, {{"bias", {}}}, {bias}, layout.channel, node.name)};
}

}  // namespace temper::ops
