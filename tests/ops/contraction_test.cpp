// MatMul, Gemm and Conv against loops written by hand.
#include <gmock/gmock.h>

#include "ops/harness.h"
#include "temper/ops/matmul.h"

namespace temper::ops::testing {
namespace {

using ::testing::HasSubstr;

Array product(const Array& a, const Array& b) {
  return fill({a.shape[0], b.shape[1]}, [&](const Shape& i) {
    double sum = 0;
    for (std::int64_t k = 0; k < a.shape[1]; ++k) sum += a.at({i[0], k}) * b.at({k, i[1]});
    return sum;
  });
}
Array transposed(const Array& a) {
  return fill({a.shape[1], a.shape[0]}, [&](const Shape& i) { return a.at({i[1], i[0]}); });
}

TEST(MatMul, TwoMatrices) {
  const Array a = random_array({3, 5}, 1), b = random_array({5, 4}, 2);
  expect_near(run({"MatMul", {unknown(a), known(b)}})[0], product(a, b), "3x5x4");
}

TEST(MatMul, BroadcastsBatches) {
  const Array a = random_array({2, 1, 3, 4}, 1), b = random_array({5, 4, 2}, 2);
  const Array wanted = fill({2, 5, 3, 2}, [&](const Shape& i) {
    double sum = 0;
    for (std::int64_t k = 0; k < 4; ++k) sum += a.at({i[0], 0, i[2], k}) * b.at({i[1], k, i[3]});
    return sum;
  });
  expect_near(run({"MatMul", {unknown(a), unknown(b)}})[0], wanted, "batches");
}

TEST(MatMul, Vectors) {
  const Array v = random_array({4}, 1), m = random_array({4, 3}, 2), w = random_array({4}, 3);
  double dot = 0;
  for (std::int64_t k = 0; k < 4; ++k) dot += v.at({k}) * w.at({k});
  expect_near(run({"MatMul", {unknown(v), unknown(w)}})[0], {{}, {dot}}, "dot product");
  const Array row = fill({3}, [&](const Shape& i) {
    double sum = 0;
    for (std::int64_t k = 0; k < 4; ++k) sum += v.at({k}) * m.at({k, i[0]});
    return sum;
  });
  expect_near(run({"MatMul", {unknown(v), unknown(m)}})[0], row, "vector by matrix");
  const Array t = transposed(m);
  expect_near(run({"MatMul", {unknown(t), unknown(v)}})[0], row, "matrix by vector");
}

TEST(MatMul, RefusesDifferentInnerSizes) {
  EXPECT_EQ(build_error({"MatMul", {unknown(random_array({3, 5}, 1)), unknown(random_array({4, 2}, 2))}}),
            "invalid_model: the inner sizes differ: f32[3,5] and f32[4,2] give 5 and 4 (MatMul)");
}

TEST(MatMul, TransposedOperands) {
  const Array a = random_array({3, 5}, 1), b = random_array({5, 4}, 2), wanted = product(a, b);
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const Array sa = ta ? transposed(a) : a, sb = tb ? transposed(b) : b;
      const ir::Tensor pa = ir::placeholder("A", extents(sa.shape)), pb = ir::placeholder("B", extents(sb.shape));
      const ir::Compute compute = ir::make_compute({matmul(pa, pb, "C", ta, tb)});
      ir::verify(compute);
      const TensorValue va = TensorValue::from_numbers({ir::DType::F32, sa.shape}, sa.values);
      const TensorValue vb = TensorValue::from_numbers({ir::DType::F32, sb.shape}, sb.values);
      ir::Oracle oracle(compute, {{"A", *va.bytes}, {"B", *vb.bytes}});
      expect_near({{3, 4}, oracle.all(*compute.outputs[0])}, wanted, "transposed");
    }
  }
}

TEST(Gemm, EveryTransposeScaleAndBias) {
  const Array a = random_array({3, 5}, 1), b = random_array({5, 4}, 2);
  for (const Shape& c_shape : {Shape{4}, Shape{3, 1}, Shape{3, 4}, Shape{}, Shape{1, 4}}) {
    const Array c = random_array(c_shape, 3), ab = product(a, b);
    for (int bits = 0; bits < 4; ++bits) {
      const Array wanted = fill({3, 4}, [&](const Shape& i) {
        Shape at;
        for (std::size_t d = 0; d < c_shape.size(); ++d) {
          at.push_back(c_shape[d] == 1 ? 0 : i[i.size() - c_shape.size() + d]);
        }
        return 0.5 * ab.at(i) + 2 * c.at(at);
      });
      expect_near(
          run({"Gemm",
               {unknown((bits & 1) != 0 ? transposed(a) : a), known((bits & 2) != 0 ? transposed(b) : b), known(c)},
               attributes(
                   {{"transA", i64(bits & 1)}, {"transB", i64((bits & 2) / 2)}, {"alpha", 0.5}, {"beta", 2.0}})})[0],
          wanted, "bits " + std::to_string(bits));
    }
  }
  expect_near(run({"Gemm", {unknown(a), known(b)}})[0], product(a, b), "no bias");
}

