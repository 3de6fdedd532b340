#include "temper/ops/conv_transpose.h"

#include <algorithm>

#include "temper/ops/epilogue.h"
#include "temper/ops/indexing.h"
#include "temper/support/error.h"

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

namespace {

/// The taps of one output position along one axis.
struct TransposedTaps {
  Axis tap;
  Expr kernel, place;            ///< indices into weights and input
  std::vector<Expr> conditions;  ///< which taps exist
};

TransposedTaps transposed_taps(const std::vector<WindowAxis>& window, std::size_t i, const Axis& out) {
  const WindowAxis& axis = window[i];
  const Expr from = out + axis.pad_begin;
  TransposedTaps taps;
  if (axis.dilation != 1 && axis.stride != 1) {
    taps.tap = tap_axis(window, i);
    const Expr place = from - taps.tap * axis.dilation;
    taps.kernel = taps.tap;
    taps.place = ir::floor_div(place, axis.stride);
    taps.conditions = {ir::mod(place, Expr(axis.stride)) == Expr(0), ir::in_range(taps.place, axis.input)};
    return taps;
  }
  // With stride 1 every tap meets every position, `dilation` apart; else each class of positions has taps of its own.
  const std::int64_t step = axis.stride == 1 ? axis.dilation : axis.stride;
  WindowAxis own = axis;
  own.kernel = axis.stride == 1 ? axis.kernel : (axis.kernel + step - 1) / step;
  std::vector<WindowAxis> named = window;
  named[i] = own;
  taps.tap = tap_axis(named, i);
  taps.kernel = axis.stride == 1 ? Expr(taps.tap) : ir::mod(from, Expr(step)) + taps.tap * step;
  taps.place = axis.stride == 1 ? from - taps.tap * step : ir::floor_div(from, step) - taps.tap;
  // The condition 0 <= place < input, times the stride.
  const Expr reached = from - taps.tap * step;
  const std::int64_t last = axis.pad_begin + axis.output - 1;
  if (axis.stride > 1 && axis.kernel % step != 0) taps.conditions.push_back(taps.kernel < Expr(axis.kernel));
  if (axis.pad_begin < step * (own.kernel - 1)) taps.conditions.push_back(reached >= 0);
  if (last >= axis.input * axis.stride) taps.conditions.push_back(reached < Expr(axis.input * axis.stride));
  return taps;
}

/// `axes` of the whole result, weights [ic, oc/groups, kernel].
Tensor transposed_sum(const Tensor& in, const Tensor& weight, const std::vector<WindowAxis>& window,
                      const SpatialLayout& layout, std::int64_t groups, const std::string& name) {
  const std::vector<std::int64_t> shape = in.shape();
  const std::int64_t group_ic = shape[layout.channel] / groups, group_oc = weight.shape()[1];
  std::vector<std::int64_t> sizes;
  for (const WindowAxis& axis : window) sizes.push_back(axis.output);
  return ir::compute(
      name, extents(layout.arrange(shape[0], group_oc * groups, sizes)),
      [&](std::span<const Axis> axes) {
        const Axis& oc = axes[layout.channel];
        const Axis ic = ir::reduce("ic", group_ic);
        const Expr from = groups == 1 ? Expr(ic) : ir::floor_div(oc, group_oc) * group_ic + ic;
        std::vector<Axis> reduced{ic};
        std::vector<Expr> conditions, places;
        std::vector<Expr> weight_index{from, groups == 1 ? Expr(oc) : ir::mod(oc, Expr(group_oc))};
        for (std::size_t i = 0; i < window.size(); ++i) {
          const TransposedTaps taps = transposed_taps(window, i, axes[layout.first + i]);
          reduced.push_back(taps.tap);
          weight_index.push_back(taps.kernel);
          places.push_back(taps.place);
          conditions.insert(conditions.end(), taps.conditions.begin(), taps.conditions.end());
        }
        ir::Definition definition =
            ir::sum(in.at(layout.arrange<Expr>(axes[0], from, places)) * weight.at(weight_index), reduced);
        for (const Expr& condition : conditions) definition = std::move(definition).where(condition);
        return definition;
      },
      layout.names("oc"));
}

}  // namespace

ConvTranspose2dShape conv_transpose2d_shape(ConvTranspose2dShape shape) {
  const auto require = [](bool condition, const std::string& what) {
    if (!condition) throw Error(ErrorCode::InvalidArgument, what, "conv_transpose2d");
  };
  require(shape.n > 0 && shape.ic > 0 && shape.oc > 0 && shape.groups > 0, "n, ic, oc and groups must be positive");
  require(shape.ic % shape.groups == 0 && shape.oc % shape.groups == 0,
          "ic=" + std::to_string(shape.ic) + " and oc=" + std::to_string(shape.oc) +
              " are not both multiples of groups=" + std::to_string(shape.groups));
  for (auto [axis, extra] : {std::pair{&shape.y, shape.extra_y}, std::pair{&shape.x, shape.extra_x}}) {
    require(axis->input > 0 && axis->kernel > 0 && axis->stride > 0, "sizes and stride must be positive");
    require(axis->pad_begin >= 0 && axis->pad_end >= 0, "padding must not be negative");
    require(extra >= 0 && extra < axis->stride, "output_padding must be less than the stride");
    axis->output = (axis->input - 1) * axis->stride + axis->kernel + extra - axis->pad_begin - axis->pad_end;
    require(axis->output > 0, "the padding leaves no output");
  }
  return shape;
}

Tensor conv_transpose2d(const ConvTranspose2dShape& s, const Tensor& in, const Tensor& weight,
                        const std::string& name) {
  return transposed_sum(in, weight, {s.y, s.x}, SpatialLayout(s.layout, 4), s.groups, name);
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
  const bool biased = node.has(2);
  const Tensor sum = transposed_sum(in, weight, window, layout, groups, biased ? node.name + "_conv" : node.name);
  if (!biased) return {sum};
  const Tensor& bias = node.input(2);
  if (bias.shape() != std::vector<std::int64_t>{weights[1] * groups})
    invalid(node, "the bias must have one value per output channel");
  return {append_epilogue(sum, {{"bias", {}}}, {bias}, {layout.channel}, node.name)};
}

}  // namespace temper::ops
