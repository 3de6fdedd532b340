#include "temper/ops/pad.h"

#include <numeric>

#include "temper/ops/indexing.h"

namespace temper::ops {

using ir::Expr;
using ir::Tensor;

namespace {

Expr clamp(const Expr& e, std::int64_t size) { return ir::min(ir::max(e, 0), Expr(size - 1)); }

/// Where an element of the border comes from, for the modes that read the input.
Expr source(const Node& node, const std::string& mode, const Expr& place, std::int64_t size) {
  if (mode == "edge") return clamp(place, size);
  if (mode == "wrap") return ir::mod(place, Expr(size));
  if (mode != "reflect") invalid(node, "mode '" + mode + "' is not known", "expected constant, edge, reflect or wrap");
  if (size == 1) return Expr(0);
  // Reflection without repeating the edge has the period 2(size - 1).
  const Expr phase = ir::mod(place, Expr(2 * (size - 1)));
  // The outer bound is implied; it lets the verifier see that the read is inside.
  return ir::min(ir::min(phase, Expr(2 * (size - 1)) - phase), Expr(size - 1));
}

}  // namespace

std::vector<Tensor> build_pad(const Node& node) {
  const Tensor& in = node.input(0);
  const std::vector<std::int64_t> from = in.shape();
  const std::string mode = node.attributes->text("mode", "constant");
  const std::vector<std::int64_t> pads = node.opset < 11 ? node.attributes->integers("pads") : node.value(1).integers();
  std::vector<std::int64_t> axes(from.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (node.has(3)) axes = node.value(3).integers();
  if (pads.size() != 2 * axes.size())
    invalid(node, "'pads' needs two values for each of the " + std::to_string(axes.size()) + " axes");
  std::vector<std::int64_t> shape = from, begin(from.size(), 0), end(from.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(normalise_axis(node, axes[i], from.size()));
    begin[axis] = pads[i];
    end[axis] = pads[i + axes.size()];
    shape[axis] = from[axis] + begin[axis] + end[axis];
    if (shape[axis] < 0) invalid(node, "axis " + std::to_string(axis) + " would have a negative size");
    if (from[axis] == 0 && shape[axis] > 0) unsupported(node, "an empty axis cannot be padded");
  }
  const Operand* fill = node.opset >= 11 && node.has(2) ? &node.inputs[2] : nullptr;
  return {ir::compute(node.name, extents(shape), [&](std::span<const ir::Axis> axes_of_out) {
    std::vector<Expr> index = as_exprs(axes_of_out);
    Expr inside;
    for (std::size_t i = 0; i < index.size(); ++i) {
      const Expr place = index[i] - begin[i];
      if ((begin[i] <= 0 && end[i] <= 0) || mode == "constant") index[i] = place;
      if (begin[i] <= 0 && end[i] <= 0) continue;
      if (mode == "constant") {
        const Expr condition = ir::in_range(place, from[i]);
        inside = inside.get() == nullptr ? condition : inside && condition;
      } else {
        index[i] = source(node, mode, place, from[i]);
      }
    }
    const Expr element = in.at(index);
    if (inside.get() == nullptr) return ir::Definition(element);
    const Expr value =
        fill != nullptr ? broadcast_read(*fill, {}) : ir::literal(node.attributes->number("value", 0), in.dtype());
    return ir::Definition(ir::select(inside, element, value));
  })};
}

}  // namespace temper::ops
