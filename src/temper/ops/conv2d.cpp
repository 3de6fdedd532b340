#include "temper/ops/conv2d.h"

#include "temper/ops/epilogue.h"
#include "temper/ops/indexing.h"
#include "temper/support/error.h"

namespace temper::ops {

using ir::Axis;
using ir::Expr;
using ir::Tensor;

std::vector<std::int64_t> Conv2dShape::input_shape() const {
  if (channel_block > 0) return {n, ic / channel_block, y.input, x.input, channel_block};
  return PixelLayout(layout).arrange(n, ic, y.input, x.input);
}

std::vector<std::int64_t> Conv2dShape::weight_shape() const {
  if (channel_block > 0)
    return {oc / channel_block, ic / channel_block, y.kernel, x.kernel, channel_block, channel_block};
  return {oc, ic / groups, y.kernel, x.kernel};
}

std::string Conv2dShape::layout_text() const {
  return channel_block > 0 ? "nchw" + std::to_string(channel_block) + "c" : std::string(to_string(layout));
}

Conv2dShape conv2d_shape(Conv2dShape shape) {
  const auto require = [](bool condition, const std::string& what) {
    if (!condition) throw Error(ErrorCode::InvalidArgument, what, "conv2d");
  };
  require(shape.n > 0 && shape.ic > 0 && shape.oc > 0 && shape.groups > 0, "n, ic, oc and groups must be positive");
  require(shape.ic % shape.groups == 0,
          "ic=" + std::to_string(shape.ic) + " is not a multiple of groups=" + std::to_string(shape.groups));
  require(shape.oc % shape.groups == 0,
          "oc=" + std::to_string(shape.oc) + " is not a multiple of groups=" + std::to_string(shape.groups));
  if (shape.channel_block > 0) {
    const std::string block = "blocks of " + std::to_string(shape.channel_block) + " channels";
    require(shape.groups == 1, block + " need groups=1");
    require(shape.ic % shape.channel_block == 0 && shape.oc % shape.channel_block == 0,
            "ic=" + std::to_string(shape.ic) + " and oc=" + std::to_string(shape.oc) + " are not both whole " + block);
  }
  for (WindowAxis* axis : {&shape.y, &shape.x}) {
    require(axis->input > 0 && axis->kernel > 0 && axis->stride > 0 && axis->dilation > 0,
            "sizes, stride and dilation must be positive");
    require(axis->pad_begin >= 0 && axis->pad_end >= 0, "padding must not be negative");
    require(axis->input + axis->pad_begin + axis->pad_end >= axis->span(),
            "the kernel spans " + std::to_string(axis->span()) + " but the padded input has " +
                std::to_string(axis->input + axis->pad_begin + axis->pad_end));
    axis->set_output(false);
  }
  return shape;
}

Tensor conv2d(const Conv2dShape& s, const Tensor& in, const Tensor& weight, const std::string& name) {
  const PixelLayout layout(s.layout);
  const std::int64_t group_ic = s.ic / s.groups, group_oc = s.oc / s.groups;
  const Axis ic = ir::reduce("ic", group_ic), kh = ir::reduce("kh", s.y.kernel), kw = ir::reduce("kw", s.x.kernel);
  return ir::compute(
      name, extents(layout.arrange(s.n, s.oc, s.y.output, s.x.output)),
      [&](std::span<const Axis> axes) {
        const Axis &n = axes[0], &oc = axes[layout.channel], &y = axes[layout.y], &x = axes[layout.x];
        const Expr iy = s.y.position(y, kh), ix = s.x.position(x, kw);
        const Expr within = group_ic == 1 ? Expr(0) : Expr(ic);
        const Expr channel = s.groups == 1 ? within : ir::floor_div(oc, group_oc) * group_ic + within;
        const Expr term = in.at(layout.arrange<Expr>(n, channel, iy, ix)) * weight(oc, within, kh, kw);
        return inside(ir::sum(term, group_ic == 1 ? std::vector<Axis>{kh, kw} : std::vector<Axis>{ic, kh, kw}),
                      {s.y, s.x}, {iy, ix});
      },
      layout.arrange<std::string>("n", "oc", "y", "x"));
}

Tensor conv2d_blocked(const Conv2dShape& s, const Tensor& in, const Tensor& weight, const std::string& name) {
  const std::int64_t block = s.channel_block;
  const Axis icb = ir::reduce("icb", s.ic / block), ici = ir::reduce("ici", block);
  const Axis kh = ir::reduce("kh", s.y.kernel), kw = ir::reduce("kw", s.x.kernel);
  return ir::define(name, {s.n, s.oc / block, s.y.output, s.x.output, block},
                    [&](Axis n, Axis ocb, Axis y, Axis x, Axis oci) {
                      const Expr iy = s.y.position(y, kh), ix = s.x.position(x, kw);
                      const Expr term = in(n, icb, iy, ix, ici) * weight(ocb, icb, kh, kw, ici, oci);
                      return inside(ir::sum(term, {icb, ici, kh, kw}), {s.y, s.x}, {iy, ix});
                    },
                    {"n", "ocb", "y", "x", "oci"});
}

namespace {

/// Any number of spatial axes, channels first.
Tensor conv_nd(const Node& node, const std::vector<WindowAxis>& window, std::int64_t groups, const std::string& name) {
  const Tensor &in = node.input(0), &weight = node.input(1);
  const std::vector<std::int64_t> shape = in.shape(), weights = weight.shape();
  const SpatialLayout layout(Layout::Nchw, shape.size());
  const std::int64_t group_ic = weights[1], group_oc = weights[0] / groups;
  std::vector<std::int64_t> sizes;
  for (const WindowAxis& axis : window) sizes.push_back(axis.output);
  return ir::compute(
      name, extents(layout.arrange(shape[0], weights[0], sizes)),
      [&](std::span<const Axis> axes) {
        const Axis ic = ir::reduce("ic", group_ic);
        const auto [taps, places] = window_taps(window, axes.subspan(layout.first));
        std::vector<Axis> reduced{ic};
        reduced.insert(reduced.end(), taps.begin(), taps.end());
        std::vector<Expr> weight_index{Expr(axes[1]), Expr(ic)};
        weight_index.insert(weight_index.end(), taps.begin(), taps.end());
        const Expr channel = groups == 1 ? Expr(ic) : ir::floor_div(axes[1], group_oc) * group_ic + ic;
        const Expr term = in.at(layout.arrange<Expr>(axes[0], channel, places)) * weight.at(weight_index);
        return inside(ir::sum(term, reduced), window, places);
      },
      layout.names("oc"));
}

}  // namespace

std::vector<Tensor> build_conv(const Node& node) {
  const Tensor &in = node.input(0), &weight = node.input(1);
  const std::vector<std::int64_t> shape = in.shape(), weights = weight.shape();
  if (weights.size() != shape.size() || weights.size() < 3)
    invalid(node, "the weights " + type_of(weight).text() + " do not fit an input " + type_of(in).text());
  const std::vector<WindowAxis> window = window_axes(node, shape, std::vector(weights.begin() + 2, weights.end()));
  const SpatialLayout layout(node.layout, shape.size());
  const std::int64_t channels = shape[layout.channel], groups = node.attributes->integer("group", 1);
  if (groups < 1 || weights[0] % groups != 0 || channels != weights[1] * groups) {
    invalid(node, "the weights " + type_of(weight).text() + " do not fit " + std::to_string(channels) +
                      " input channels in " + std::to_string(groups) + " groups");
  }
  const auto convolution = [&](const std::string& name) {
    if (shape.size() != 4) return conv_nd(node, window, groups, name);
    Conv2dShape s;
    s.y = window[0];
    s.x = window[1];
    s.layout = node.layout;
    s.dtype = in.dtype();
    s.n = shape[0];
    s.ic = channels;
    s.oc = weights[0];
    s.groups = groups;
    return conv2d(s, in, weight, name);
  };
  if (!node.has(2)) return {convolution(node.name)};
  const Tensor& bias = node.input(2);
  if (bias.shape() != std::vector<std::int64_t>{weights[0]})
    invalid(node, "the bias must have one value per output channel");
  const Tensor product = convolution(node.name + "_conv");
  return {append_epilogue(product, {{"bias", {}}}, {bias}, layout.channel, node.name)};
}

}  // namespace temper::ops
