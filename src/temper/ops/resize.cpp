#include "temper/ops/resize.h"

#include <cmath>
#include <numeric>
#include <optional>

#include "temper/ops/indexing.h"

namespace temper::ops {

using ir::Expr;
using ir::Tensor;

namespace {

/// Output position `i` reads input coordinate (a·i + b) / den.
struct Coordinate {
  std::int64_t a = 1, b = 0, den = 1;
  Expr numerator(const Expr& i) const { return i * Expr(a) + Expr(b); }
};

struct ResizedAxis {
  std::int64_t from = 1, to = 1;
  std::int64_t p = 1, q = 1;  ///< scale = p / q
};

/// The fraction with a denominator of at most 256 that is closest to `scale`, if it is as close as f32 rounding
/// allows.
std::optional<std::pair<std::int64_t, std::int64_t>> as_fraction(double scale) {
  for (std::int64_t q = 1; q <= 256; ++q) {
    const double p = std::round(scale * static_cast<double>(q));
    if (p >= 1 && std::abs(p / static_cast<double>(q) - scale) <= 1.2e-7 * scale)
      return std::pair{static_cast<std::int64_t>(p), q};
  }
  return std::nullopt;
}

Coordinate coordinate(const Node& node, const std::string& mode, const ResizedAxis& axis) {
  if (mode == "asymmetric") return {axis.q, 0, axis.p};
  if (mode == "align_corners") {
    if (axis.to == 1) return {0, 0, 1};
    return {axis.from - 1, 0, axis.to - 1};
  }
  if (mode == "pytorch_half_pixel" && axis.to == 1) return {0, 0, 1};
  if (mode == "half_pixel" || mode == "pytorch_half_pixel") return {2 * axis.q, axis.q - axis.p, 2 * axis.p};
  unsupported(node, "coordinate_transformation_mode '" + mode + "' is not supported");
}

std::int64_t floor_division(std::int64_t a, std::int64_t b) { return a / b - ((a % b != 0 && a < 0) ? 1 : 0); }

/// floor((scale·numerator + shift) / divisor), clamped into the input only where it can leave it.
Expr source(const Coordinate& c, const ResizedAxis& axis, const Expr& i, std::int64_t scale, std::int64_t shift,
            std::int64_t divisor) {
  const auto at = [&](std::int64_t place) { return floor_division(scale * (c.a * place + c.b) + shift, divisor); };
  Expr index = ir::floor_div(i * Expr(scale * c.a) + Expr(scale * c.b + shift), Expr(divisor));
  if (at(0) < 0) index = ir::max(index, 0);
  if (at(axis.to - 1) > axis.from - 1) index = ir::min(index, Expr(axis.from - 1));
  return index;
}

Expr nearest(const Node& node, const std::string& rounding, const Coordinate& c, const ResizedAxis& axis,
             const Expr& i) {
  if (rounding == "floor") return source(c, axis, i, 1, 0, c.den);
  if (rounding == "ceil") return source(c, axis, i, 1, c.den - 1, c.den);
  if (rounding == "round_prefer_floor") return source(c, axis, i, 2, c.den - 1, 2 * c.den);
  if (rounding == "round_prefer_ceil") return source(c, axis, i, 2, c.den, 2 * c.den);
  invalid(node, "nearest_mode '" + rounding + "' is not known");
}

std::vector<ResizedAxis> resized_axes(const Node& node) {
  const std::vector<std::int64_t> from = node.input(0).shape();
  const bool upsample = node.op == "Upsample";
  const std::size_t scales_input = upsample || node.opset < 11 ? 1 : 2;
  std::vector<double> scales;
  std::vector<std::int64_t> sizes;
  if (upsample && node.opset < 9) {
    scales = node.attributes->numbers("scales", {});
  } else if (node.has(3) && node.opset >= 11) {
    sizes = node.value(3).integers();
  }
  if (sizes.empty() && scales.empty()) scales = node.value(scales_input).numbers();
  std::vector<std::int64_t> which(from.size());
  std::iota(which.begin(), which.end(), 0);
  which = node.attributes->integers("axes", which);
  if ((sizes.empty() ? scales.size() : sizes.size()) != which.size())
    invalid(node, "sizes or scales must have one value for each resized axis");
  std::vector<ResizedAxis> axes(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) axes[i].from = axes[i].to = from[i];
  for (std::size_t i = 0; i < which.size(); ++i) {
    ResizedAxis& axis = axes[static_cast<std::size_t>(normalise_axis(node, which[i], from.size()))];
    if (!sizes.empty()) {
      axis.to = sizes[i];
      axis.p = axis.to;
      axis.q = axis.from;
    } else {
      const auto fraction = as_fraction(scales[i]);
      if (!fraction)
        unsupported(node, "the scale " + std::to_string(scales[i]) + " is not a simple fraction",
                    "export the model with sizes instead of scales");
      std::tie(axis.p, axis.q) = *fraction;
      axis.to = axis.from * axis.p / axis.q;
    }
    if (axis.to < 1) invalid(node, "a size of the result is not positive");
    const std::int64_t divisor = std::gcd(axis.p, axis.q);
    axis.p /= divisor;
    axis.q /= divisor;
  }
  return axes;
}

}  // namespace

std::vector<Tensor> build_resize(const Node& node) {
  const Attributes& attributes = *node.attributes;
  const bool old = node.op == "Upsample" || node.opset < 11;
  const std::string mode = attributes.text("mode", "nearest");
  const std::string transformation =
      old ? "asymmetric" : attributes.text("coordinate_transformation_mode", "half_pixel");
  const std::string rounding = old ? "floor" : attributes.text("nearest_mode", "round_prefer_floor");
  if (attributes.integer("antialias", 0) != 0) unsupported(node, "antialias is not supported");
  if (attributes.text("keep_aspect_ratio_policy", "stretch") != "stretch")
    unsupported(node, "only keep_aspect_ratio_policy 'stretch' is supported");
  if (mode != "nearest" && mode != "linear")
    unsupported(node, "mode '" + mode + "' is not supported", "supported are nearest and linear");
  const Tensor& in = node.input(0);
  if (mode == "linear" && !ir::is_float(in.dtype())) unsupported(node, "linear interpolation of integers");
  const std::vector<ResizedAxis> resized = resized_axes(node);
  std::vector<std::int64_t> shape;
  for (const ResizedAxis& axis : resized) shape.push_back(axis.to);
  return {ir::compute(node.name, extents(shape), [&](std::span<const ir::Axis> axes) {
    // Each axis contributes one source index (nearest) or two with weights (linear); the value is the sum over all
    // pairs.
    struct Term {
      std::vector<Expr> index;
      Expr weight;  ///< empty: 1
    };
    std::vector<Term> terms{{}};
    for (std::size_t d = 0; d < axes.size(); ++d) {
      const ResizedAxis& axis = resized[d];
      const Expr i = axes[d];
      if (axis.from == axis.to && axis.p == axis.q) {
        for (Term& term : terms) term.index.push_back(i);
        continue;
      }
      const Coordinate c = coordinate(node, transformation, axis);
      if (mode == "nearest") {
        const Expr place = nearest(node, rounding, c, axis, i);
        for (Term& term : terms) term.index.push_back(place);
        continue;
      }
      const Expr whole = ir::floor_div(c.numerator(i), Expr(c.den));
      const Expr fraction = ir::cast(c.numerator(i) - whole * Expr(c.den), in.dtype()) *
                            ir::literal(1.0 / static_cast<double>(c.den), in.dtype());
      const Expr low = source(c, axis, i, 1, 0, c.den), high = source(c, axis, i, 1, c.den, c.den);
      std::vector<Term> doubled;
      for (const Term& term : terms) {
        for (int side = 0; side < 2; ++side) {
          Term next = term;
          next.index.push_back(side == 0 ? low : high);
          const Expr weight = side == 0 ? ir::literal(1, in.dtype()) - fraction : fraction;
          next.weight = next.weight.get() == nullptr ? weight : next.weight * weight;
          doubled.push_back(std::move(next));
        }
      }
      terms = std::move(doubled);
    }
    Expr value;
    for (const Term& term : terms) {
      Expr element = in.at(term.index);
      if (term.weight.get() != nullptr) element = element * term.weight;
      value = value.get() == nullptr ? element : value + element;
    }
    return ir::Definition(value);
  })};
}

}  // namespace temper::ops