TEST(Gemm, RefusesBiasThatDoesNotBroadcast) {
  EXPECT_THAT(build_error({"Gemm",
                           {unknown(random_array({3, 5}, 1)), unknown(random_array({5, 4}, 2)),
                            unknown(random_array({5, 3, 4}, 2))}}),
              HasSubstr("C of shape f32[5,3,4] does not broadcast to f32[3,4]"));
}

struct ConvCase {
  std::int64_t n, ic, h, w, oc, kh, kw, sy, sx, pt, pl, pb, pr, dy, dx, groups;
};

Array to_nhwc(const Array& a) {
  return fill({a.shape[0], a.shape[2], a.shape[3], a.shape[1]},
              [&](const Shape& i) { return a.at({i[0], i[3], i[1], i[2]}); });
}

/// The defining loops, in NCHW.
Array convolve(const ConvCase& c, const Array& in, const Array& weight, const Array* bias) {
  const std::int64_t oh = (c.h + c.pt + c.pb - ((c.kh - 1) * c.dy + 1)) / c.sy + 1;
  const std::int64_t ow = (c.w + c.pl + c.pr - ((c.kw - 1) * c.dx + 1)) / c.sx + 1;
  return fill({c.n, c.oc, oh, ow}, [&](const Shape& i) {
    double sum = bias == nullptr ? 0 : bias->at({i[1]});
    const std::int64_t per_group = c.ic / c.groups, group = i[1] / (c.oc / c.groups);
    for (std::int64_t ic = 0; ic < per_group; ++ic) {
      for (std::int64_t ky = 0; ky < c.kh; ++ky) {
        for (std::int64_t kx = 0; kx < c.kw; ++kx) {
          const std::int64_t y = i[2] * c.sy + ky * c.dy - c.pt, x = i[3] * c.sx + kx * c.dx - c.pl;
          if (y < 0 || y >= c.h || x < 0 || x >= c.w) continue;
          sum += in.at({i[0], group * per_group + ic, y, x}) * weight.at({i[1], ic, ky, kx});
        }
      }
    }
    return sum;
  });
}

TEST(Conv, RandomGeometriesInBothLayouts) {
  RandomStream random(7);
  for (int trial = 0; trial < 60; ++trial) {
    ConvCase c{};
    c.n = random.uniform_int(1, 2);
    c.groups = random.uniform_int(1, 3);
    const bool depthwise = random.chance(0.3);
    c.ic = c.groups * (depthwise ? 1 : random.uniform_int(1, 3));
    c.oc = c.groups * random.uniform_int(1, 3);
    c.kh = random.uniform_int(1, 3);
    c.kw = random.uniform_int(1, 3);
    c.sy = random.uniform_int(1, 3);
    c.sx = random.uniform_int(1, 3);
    c.dy = random.uniform_int(1, 2);
    c.dx = random.uniform_int(1, 2);
    c.h = random.uniform_int(5, 8);
    c.w = random.uniform_int(5, 8);
    c.pt = random.uniform_int(0, 2);
    c.pl = random.uniform_int(0, 2);
    c.pb = random.uniform_int(0, 2);
    c.pr = random.uniform_int(0, 2);
    const auto seed = static_cast<std::uint64_t>(trial);
    const Array in = random_array({c.n, c.ic, c.h, c.w}, 3 * seed),
                weight = random_array({c.oc, c.ic / c.groups, c.kh, c.kw}, 3 * seed + 1),
                bias = random_array({c.oc}, 3 * seed + 2);
    const bool with_bias = random.chance(0.5);
    const Array wanted = convolve(c, in, weight, with_bias ? &bias : nullptr);
    const Attributes a = attributes({{"strides", list({c.sy, c.sx})},
                                     {"pads", list({c.pt, c.pl, c.pb, c.pr})},
                                     {"dilations", list({c.dy, c.dx})},
                                     {"group", c.groups},
                                     {"kernel_shape", list({c.kh, c.kw})}});
    for (const Layout layout : {Layout::Nchw, Layout::Nhwc}) {
      std::vector<Input> inputs{unknown(layout == Layout::Nchw ? in : to_nhwc(in)), known(weight)};
      if (with_bias) inputs.push_back(known(bias));
      expect_near(run({"Conv", inputs, a, 21, layout})[0], layout == Layout::Nchw ? wanted : to_nhwc(wanted),
                  "trial " + std::to_string(trial) + " " + std::string(to_string(layout)));
    }
  }
}

