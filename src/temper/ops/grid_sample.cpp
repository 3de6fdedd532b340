#include "temper/ops/grid_sample.h"

#include <array>

#include "temper/ops/indexing.h"

namespace temper::ops {

using ir::Axis;
using ir::Expr;
using ir::Tensor;

namespace {

enum class Outside { Zeros, Border, Reflection };

struct Sampling {
  std::string mode;
  Outside outside = Outside::Zeros;
  bool aligned = false;  ///< -1 and 1 are the centres of the outermost elements, not their edges
};

Expr like(const Expr& x, double value) { return ir::literal(value, x.dtype()); }

/// The element that a place in [-1, 1] means, as a number.
Expr element(const Expr& place, std::int64_t size, bool aligned) {
  const auto extent = static_cast<double>(size);
  if (aligned) return (place + like(place, 1)) * like(place, (extent - 1) / 2);
  return ((place + like(place, 1)) * like(place, extent) - like(place, 1)) * like(place, 0.5);
}

/// Mirrored at both ends until it lies between them.
Expr reflected(const Expr& x, std::int64_t size, bool aligned) {
  const double low = aligned ? 0 : -0.5, high = static_cast<double>(size) - (aligned ? 1 : 0.5), range = high - low;
  if (range == 0) return like(x, 0);
  const Expr distance = ir::abs(x - like(x, low));
  const Expr turns = ir::floor(distance * like(x, 1 / range));
  const Expr rest = distance - turns * like(x, range);
  const Expr is_even = turns - like(x, 2) * ir::floor(turns * like(x, 0.5)) < like(x, 0.5);
  return ir::select(is_even, like(x, low) + rest, like(x, high) - rest);
}

Expr inside(const Expr& x, std::int64_t size, const Sampling& s) {
  const Expr last = like(x, static_cast<double>(size - 1));
  if (s.outside == Outside::Zeros) return x;
  const Expr mirrored = s.outside == Outside::Reflection ? reflected(x, size, s.aligned) : x;
  return ir::min(ir::max(mirrored, like(x, 0)), last);
}

/// One element along an axis that contributes: its index, its weight, and whether it exists (empty: always).
struct Tap {
  Expr index, weight, exists;
};

Tap tap(const Expr& place, const Expr& weight, std::int64_t size, const Sampling& s) {
  const Expr whole = ir::cast(inside(place, size, s), ir::DType::I64);
  Tap result{ir::min(ir::max(whole, 0), Expr(size - 1)), weight, Expr()};
  if (s.outside == Outside::Zeros) result.exists = whole >= 0 && whole < Expr(size);
  return result;
}

std::vector<Tap> taps(const Expr& x, std::int64_t size, const Sampling& s) {
  if (s.mode == "nearest") return {tap(ir::unary(ir::UnaryOp::Round, inside(x, size, s)), Expr(), size, s)};
  if (s.mode == "linear") {
    const Expr at = inside(x, size, s), base = ir::floor(at), rest = at - base;
    return {tap(base, like(x, 1) - rest, size, s), tap(base + like(x, 1), rest, size, s)};
  }
  // Keys, "Cubic convolution interpolation for digital image processing", 1981, with a = -0.75.
  constexpr double a = -0.75;
  const Expr base = ir::floor(x), rest = x - base;
  const auto near = [&](const Expr& d) { return ((like(x, a + 2) * d - like(x, a + 3)) * d) * d + like(x, 1); };
  const auto far = [&](const Expr& d) {
    return ((like(x, a) * d - like(x, 5 * a)) * d + like(x, 8 * a)) * d - like(x, 4 * a);
  };
  const Expr one = like(x, 1), two = like(x, 2);
  return {tap(base - one, far(rest + one), size, s), tap(base, near(rest), size, s),
          tap(base + one, near(one - rest), size, s), tap(base + two, far(two - rest), size, s)};
}

Sampling read_attributes(const Node& node, std::size_t pixel_axes) {
  Sampling s;
  s.mode = node.attributes->text("mode", "linear");
  if (s.mode == "bilinear") s.mode = "linear";  // the names up to opset 19
  if (s.mode == "bicubic") s.mode = "cubic";
  if (s.mode != "nearest" && s.mode != "linear" && s.mode != "cubic")
    invalid(node, "mode '" + s.mode + "' is not known", "expected nearest, linear or cubic");
  if (s.mode == "cubic" && pixel_axes != 2) unsupported(node, "cubic interpolation along other than two axes");
  const std::string padding = node.attributes->text("padding_mode", "zeros");
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    invalid(node, "padding_mode '" + padding + "' is not known", "expected zeros, border or reflection");
  s.outside = padding == "zeros" ? Outside::Zeros : padding == "border" ? Outside::Border : Outside::Reflection;
  s.aligned = node.attributes->integer("align_corners", 0) != 0;
  return s;
}

}  // namespace

std::vector<Tensor> build_grid_sample(const Node& node) {
  const Tensor &in = node.input(0), &grid = node.input(1);
  const std::vector<std::int64_t> shape = in.shape(), places = grid.shape();
  if (!ir::is_float(in.dtype()) || !ir::is_float(grid.dtype())) unsupported(node, "integers");
  if (shape.size() < 3 || shape.size() > 5) unsupported(node, "other than one to three pixel axes");
  const std::size_t pixels = shape.size() - 2;
  if (places.size() != shape.size() || places[0] != shape[0] || places.back() != static_cast<std::int64_t>(pixels))
    invalid(node, "the grid " + type_of(grid).text() + " does not fit the input " + type_of(in).text());
  const Sampling s = read_attributes(node, pixels);
  std::vector<std::int64_t> out{shape[0], shape[1]};
  out.insert(out.end(), places.begin() + 1, places.end() - 1);
  return {ir::compute(node.name, extents(out), [&](std::span<const Axis> axes) {
    const std::vector<Expr> index = as_exprs(axes);
    std::vector<Expr> at{index[0]};
    at.insert(at.end(), index.begin() + 2, index.end());
    std::vector<std::vector<Tap>> choices;
    for (std::size_t d = 0; d < pixels; ++d) {
      std::vector<Expr> coordinate = at;
      coordinate.emplace_back(static_cast<std::int64_t>(pixels - 1 - d));  // the grid names the last axis first
      choices.push_back(taps(element(grid.at(coordinate), shape[2 + d], s.aligned), shape[2 + d], s));
    }
    // The sum over all combinations of taps.
    Expr sum;
    std::vector<std::size_t> chosen(pixels, 0);
    while (true) {
      std::vector<Expr> from{index[0], index[1]};
      Expr weight, exists;
      for (std::size_t d = 0; d < pixels; ++d) {
        const Tap& t = choices[d][chosen[d]];
        from.push_back(t.index);
        if (t.weight) weight = weight ? weight * t.weight : t.weight;
        if (t.exists) exists = exists ? exists && t.exists : t.exists;
      }
      Expr value = in.at(from);
      if (exists) value = ir::select(exists, value, ir::literal(0, in.dtype()));
      if (weight) value = value * ir::cast(weight, in.dtype());
      sum = sum ? sum + value : value;
      std::size_t digit = pixels;
      while (digit > 0 && ++chosen[digit - 1] == choices[digit - 1].size()) chosen[--digit] = 0;
      if (digit == 0) break;
    }
    return ir::Definition(sum);
  })};
}

}  // namespace temper::ops
