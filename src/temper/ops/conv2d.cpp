#include "temper/ops/conv2d.h"

#include "temper/ops/epilogue.h"
#include "temper/ops/indexing.h"
#include "temper/support/error.h"

namespace temper::ops {

using ir::Axis;
using ir::Expr;
using ir::Tensor;

std::vector<std::int64_t> Conv2dShape::input_shape() const {
  const std::int64_t block = channel_block(layout);
  if (block == 0) return PixelLayout(layout).arrange(n, ic, y.input, x.input);
  if (plain_input) return {n, ic, y.input, x.input};
  return {n, ic / block, y.input, x.input, block};
}

std::vector<std::int64_t> Conv2dShape::weight_shape() const {
  const std::int64_t block = channel_block(layout);
  if (block == 0) return {oc, ic / groups, y.kernel, x.kernel};
  if (plain_input) return {oc / block, ic, y.kernel, x.kernel, block};
  if (is_depthwise()) return {oc / block, y.kernel, x.kernel, block};
  return {oc / block, ic / groups / block, y.kernel, x.kernel, block, block};
}

ChannelAxes Conv2dShape::channel_axes() const {
  return SpatialLayout(layout, channel_block(layout) > 0 ? 5 : 4).channels();
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
  if (const std::int64_t block = channel_block(shape.layout); block > 0) {
    const std::string blocks = "blocks of " + std::to_string(block) + " channels";
    const auto whole = [&](std::int64_t channels) { return channels % block == 0; };
    require((shape.plain_input || whole(shape.ic)) && whole(shape.oc),
            "ic=" + std::to_string(shape.ic) + " and oc=" + std::to_string(shape.oc) + " are not both whole " + blocks);
    const bool channelwise = shape.is_depthwise() && shape.oc == shape.ic;
    const bool whole_groups = whole(shape.ic / shape.groups) && whole(shape.oc / shape.groups);
    require(shape.groups == 1 || (!shape.plain_input && (channelwise || whole_groups)),
            blocks + " need one group, groups of whole blocks, or a group for each channel; not groups=" +
                std::to_string(shape.groups));
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
  const std::int64_t block = channel_block(s.layout);
  const std::int64_t group_ic = s.ic / s.groups / block, group_oc = s.oc / s.groups / block;  // blocks
  const Axis kh = ir::reduce("kh", s.y.kernel), kw = ir::reduce("kw", s.x.kernel);
  return ir::define(name, {s.n, s.oc / block, s.y.output, s.x.output, block},
                    [&](Axis n, Axis ocb, Axis y, Axis x, Axis oci) {
                      const Expr iy = s.y.position(y, kh), ix = s.x.position(x, kw);
                      const auto sum = [&](const Expr& term, const std::vector<Axis>& axes) {
                        return inside(ir::sum(term, axes), {s.y, s.x}, {iy, ix});
                      };
                      if (s.plain_input) {
                        const Axis ic = ir::reduce("ic", s.ic);
                        return sum(in(n, ic, iy, ix) * weight(ocb, ic, kh, kw, oci), {ic, kh, kw});
                      }
                      if (s.is_depthwise()) return sum(in(n, ocb, iy, ix, oci) * weight(ocb, kh, kw, oci), {kh, kw});
                      const Axis icb = ir::reduce("icb", group_ic), ici = ir::reduce("ici", block);
                      const Expr from = s.groups == 1 ? Expr(icb) : ir::floor_div(ocb, group_oc) * group_ic + icb;
                      return sum(in(n, from, iy, ix, ici) * weight(ocb, icb, kh, kw, ici, oci), {icb, ici, kh, kw});
                    },
                    {"n", "ocb", "y", "x", "oci"});
}

Conv2dShape blocked_conv2d_shape(const Node& node) {
  const std::vector<std::int64_t> shape = node.input(0).shape(), weights = node.input(1).shape();
  Conv2dShape s;
  s.layout = node.layout;
  s.plain_input = shape.size() == 4;
  s.dtype = node.input(0).dtype();
  s.n = shape[0];
  s.groups = node.attributes->integer("group", 1);
  const std::int64_t block = channel_block(node.layout);
  s.ic = s.plain_input ? shape[1] : shape[1] * block;
  const std::size_t kernel = s.is_depthwise() ? 1 : 2;  // its first axis among those of the weights
  if ((shape.size() != 4 && shape.size() != 5) || weights.size() < kernel + 2)
    invalid(node,
            "the weights " + type_of(node.input(1)).text() + " do not fit an input " + type_of(node.input(0)).text());
  s.oc = weights[0] * block;
  const std::vector<WindowAxis> window =
      window_axes(node, shape, std::vector<std::int64_t>{weights[kernel], weights[kernel + 1]});
  s.y = window[0];
  s.x = window[1];
  if (s.weight_shape() != weights)
    invalid(node, "the weights " + type_of(node.input(1)).text() + " are not in " + std::string(to_string(s.layout)));
  return s;
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

/// The bias in an elementwise stage behind what `convolution` gives the name of its stage.
template <class Convolution>
std::vector<Tensor> biased(const Node& node, const ChannelAxes& channels, const std::vector<std::int64_t>& bias_shape,
                           Convolution&& convolution) {
  if (!node.has(2)) return {convolution(node.name)};
  const Tensor& bias = node.input(2);
  if (bias.shape() != bias_shape) invalid(node, "the bias must have one value per output channel");
  return {append_epilogue(convolution(node.name + "_conv"), {{"bias", {}}}, {bias}, channels, node.name)};
}

std::vector<Tensor> build_blocked(const Node& node) {
  const Conv2dShape s = conv2d_shape(blocked_conv2d_shape(node));
  const std::int64_t block = channel_block(s.layout);
  return biased(node, s.channel_axes(), {s.oc / block, block},
                [&](const std::string& name) { return conv2d_blocked(s, node.input(0), node.input(1), name); });
}

}  // namespace

std::vector<Tensor> build_conv(const Node& node) {
  if (channel_block(node.layout) > 0) return build_blocked(node);
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
  return biased(node, layout.channels(), {weights[0]}, convolution);
}

}  // namespace temper::ops