TEST(Conv, PredicatesOnlyWhereTheyCanFail) {
  const auto conditions = [](std::int64_t pad, std::int64_t stride) {
    Built built({"Conv",
                 {unknown(random_array({1, 2, 8, 8}, 1)), known(random_array({3, 2, 3, 3}, 2))},
                 attributes({{"pads", list({pad, pad, pad, pad})}, {"strides", list({stride, stride})}})});
    return build(built.node())[0].stage()->where.size();
  };
  EXPECT_EQ(conditions(0, 1), 0U);
  EXPECT_EQ(conditions(1, 1), 4U);
  EXPECT_EQ(conditions(1, 2), 2U) << "the last window of stride 2 ends inside the input";
}

TEST(Conv, AutoPadKeepsTheSize) {
  const Array in = random_array({1, 2, 5, 6}, 1), weight = random_array({3, 2, 4, 2}, 2);
  const ConvCase upper{1, 2, 5, 6, 3, 4, 2, 1, 1, 1, 0, 2, 1, 1, 1, 1},
      lower{1, 2, 5, 6, 3, 4, 2, 1, 1, 2, 1, 1, 0, 1, 1, 1};
  expect_near(run({"Conv", {unknown(in), known(weight)}, attributes({{"auto_pad", std::string("SAME_UPPER")}})})[0],
              convolve(upper, in, weight, nullptr), "SAME_UPPER");
  expect_near(run({"Conv", {unknown(in), known(weight)}, attributes({{"auto_pad", std::string("SAME_LOWER")}})})[0],
              convolve(lower, in, weight, nullptr), "SAME_LOWER");
}

TEST(Conv, ErrorsNameWhatDoesNotFit) {
  const Input in = unknown(random_array({1, 4, 8, 8}, 1));
  EXPECT_EQ(build_error({"Conv", {in, known(random_array({3, 2, 3, 3}, 2))}}),
            "invalid_model: the weights f32[3,2,3,3] do not fit 4 input channels in 1 groups (Conv)");
  EXPECT_EQ(build_error({"Conv", {in, known(random_array({3, 4, 9, 3}, 2))}}),
            "invalid_model: the kernel is larger than the padded input (Conv)");
  EXPECT_EQ(build_error({"Conv", {unknown(random_array({1, 4, 8}, 1)), known(random_array({3, 4, 3, 3}, 2))}}),
            "invalid_model: the weights f32[3,4,3,3] do not fit an input f32[1,4,8] (Conv)");
  EXPECT_EQ(build_error({"Conv", {in, known(random_array({3, 4, 3, 3}, 2))}, attributes({{"strides", list({1})}})}),
            "invalid_model: attribute 'strides' has 1 values, not 2 (Conv)");
  EXPECT_EQ(build_error({"Conv", {in}}), "invalid_model: it has 1 inputs (Conv)");
}

/// Every input element scattered over the output, in NCHW.
Array scatter(const ConvCase& c, std::int64_t oh, std::int64_t ow, const Array& in, const Array& weight,
              const Array* bias) {
  Array out = fill({c.n, c.oc, oh, ow}, [&](const Shape& i) { return bias == nullptr ? 0 : bias->at({i[1]}); });
  const std::int64_t group_ic = c.ic / c.groups, group_oc = c.oc / c.groups;
  for (std::int64_t n = 0; n < c.n; ++n) {
    for (std::int64_t ic = 0; ic < c.ic; ++ic) {
      for (std::int64_t oc = 0; oc < group_oc; ++oc) {
        for (std::int64_t y = 0; y < c.h; ++y) {
          for (std::int64_t x = 0; x < c.w; ++x) {
            for (std::int64_t ky = 0; ky < c.kh; ++ky) {
              for (std::int64_t kx = 0; kx < c.kw; ++kx) {
                const std::int64_t oy = y * c.sy + ky * c.dy - c.pt, ox = x * c.sx + kx * c.dx - c.pl;
                if (oy < 0 || oy >= oh || ox < 0 || ox >= ow) continue;
                const std::int64_t channel = ic / group_ic * group_oc + oc;
                out.values[static_cast<std::size_t>(((n * c.oc + channel) * oh + oy) * ow + ox)] +=
                    in.at({n, ic, y, x}) * weight.at({ic, oc, ky, kx});
              }
            }
          }
        }
      }
    }
  }
  return out;
}

