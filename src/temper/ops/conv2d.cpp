#include "temper/ops/conv2d.h"

#include "temper/ops/epilogue.h"
#include "temper/ops/indexing.h"
#include "temper/support/error.h"

namespace temper::ops {

using ir::Axis;
using ir::Expr;
using ir::Tensor;

std::vector<std::int64_t> Conv2dShape::input_shape() const {
  return PixelLayout(layout).arrange(n, ic, y.input, x.input);
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
        ir::Definition definition =
            ir::sum(term, group_ic == 1 ? std::vector<Axis>{kh, kw} : std::vector<Axis>{ic, kh, kw});
        for (const Expr& condition : s.y.conditions(iy)) definition = std::move(definition).where(condition);
        for (const Expr& condition : s.x.conditions(ix)) definition = std::move(definition).where(condition);
        return definition;
      },
      layout.arrange<std::string>("n", "oc", "y", "x"));
}

std::vector<Tensor> build_conv(const Node& node) {
  const Tensor &in = node.input(0), &weight = node.input(1);
  const std::vector<std::int64_t> shape = in.shape(), weights = weight.shape();
  if (weights.size() != 4)
    unsupported(node, "the weights have rank " + std::to_string(weights.size()) +
                          "; only 2-D convolutions (rank 4) are supported");
  Conv2dShape s;
  const auto window = window_axes(node, shape, std::array<std::int64_t, 2>{weights[2], weights[3]});
  s.y = window[0];
  s.x = window[1];
  s.layout = node.layout;
  s.dtype = in.dtype();
  s.n = shape[0];
  s.ic = shape[PixelLayout(node.layout).channel];
  s.oc = weights[0];
  s.groups = node.attributes->integer("group", 1);
  if (s.groups < 1 || s.oc % s.groups != 0 || s.ic != weights[1] * s.groups) {
    invalid(node, "the weights " + type_of(weight).text() + " do not fit " + std::to_string(s.ic) +
                      " input channels in " + std::to_string(s.groups) + " groups");
  }
  if (!node.has(2)) return {conv2d(s, in, weight, node.name)};
  const Tensor& bias = node.input(2);
  if (bias.shape() != std::vector<std::int64_t>{s.oc}) invalid(node, "the bias must have one value per output channel");
  const Tensor product = conv2d(s, in, weight, node.name + "_conv");
  return {append_epilogue(product, {{"bias", {}}}, {bias}, PixelLayout(node.layout).channel, node.name)};
}

}  // namespace temper::ops
