#include "temper/ops/pool.h"

#include <functional>
#include <numeric>

#include "temper/ops/indexing.h"
#include "temper/ops/window.h"

namespace temper::ops {

using ir::Axis;
using ir::Definition;
using ir::Expr;
using ir::Tensor;

namespace {

using Reduce = Definition (*)(Expr, std::vector<Axis>);

/// A reduction of an element at some taps, which read the input at `places`.
using ReduceTaps =
    std::function<Definition(const Expr& x, const std::vector<Axis>& taps, const std::vector<Expr>& places)>;

template <Reduce R>
Definition simple(const Expr& x, const std::vector<Axis>& taps, const std::vector<Expr>&) {
  return R(x, taps);
}

Tensor pool(const Node& node, const std::vector<WindowAxis>& window, const std::string& name,
            const ReduceTaps& reduce) {
  const Tensor& in = node.input(0);
  const std::vector<std::int64_t> shape = in.shape();
  const SpatialLayout layout(node.layout, shape.size());
  std::vector<std::int64_t> sizes;
  for (const WindowAxis& axis : window) sizes.push_back(axis.output);
  return ir::compute(
      name, extents(layout.moved(shape, sizes)),
      [&](std::span<const Axis> axes) {
        const auto [taps, places] = window_taps(window, axes.subspan(layout.first, layout.spatial()));
        const Expr element = in.at(layout.moved(as_exprs(axes), places));
        return inside(reduce(element, taps, places), window, places);
      },
      layout.names("c"));
}

/// Number of taps of the window at `out` that count: those inside the input, or inside input and padding.
Expr taps(const WindowAxis& axis, const Expr& out, bool include_padding) {
  const Expr first = out * axis.stride - axis.pad_begin;
  const Expr beyond = Expr(axis.input + (include_padding ? axis.pad_end : 0) - 1) - first;
  const Expr last_tap = ir::min(Expr(axis.kernel - 1), ir::floor_div(beyond, axis.dilation));
  if (include_padding) return last_tap + 1;
  const Expr first_tap = ir::max(Expr(0), ir::floor_div(Expr(axis.dilation - 1) - first, axis.dilation));
  return last_tap - first_tap + 1;
}

/// Whether every window has the same number of counted taps.
bool uniform(const WindowAxis& axis, bool include_padding) {
  const std::int64_t reach = (axis.output - 1) * axis.stride + axis.span() - axis.pad_begin;
  return include_padding ? reach <= axis.input + axis.pad_end : axis.pad_begin == 0 && reach <= axis.input;
}

/// Sums of more terms than this are sums of rows: the error of a sum in f32 grows with the number of terms that are
/// added to one value after the other.
constexpr std::int64_t kLongSum = 128;

/// `in` without the axes in `inner`, which are reduced.
Tensor reduced(const Tensor& in, const std::vector<std::int64_t>& inner, Reduce reduce, const std::string& name,
               const std::vector<std::string>& axis_names) {
  const AxisSplit split = split_axes(in.shape(), inner);
  return ir::compute(
      name, extents(split.outer_shape()),
      [&](std::span<const Axis> outer) {
        const std::vector<Axis> r = split.reduce_axes();
        return reduce(in.at(split.join(as_exprs(outer), as_exprs(r))), r);
      },
      axis_names);
}

/// Reduces all pixel axes; the result keeps them with size 1, after `finish` is applied to each value.
Tensor global_pool(const Node& node, Reduce reduce, bool rows_first,
                   const std::function<Expr(Expr, std::int64_t)>& finish) {
  const Tensor& in = node.input(0);
  const std::vector<std::int64_t> shape = in.shape();
  if (shape.size() < 3) invalid(node, "the input has no pixel axes");
  const SpatialLayout layout(node.layout, shape.size());
  std::vector<std::int64_t> pixels(layout.spatial());
  std::iota(pixels.begin(), pixels.end(), static_cast<std::int64_t>(layout.first));
  const AxisSplit split = split_axes(shape, pixels);
  Tensor rows = in;
  std::vector<std::int64_t> left = pixels;
  if (rows_first && pixels.size() > 1 && split.inner_elements() > kLongSum) {
    rows = reduced(in, {pixels.back()}, reduce, node.name + "_rows", {});
    left.pop_back();
  }
  const std::vector<std::string> names =
      layout.blocks ? std::vector<std::string>{"n", "cb", "ci"} : std::vector<std::string>{"n", "c"};
  const Tensor total = reduced(rows, left, reduce, node.name + "_total", names);
  std::vector<std::int64_t> out = shape;
  for (std::int64_t axis : pixels) out[static_cast<std::size_t>(axis)] = 1;
  return ir::compute(node.name, extents(out), [&](std::span<const Axis> axes) {
    return Definition(finish(total.at(split.outer_of(as_exprs(axes))), split.inner_elements()));
  });
}

/// Places of the maxima, as offsets into the input; row-major, or with the first pixel axis innermost.
Tensor places_of_maxima(const Node& node, const std::vector<WindowAxis>& window) {
  const Tensor& in = node.input(0);
  const std::vector<std::int64_t> shape = in.shape();
  const SpatialLayout layout(node.layout, shape.size());
  const bool column_major = node.attributes->integer("storage_order", 0) != 0;
  const Tensor best = pool(node, window, node.name + "_best",
                           [&](const Expr& x, const std::vector<Axis>& taps, const std::vector<Expr>& places) {
                             Expr offset = column_major ? places.back() : places.front();
                             for (std::size_t i = 1; i < places.size(); ++i) {
                               const std::size_t axis = column_major ? places.size() - 1 - i : i;
                               offset = offset * Expr(shape[layout.first + axis]) + places[axis];
                             }
                             return ir::reduction(ir::argmax_reducer(in.dtype(), ir::DType::I64), {x, offset}, taps);
                           });
  std::int64_t pixels = 1;
  for (const WindowAxis& axis : window) pixels *= axis.input;
  return ir::compute(
      node.name + "_places", extents(best.shape()),
      [&](std::span<const Axis> axes) {
        const Expr image = axes[0] * Expr(shape[layout.channel]) + axes[layout.channel];
        return Definition(image * Expr(pixels) + ir::component(best, 1).at(as_exprs(axes)));
      },
      layout.names("c"));
}

}  // namespace

std::vector<Tensor> build_max_pool(const Node& node) {
  const std::vector<WindowAxis> window = window_axes(node, node.input(0).shape());
  std::vector<Tensor> outputs{pool(node, window, node.name, simple<ir::max_over>)};
  if (node.outputs > 1) outputs.push_back(places_of_maxima(node, window));
  return outputs;
}

namespace {

/// (Σ |x|^p)^(1/p) from the sum, and |x|^p.
struct Norm {
  std::int64_t p;
  explicit Norm(const Node& node) : p(node.attributes->integer("p", 2)) {
    if (p < 1) invalid(node, "p must be positive");
  }
  Expr term(const Expr& x) const {
    return p == 1 ? ir::abs(x) : p == 2 ? x * x : ir::pow(ir::abs(x), ir::literal(static_cast<double>(p), x.dtype()));
  }
  Expr finish(const Expr& sum) const {
    return p == 1 ? sum : p == 2 ? ir::sqrt(sum) : ir::pow(sum, ir::literal(1.0 / static_cast<double>(p), sum.dtype()));
  }
};

}  // namespace

std::vector<Tensor> build_lp_pool(const Node& node) {
  const Norm norm(node);
  const Tensor total = pool(node, window_axes(node, node.input(0).shape()), node.name + "_total",
                            [&](const Expr& x, const std::vector<Axis>& taps, const std::vector<Expr>&) {
                              return ir::sum(norm.term(x), taps);
                            });
  const SpatialLayout layout(node.layout, total.shape().size());
  return {ir::compute(
      node.name, extents(total.shape()),
      [&](std::span<const Axis> axes) { return Definition(norm.finish(total.at(as_exprs(axes)))); },
      layout.names("c"))};
}

std::vector<Tensor> build_average_pool(const Node& node) {
  const std::vector<WindowAxis> window = window_axes(node, node.input(0).shape());
  const bool include_padding = node.attributes->integer("count_include_pad", 0) != 0;
  const Tensor total = pool(node, window, node.name + "_total", simple<ir::sum>);
  const SpatialLayout layout(node.layout, total.shape().size());
  std::int64_t kernel = 1;
  bool all_uniform = true;
  for (const WindowAxis& axis : window) {
    kernel *= axis.kernel;
    all_uniform = all_uniform && uniform(axis, include_padding);
  }
  return {ir::compute(
      node.name, extents(total.shape()),
      [&](std::span<const Axis> axes) {
        const Expr value = total.at(as_exprs(axes));
        if (all_uniform) return Definition(value * ir::literal(1.0 / static_cast<double>(kernel), value.dtype()));
        Expr count = Expr(1);
        for (std::size_t i = 0; i < window.size(); ++i)
          count = count * taps(window[i], axes[layout.first + i], include_padding);
        return Definition(value / ir::cast(count, value.dtype()));
      },
      layout.names("c"))};
}

std::vector<Tensor> build_global_max_pool(const Node& node) {
  return {global_pool(node, ir::max_over, false, [](Expr value, std::int64_t) { return value; })};
}

std::vector<Tensor> build_global_average_pool(const Node& node) {
  return {global_pool(node, ir::sum, true, [](Expr value, std::int64_t count) {
    return value * ir::literal(1.0 / static_cast<double>(count), value.dtype());
  })};
}

}  // namespace temper::ops
