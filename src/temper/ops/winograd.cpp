#include "temper/ops/winograd.h"

#include <functional>

#include "temper/support/error.h"

namespace temper::ops {

using ir::Axis;
using ir::Expr;
using ir::Tensor;

namespace {

using Values = std::vector<Expr>;

/// The one-dimensional transforms of F(m, 3), on m + 2 inputs, 3 weights and m + 2 products. Common terms are written
/// once: lowering computes equal expressions once.
struct Transforms {
  Values (*input)(const Values& d);
  Values (*filter)(const Values& g);
  Values (*output)(const Values& p);
};

Values input_2(const Values& d) { return {d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3]}; }
Values filter_2(const Values& g) {
  const Expr ends = (g[0] + g[2]) * 0.5F, middle = g[1] * 0.5F;
  return {g[0], ends + middle, ends - middle, g[2]};
}
Values output_2(const Values& p) { return {p[0] + p[1] + p[2], p[1] - p[2] - p[3]}; }

Values input_4(const Values& d) {
  const Expr even = d[2] * -4.0F + d[4], odd = d[1] * -4.0F + d[3];
  const Expr outer = d[4] - d[2], inner = d[3] - d[1];
  return {d[2] * -5.0F + (d[0] * 4.0F + d[4]), even + odd, even - odd, inner * 2.0F + outer, inner * -2.0F + outer,
          d[3] * -5.0F + (d[1] * 4.0F + d[5])};
}
Values filter_4(const Values& g) {
  const Expr ends = (g[0] + g[2]) * (-1.0F / 6), middle = g[1] * (1.0F / 6);
  const Expr far = g[0] * (1.0F / 24) + g[2] * (1.0F / 6), near = g[1] * (1.0F / 12);
  return {g[0] * 0.25F, ends - middle, ends + middle, far + near, far - near, g[2]};
}
Values output_4(const Values& p) {
  const Expr sum1 = p[1] + p[2], difference1 = p[1] - p[2], sum2 = p[3] + p[4], difference2 = p[3] - p[4];
  return {p[0] + sum1 + sum2, difference2 * 2.0F + difference1, sum2 * 4.0F + sum1,
          difference2 * 8.0F + difference1 + p[5]};
}

Transforms transforms_of(int m) {
  if (m == 2) return {input_2, filter_2, output_2};
  TEMPER_CHECK(m == 4, "F(m, 3) is known for m = 2 and m = 4");
  return {input_4, filter_4, output_4};
}

/// `values[index]`. A schedule that unrolls the index leaves no condition.
Expr choose(const Expr& index, const Values& values) {
  Expr out = values.back();
  for (std::size_t i = values.size() - 1; i-- > 0;)
    out = ir::select(index == Expr(static_cast<std::int64_t>(i)), values[i], out);
  return out;
}

/// The values of `at(0)` to `at(count - 1)`.
Values each(int count, const std::function<Expr(Expr)>& at) {
  Values out;
  for (int i = 0; i < count; ++i) out.push_back(at(Expr(i)));
  return out;
}

}  // namespace

bool is_minimal_filtering_shape(const Conv2dShape& s) {
  const auto plain = [](const WindowAxis& axis) { return axis.kernel == 3 && axis.stride == 1 && axis.dilation == 1; };
  return plain(s.y) && plain(s.x) && s.groups == 1 && channel_block(s.layout) == 0 && s.dtype == ir::DType::F32;
}

bool minimal_filtering_may_pay(const Conv2dShape& s, int m) {
  constexpr std::int64_t kFewestChannels = 8;
  if (!is_minimal_filtering_shape(s) || s.ic < kFewestChannels || s.oc < kFewestChannels) return false;
  const auto covered = [&](std::int64_t outputs) { return (outputs + m - 1) / m * m; };
  return covered(s.y.output) * covered(s.x.output) < 2 * s.y.output * s.x.output;
}

