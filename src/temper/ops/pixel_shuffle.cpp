#include "temper/ops/pixel_shuffle.h"

#include "temper/ops/window.h"

namespace temper::ops {

using ir::Axis;
using ir::Expr;
using ir::Tensor;

namespace {

std::int64_t block_size(const Node& node) {
  const std::int64_t block = node.attributes->integer("blocksize");
  if (block < 1) invalid(node, "blocksize must be positive");
  if (node.input(0).shape().size() != 4)
    invalid(node, "the input has rank " + std::to_string(node.input(0).shape().size()) + ", not 4");
  return block;
}

}  // namespace

std::vector<Tensor> build_depth_to_space(const Node& node) {
  const Tensor& in = node.input(0);
  const std::vector<std::int64_t> shape = in.shape();
  const std::int64_t block = block_size(node);
  const std::string mode = node.attributes->text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") invalid(node, "mode '" + mode + "' is not known", "expected DCR or CRD");
  const PixelLayout layout(node.layout);
  const std::int64_t channels = shape[layout.channel] / (block * block);
  if (shape[layout.channel] != channels * block * block)
    invalid(node, std::to_string(shape[layout.channel]) + " channels are no multiple of blocksize squared");
  const auto sizes = layout.arrange(shape[0], channels, shape[layout.y] * block, shape[layout.x] * block);
  return {ir::compute(node.name, extents(sizes), [&](std::span<const Axis> axes) {
    const Axis &y = axes[layout.y], &x = axes[layout.x], &c = axes[layout.channel];
    const Expr row = ir::mod(y, Expr(block)), column = ir::mod(x, Expr(block));
    const Expr channel = mode == "DCR" ? (row * block + column) * channels + c : (c * block + row) * block + column;
    return ir::Definition(
        in.at(layout.arrange<Expr>(axes[0], channel, ir::floor_div(y, block), ir::floor_div(x, block))));
  })};
}

std::vector<Tensor> build_space_to_depth(const Node& node) {
  const Tensor& in = node.input(0);
  const std::vector<std::int64_t> shape = in.shape();
  const std::int64_t block = block_size(node);
  const PixelLayout layout(node.layout);
  const std::int64_t height = shape[layout.y] / block, width = shape[layout.x] / block,
                     channels = shape[layout.channel];
  if (height * block != shape[layout.y] || width * block != shape[layout.x])
    invalid(node, "the image is no multiple of blocksize");
  return {ir::compute(node.name, extents(layout.arrange(shape[0], channels * block * block, height, width)),
                      [&](std::span<const Axis> axes) {
                        const Axis& depth = axes[layout.channel];
                        const Expr place = ir::floor_div(depth, channels);
                        const Expr y = axes[layout.y] * block + ir::floor_div(place, block);
                        const Expr x = axes[layout.x] * block + ir::mod(place, Expr(block));
                        return ir::Definition(
                            in.at(layout.arrange<Expr>(axes[0], ir::mod(depth, Expr(channels)), y, x)));
                      })};
}

}  // namespace temper::ops