TEST(ConvTranspose, RandomGeometriesInBothLayouts) {
  RandomStream random(8);
  for (int trial = 0; trial < 60; ++trial) {
    ConvCase c{};
    c.n = random.uniform_int(1, 2);
    c.groups = random.uniform_int(1, 2);
    c.ic = c.groups * random.uniform_int(1, 3);
    c.oc = c.groups * random.uniform_int(1, 3);
    c.kh = random.uniform_int(1, 4);
    c.kw = random.uniform_int(1, 4);
    c.sy = random.uniform_int(1, 3);
    c.sx = random.uniform_int(1, 3);
    c.dy = random.uniform_int(1, 2);
    c.dx = random.uniform_int(1, 2);
    c.h = random.uniform_int(2, 5);
    c.w = random.uniform_int(2, 5);
    c.pt = random.uniform_int(0, 1);
    c.pl = random.uniform_int(0, 1);
    c.pb = random.uniform_int(0, 1);
    c.pr = random.uniform_int(0, 1);
    const std::int64_t extra_y = random.uniform_int(0, c.sy - 1), extra_x = random.uniform_int(0, c.sx - 1);
    const std::int64_t oh = (c.h - 1) * c.sy + (c.kh - 1) * c.dy + 1 + extra_y - c.pt - c.pb,
                       ow = (c.w - 1) * c.sx + (c.kw - 1) * c.dx + 1 + extra_x - c.pl - c.pr;
    if (oh < 1 || ow < 1) continue;
    const auto seed = static_cast<std::uint64_t>(trial);
    const Array in = random_array({c.n, c.ic, c.h, c.w}, 3 * seed),
                weight = random_array({c.ic, c.oc / c.groups, c.kh, c.kw}, 3 * seed + 1),
                bias = random_array({c.oc}, 3 * seed + 2);
    const bool with_bias = random.chance(0.5);
    const Array wanted = scatter(c, oh, ow, in, weight, with_bias ? &bias : nullptr);
    const Attributes a = attributes({{"strides", list({c.sy, c.sx})},
                                     {"pads", list({c.pt, c.pl, c.pb, c.pr})},
                                     {"dilations", list({c.dy, c.dx})},
                                     {"output_padding", list({extra_y, extra_x})},
                                     {"group", c.groups}});
    for (const Layout layout : {Layout::Nchw, Layout::Nhwc}) {
      std::vector<Input> inputs{unknown(layout == Layout::Nchw ? in : to_nhwc(in)), known(weight)};
      if (with_bias) inputs.push_back(known(bias));
      expect_near(run({"ConvTranspose", inputs, a, 21, layout})[0], layout == Layout::Nchw ? wanted : to_nhwc(wanted),
                  "trial " + std::to_string(trial) + " " + std::string(to_string(layout)));
    }
  }
}

TEST(ConvTranspose, OutputShapeAndAutoPadDecideThePadding) {
  const Array in = random_array({1, 2, 3, 4}, 1), weight = random_array({2, 3, 3, 3}, 2);
  const auto pads = [](std::int64_t top, std::int64_t left) {
    return ConvCase{1, 2, 3, 4, 3, 3, 3, 2, 2, top, left, 0, 0, 1, 1, 1};
  };
  const auto strides = std::pair<std::string, Attributes::Value>{"strides", list({2, 2})};
  expect_near(run({"ConvTranspose",
                   {unknown(in), known(weight)},
                   attributes({strides, {"auto_pad", std::string("SAME_UPPER")}})})[0],
              scatter(pads(0, 0), 6, 8, in, weight, nullptr), "SAME_UPPER");
  expect_near(run({"ConvTranspose",
                   {unknown(in), known(weight)},
                   attributes({strides, {"auto_pad", std::string("SAME_LOWER")}})})[0],
              scatter(pads(1, 1), 6, 8, in, weight, nullptr), "SAME_LOWER");
  expect_near(
      run({"ConvTranspose", {unknown(in), known(weight)}, attributes({strides, {"output_shape", list({5, 8})}})})[0],
      scatter(pads(1, 1), 5, 8, in, weight, nullptr), "output_shape");
}

TEST(ConvTranspose, ErrorsNameWhatDoesNotFit) {
  const Input in = unknown(random_array({1, 4, 8, 8}, 1));
  EXPECT_EQ(build_error({"ConvTranspose", {in, known(random_array({3, 2, 3, 3}, 2))}}),
            "invalid_model: the weights f32[3,2,3,3] do not fit 4 input channels in 1 groups (ConvTranspose)");
  EXPECT_EQ(
      build_error(
          {"ConvTranspose", {in, known(random_array({4, 2, 3, 3}, 2))}, attributes({{"pads", list({9, 9, 9, 9})}})}),
      "invalid_model: the padding leaves no output (ConvTranspose)");
  EXPECT_EQ(build_error({"ConvTranspose", {unknown(random_array({1, 4}, 1)), known(random_array({4, 3}, 2))}}),
            "unsupported: input and weights have ranks 2 and 2; one to three spatial axes (rank 3 to 5) are supported "
            "(ConvTranspose)");
}

}  // namespace
}  // namespace temper::ops::testing