Tensor minimal_filtering_conv2d(const Conv2dShape& s, const Tensor& in, const Tensor& weight, int m,
                                const std::string& name) {
  TEMPER_CHECK(is_minimal_filtering_shape(s), "minimal filtering of a convolution that is not 3x3 with stride 1");
  const Transforms transforms = transforms_of(m);
  const PixelLayout layout(s.layout);
  const std::int64_t size = m + 2;
  const int a = m + 2;
  const std::int64_t rows = (s.y.output + m - 1) / m, columns = (s.x.output + m - 1) / m;
  const std::int64_t tiles = s.n * rows * columns;

  const Tensor patch = ir::define(name + "_patch", {size, size, tiles, s.ic},
                                  [&](Axis i, Axis j, Axis t, Axis c) {
                                    const Expr image = s.n == 1 ? Expr(0) : ir::floor_div(t, rows * columns);
                                    const Expr row = ir::floor_div(t, columns);
                                    const Expr y =
                                        s.y.position((s.n == 1 ? row : ir::mod(row, rows)) * std::int64_t{m}, i);
                                    const Expr x = s.x.position(ir::mod(t, columns) * std::int64_t{m}, j);
                                    const Expr element = in.at(layout.arrange<Expr>(image, c, y, x));
                                    return ir::select(ir::in_range(y, s.y.input) && ir::in_range(x, s.x.input), element,
                                                      ir::literal(0, in.dtype()));
                                  },
                                  {"i", "j", "t", "ic"});
  const Tensor patch_rows =
      ir::define(name + "_patch_rows", {size, size, tiles, s.ic},
                 [&](Axis i, Axis j, Axis t, Axis c) {
                   return choose(i, transforms.input(each(a, [&](Expr k) { return patch(k, j, t, c); })));
                 },
                 {"i", "j", "t", "ic"});
  const Tensor transformed =
      ir::define(name + "_transformed", {size, size, tiles, s.ic},
                 [&](Axis i, Axis j, Axis t, Axis c) {
                   return choose(j, transforms.input(each(a, [&](Expr k) { return patch_rows(i, k, t, c); })));
                 },
                 {"i", "j", "t", "ic"});

  const Tensor filter_rows =
      ir::define(name + "_filter_rows", {size, 3, s.ic, s.oc},
                 [&](Axis i, Axis kw, Axis c, Axis o) {
                   return choose(i, transforms.filter(each(3, [&](Expr kh) { return weight(o, c, kh, kw); })));
                 },
                 {"i", "kw", "ic", "oc"});
  const Tensor filter =
      ir::define(name + "_filter", {size, size, s.ic, s.oc},
                 [&](Axis i, Axis j, Axis c, Axis o) {
                   return choose(j, transforms.filter(each(3, [&](Expr kw) { return filter_rows(i, kw, c, o); })));
                 },
                 {"i", "j", "ic", "oc"});

  const Tensor product = ir::define(name + "_product", {size, size, tiles, s.oc},
                                    [&](Axis i, Axis j, Axis t, Axis o) {
                                      const Axis c = ir::reduce("ic", s.ic);
                                      return ir::sum(transformed(i, j, t, c) * filter(i, j, c, o), {c});
                                    },
                                    {"i", "j", "t", "oc"});
  const Tensor product_rows =
      ir::define(name + "_rows", {m, size, tiles, s.oc},
                 [&](Axis p, Axis j, Axis t, Axis o) {
                   return choose(p, transforms.output(each(a, [&](Expr k) { return product(k, j, t, o); })));
                 },
                 {"p", "j", "t", "oc"});
  return ir::compute(
      name, extents(layout.arrange(s.n, s.oc, s.y.output, s.x.output)),
      [&](std::span<const Axis> axes) {
        const Axis &n = axes[0], &o = axes[layout.channel], &y = axes[layout.y], &x = axes[layout.x];
        const Expr row = ir::floor_div(y, m), column = ir::floor_div(x, m);
        const Expr t = ((s.n == 1 ? Expr(0) : Expr(n)) * rows + row) * columns + column;
        return ir::Definition(choose(
            ir::mod(x, m), transforms.output(each(a, [&](Expr k) { return product_rows(ir::mod(y, m), k, t, o); }))));
      },
      layout.arrange<std::string>("n", "oc", "y", "x"));
}

}  // namespace temper::ops
