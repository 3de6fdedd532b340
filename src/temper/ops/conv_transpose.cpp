#include "temper/ops/conv_transpose.h"

#include <algorithm>

#include "temper/ops/epilogue.h"
#include "temper/ops/indexing.h"

namespace temper::ops {

using ir::Axis;
using ir::Expr;
using ir::Tensor;

std::vector<WindowAxis> transposed_window_axes(const Node& node, const std::vector<std::int64_t>& input_shape,
                                               const std::vector<std::int64_t>& weight_shape) {
  if (input_shape.size() < 3 || input_shape.size() > 5 || weight_shape.size() != input_shape.size())
    unsupported(node, "input and weights have ranks " + std::to_string(input_shape.size()) + " and " +
                          std::to_string(weight_shape.size()) +
                          "; one to three spatial axes (rank 3 to 5) are supported");
  const SpatialLayout layout(node.layout, input_shape.size());
  const std::size_t count = layout.spatial();
  const std::vector<std::int64_t> strides = integers_per_axis(node, "strides", count, 1),
                                  dilations = integers_per_axis(node, "dilations", count, 1),
                                  pads = integers_per_axis(node, "pads", 2 * count, 0),
                                  extra = integers_per_axis(node, "output_padding", count, 0),
                                  kernel = integers_per_axis(node, "kernel_shape", count, 0);
  std::vector<std::int64_t> wanted = node.attributes->integers("output_shape", {});
  if (wanted.size() == count + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  const std::string auto_pad = node.attributes->text("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (!same && auto_pad != "NOTSET" && auto_pad != "VALID")
    invalid(node, "auto_pad '" + auto_pad + "' is not known", "expected NOTSET, SAME_UPPER, SAME_LOWER or VALID");
  std::vector<WindowAxis> axes(count);
  for (std::size_t i = 0; i < count; ++i) {
    WindowAxis& axis = axes[i];
    axis.input = input_shape[layout.first + i];
    axis.kernel = weight_shape[2 + i];
    axis.stride = strides[i];
    axis.dilation = dilations[i];
    if (axis.stride < 1 || axis.dilation < 1) invalid(node, "stride and dilation must be positive");
    if (node.attributes->has("kernel_shape") && kernel[i] != axis.kernel)
      invalid(node, "attribute 'kernel_shape' differs from the shape of the weights");
    const std::int64_t whole = (axis.input - 1) * axis.stride + axis.span() + extra[i];
    if (!wanted.empty() || same) {
      if (!wanted.empty() && wanted.size() != count)
        invalid(node, "attribute 'output_shape' needs " + std::to_string(count) + " values");
      axis.output = wanted.empty() ? axis.input * axis.stride : wanted[i];
      const std::int64_t total = std::max<std::int64_t>(0, whole - axis.output);
      axis.pad_begin = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      axis.pad_end = total - axis.pad_begin;
    } else {
      if (auto_pad == "NOTSET") {
        axis.pad_begin = pads[i];
        axis.pad_end = pads[i + count];
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
  const std::vector<WindowAxis> window = transposed_window_axes(node, shape, weights);
  const SpatialLayout layout(node.layout, shape.size());
  const std::int64_t groups = node.attributes->integer("group", 1), channels = shape[layout.channel];
  if (groups < 1 || channels != weights[0] || channels % groups != 0)
    invalid(node, "the weights " + type_of(weight).text() + " do not fit " + std::to_string(channels) +
                      " input channels in " + std::to_string(groups) + " groups");
  const std::int64_t group_ic = channels / groups, group_oc = weights[1], filters = group_oc * groups;
  const bool biased = node.has(2);
  std::vector<std::int64_t> sizes;
  for (const WindowAxis& axis : window) sizes.push_back(axis.output);
  const Tensor sum = ir::compute(
      biased ? node.name + "_conv" : node.name, extents(layout.arrange(shape[0], filters, sizes)),
      [&](std::span<const Axis> axes) {
        const Axis& oc = axes[layout.channel];
        const Axis ic = ir::reduce("ic", group_ic);
        const Expr from = groups == 1 ? Expr(ic) : ir::floor_div(oc, group_oc) * group_ic + ic;
        std::vector<Axis> reduced{ic};
        std::vector<Expr> conditions, places;
        std::vector<Expr> weight_index{from, groups == 1 ? Expr(oc) : ir::mod(oc, Expr(group_oc))};
        for (std::size_t i = 0; i < window.size(); ++i) {
          const WindowAxis& axis = window[i];
          reduced.push_back(tap_axis(window, i));
          weight_index.emplace_back(reduced.back());
          Expr place = axes[layout.first + i] + axis.pad_begin - reduced.back() * axis.dilation;
          if (axis.stride > 1) {
            conditions.push_back(ir::mod(place, Expr(axis.stride)) == Expr(0));
            place = ir::floor_div(place, axis.stride);
          }
          conditions.push_back(ir::in_range(place, axis.input));
          places.push_back(place);
        }
        ir::Definition definition =
            ir::sum(in.at(layout.arrange<Expr>(axes[0], from, places)) * weight.at(weight_index), reduced);
        for (const Expr& condition : conditions) definition = std::move(definition).where(condition);
        return definition;
      },
      layout.names("oc"));
  if (!biased) return {sum};
  const Tensor& bias = node.input(2);
  if (bias.shape() != std::vector<std::int64_t>{filters})
    invalid(node, "the bias must have one value per output channel");
  return {append_epilogue(sum, {{"bias", {}}}, {bias}, layout.channel, node.name)};
}

}  // namespace temper::ops
