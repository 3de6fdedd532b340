// Operators that move elements, against loops written by hand.
#include <gmock/gmock.h>

#include <limits>
#include <map>
#include <numeric>

#include "ops/harness.h"

namespace temper::ops::testing {
namespace {

using ::testing::HasSubstr;

Array counted(const Shape& shape) {
  Array array = fill(shape, [](const Shape&) { return 0; });
  std::iota(array.values.begin(), array.values.end(), 0);
  return array;
}
Array reshaped(Array array, const Shape& shape) {
  array.shape = shape;
  return array;
}

TEST(Transpose, Permutations) {
  const Array in = counted({2, 3, 4});
  expect_near(run({"Transpose", {unknown(in)}, attributes({{"perm", list({2, 0, 1})}})})[0],
              fill({4, 2, 3}, [&](const Shape& i) { return in.at({i[1], i[2], i[0]}); }), "perm");
  expect_near(run({"Transpose", {unknown(in)}})[0],
              fill({4, 3, 2}, [&](const Shape& i) { return in.at({i[2], i[1], i[0]}); }), "reversed");
  EXPECT_THAT(build_error({"Transpose", {unknown(in)}, attributes({{"perm", list({0, 0, 1})}})}),
              HasSubstr("not a permutation of the 3 axes"));
}

TEST(Reshape, KeepsTheRowMajorOrder) {
  const std::vector<std::pair<Shape, Shape>> cases{
      {{2, 3, 4}, {6, 4}},       {{6, 4}, {2, 3, 4}},    {{2, 3, 4}, {4, 3, 2}}, {{2, 6, 5}, {2, 2, 3, 5}},
      {{24}, {2, 3, 4}},         {{1, 1, 7}, {7}},       {{7}, {1, 7, 1}},       {{}, {1, 1}},
      {{1, 2, 1, 3}, {2, 3, 1}}, {{3, 4, 5, 2}, {6, 20}}};
  for (const auto& [from, to] : cases) {
    const Array in = counted(from);
    expect_near(run({"Reshape", {unknown(in), known(vector_of(to))}})[0], reshaped(in, to), "reshape");
  }
}

TEST(Reshape, AxesOfBothSidesMapToThemselves) {
  Built built({"Reshape", {unknown(counted({2, 12, 5})), known(vector_of({2, 3, 4, 5}))}});
  EXPECT_EQ(ir::print(build(built.node())[0].stage()->body[0]), "in0[i0, i1 * 4 + i2, i3]");
}

TEST(Reshape, CopiedAndInferredSizes) {
  const Array in = counted({2, 3, 4});
  expect_near(run({"Reshape", {unknown(in), known(vector_of({0, -1}))}})[0], reshaped(in, {2, 12}), "0 and -1");
  const Input data = unknown(in);
  EXPECT_EQ(build_error({"Reshape", {data, known(vector_of({5, -1}))}}),
            "invalid_model: 24 elements cannot be divided into groups of 5 (Reshape)");
  EXPECT_EQ(build_error({"Reshape", {data, known(vector_of({-1, -1}))}}),
            "invalid_model: the shape has two unknown sizes (Reshape)");
  EXPECT_EQ(build_error({"Reshape", {data, known(vector_of({5, 5}))}}),
            "invalid_model: f32[2,3,4] cannot be reshaped to f32[5,5] (Reshape)");
}

TEST(Reshape, FlattenSqueezeUnsqueezeIdentity) {
  const Array in = counted({2, 1, 3, 1});
  expect_near(run({"Flatten", {unknown(in)}})[0], reshaped(in, {2, 3}), "Flatten");
  expect_near(run({"Flatten", {unknown(in)}, attributes({{"axis", i64(0)}})})[0], reshaped(in, {1, 6}), "Flatten 0");
  expect_near(run({"Flatten", {unknown(in)}, attributes({{"axis", i64(4)}})})[0], reshaped(in, {6, 1}), "Flatten 4");
  expect_near(run({"Squeeze", {unknown(in)}})[0], reshaped(in, {2, 3}), "Squeeze");
  expect_near(run({"Squeeze", {unknown(in), known(vector_of({-1}))}})[0], reshaped(in, {2, 1, 3}), "Squeeze -1");
  expect_near(run({"Squeeze", {unknown(in)}, attributes({{"axes", list({1})}}), 11})[0], reshaped(in, {2, 3, 1}),
              "Squeeze 1");
  expect_near(run({"Unsqueeze", {unknown(in), known(vector_of({0, -1}))}})[0], reshaped(in, {1, 2, 1, 3, 1, 1}),
              "Unsqueeze");
  expect_near(run({"Unsqueeze", {unknown(in)}, attributes({{"axes", list({1})}}), 11})[0],
              reshaped(in, {2, 1, 1, 3, 1}), "Unsqueeze 1");
  expect_near(run({"Identity", {unknown(in)}})[0], in, "Identity");
  expect_near(run({"Dropout", {unknown(in)}})[0], in, "Dropout");
  EXPECT_EQ(build_error({"Squeeze", {unknown(in), known(vector_of({2}))}}),
            "invalid_model: axis 2 has size 3, not 1 (Squeeze)");
}

TEST(Concat, AlongEachAxis) {
  for (std::int64_t axis = 0; axis < 3; ++axis) {
    std::vector<Array> parts;
    std::vector<Input> inputs;
    Shape total{2, 3, 2};
    total[static_cast<std::size_t>(axis)] = 0;
    for (const std::int64_t size : {2, 1, 0, 3}) {
      Shape shape{2, 3, 2};
      shape[static_cast<std::size_t>(axis)] = size;
      total[static_cast<std::size_t>(axis)] += size;
      parts.push_back(random_array(shape, static_cast<std::uint64_t>(size)));
      inputs.push_back(unknown(parts.back()));
    }
    const Array wanted = fill(total, [&](Shape i) {
      std::int64_t& place = i[static_cast<std::size_t>(axis)];
      for (const Array& part : parts) {
        const std::int64_t size = part.shape[static_cast<std::size_t>(axis)];
        if (place < size) return part.at(i);
        place -= size;
      }
      return 0.0;
    });
    expect_near(run({"Concat", inputs, attributes({{"axis", axis - 3}})})[0], wanted, "axis " + std::to_string(axis));
  }
  EXPECT_EQ(
      build_error({"Concat", {unknown(counted({2, 3})), unknown(counted({3, 3}))}, attributes({{"axis", i64(1)}})}),
      "invalid_model: input 1 of type f32[3,3] does not fit f32[2,3] (Concat)");
}

/// Python's range(size)[start:end:step], except that stepping backwards from before the first element starts at the
/// first (ONNX clamps `start` to [0, size - 1]).
std::vector<std::int64_t> python_slice(std::int64_t size, std::int64_t start, std::int64_t end, std::int64_t step) {
  std::vector<std::int64_t> places;
  const auto wrap = [&](std::int64_t v) { return v < 0 ? v + size : v; };
  if (step > 0) {
    for (std::int64_t i = std::max<std::int64_t>(0, wrap(start)); i < std::min(size, wrap(end)); i += step)
      places.push_back(i);
  } else {
    const std::int64_t stop = end < -size ? -1 : wrap(end);
    for (std::int64_t i = std::max<std::int64_t>(0, std::min(size - 1, wrap(start))); i > stop && i >= 0; i += step)
      places.push_back(i);
  }
  return places;
}

TEST(Slice, RandomRangesAndSteps) {
  RandomStream random(5);
  for (int trial = 0; trial < 200; ++trial) {
    const Array in = counted({4, 7});
    const std::int64_t start = random.uniform_int(-9, 9), end = random.uniform_int(-9, 9);
    const std::int64_t step = random.chance(0.5) ? random.uniform_int(1, 3) : -random.uniform_int(1, 3);
    const std::vector<std::int64_t> places = python_slice(7, start, end, step);
    const Array wanted = fill({4, static_cast<std::int64_t>(places.size())},
                              [&](const Shape& i) { return in.at({i[0], places[static_cast<std::size_t>(i[1])]}); });
    const std::string what = std::to_string(start) + ":" + std::to_string(end) + ":" + std::to_string(step);
    expect_near(run({"Slice",
                     {unknown(in), known(vector_of({start})), known(vector_of({end})), known(vector_of({1})),
                      known(vector_of({step}))}})[0],
                wanted, what);
  }
}

TEST(Slice, ExtremesAndAttributes) {
  const Array in = counted({5});
  const std::int64_t most = std::numeric_limits<std::int32_t>::max(), least = -most;
  expect_near(run({"Slice",
                   {unknown(in), known(vector_of({-1})), known(vector_of({least})), known(vector_of({0})),
                    known(vector_of({-1}))}})[0],
              {{5}, {4, 3, 2, 1, 0}}, "reverse");
  expect_near(run({"Slice", {unknown(in)}, attributes({{"starts", list({1})}, {"ends", list({most})}}), 9})[0],
              {{4}, {1, 2, 3, 4}}, "attributes");
  EXPECT_EQ(build_error({"Slice",
                         {unknown(in), known(vector_of({1})), known(vector_of({2})), known(vector_of({0})),
                          known(vector_of({0}))}}),
            "invalid_model: a step is 0 (Slice)");
}

TEST(Split, EqualGivenAndUneven) {
  const Array in = counted({2, 7});
  const auto part = [&](std::int64_t begin, std::int64_t size) {
    return fill({2, size}, [&](const Shape& i) { return in.at({i[0], begin + i[1]}); });
  };
  const auto expect_parts = [&](const Case& c, const std::vector<std::int64_t>& sizes) {
    const auto outputs = run(c);
    ASSERT_EQ(outputs.size(), sizes.size());
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < sizes.size(); begin += sizes[i++])
      expect_near(outputs[i], part(begin, sizes[i]), "part");
  };
  expect_parts({"Split", {unknown(in), known(vector_of({2, 5}))}, attributes({{"axis", i64(1)}}), 13, Layout::Nchw, 2},
               {2, 5});
  expect_parts(
      {"Split", {unknown(in)}, attributes({{"axis", i64(-1)}, {"split", list({3, 3, 1})}}), 11, Layout::Nchw, 3},
      {3, 3, 1});
  expect_parts({"Split", {unknown(in)}, attributes({{"axis", i64(1)}, {"num_outputs", i64(2)}}), 18, Layout::Nchw, 2},
               {4, 3});
  EXPECT_EQ(
      build_error(
          {"Split", {unknown(in), known(vector_of({2, 4}))}, attributes({{"axis", i64(1)}}), 13, Layout::Nchw, 2}),
      "invalid_model: the parts do not add up to the size 7 of axis 1 (Split)");
}

TEST(Pad, EveryMode) {
  const Array in = counted({2, 4});
  const auto place = [](const std::string& mode, std::int64_t i, std::int64_t size) -> std::int64_t {
    if (i >= 0 && i < size) return i;
    if (mode == "edge") return i < 0 ? 0 : size - 1;
    if (mode == "wrap") return ((i % size) + size) % size;
    while (i < 0 || i >= size) i = i < 0 ? -i : 2 * (size - 1) - i;
    return i;
  };
  const std::vector<std::int64_t> pads{1, 3, 0, 2};
  for (const std::string mode : {"constant", "edge", "reflect", "wrap"}) {
    const Array wanted = fill({3, 9}, [&](const Shape& i) {
      const std::int64_t y = i[0] - 1, x = i[1] - 3;
      if (mode == "constant" && (y < 0 || x < 0 || x >= 4)) return 7.0;
      return in.at({place(mode, y, 2), place(mode, x, 4)});
    });
    expect_near(run({"Pad", {unknown(in), known(vector_of(pads)), known({{}, {7}})}, attributes({{"mode", mode}})})[0],
                wanted, mode);
  }
  expect_near(run({"Pad", {unknown(in)}, attributes({{"pads", list({0, 1, 0, 0})}, {"value", 2.0}}), 2})[0],
              {{2, 5}, {2, 0, 1, 2, 3, 2, 4, 5, 6, 7}}, "attributes");
  expect_near(run({"Pad", {unknown(in), known(vector_of({-1, 0, 0, -2}))}})[0], {{1, 2}, {4, 5}}, "cropping");
  expect_near(run({"Pad", {unknown(in), known(vector_of({-1, 1})), absent(), known(vector_of({1}))}})[0],
              {{2, 4}, {1, 2, 3, 0, 5, 6, 7, 0}}, "axes, both at once");
}

TEST(Expand, BroadcastsBothWays) {
  const Array in = counted({3, 1});
  expect_near(run({"Expand", {unknown(in), known(vector_of({2, 1, 4}))}})[0],
              fill({2, 3, 4}, [&](const Shape& i) { return in.at({i[1], 0}); }), "Expand");
  expect_near(run({"Expand", {unknown(in), known(vector_of({1}))}})[0], in, "Expand to less");
}

TEST(Tile, Repeats) {
  const Array in = counted({2, 3});
  expect_near(run({"Tile", {unknown(in), known(vector_of({2, 3}))}})[0],
              fill({4, 9}, [&](const Shape& i) { return in.at({i[0] % 2, i[1] % 3}); }), "Tile");
}

TEST(Gather, KnownAndComputedIndices) {
  const Array in = counted({4, 5, 2});
  const auto expect_gather = [&](const Array& indices, std::int64_t axis) {
    const auto d = static_cast<std::size_t>(axis);
    Shape shape(in.shape.begin(), in.shape.begin() + axis);
    shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
    shape.insert(shape.end(), in.shape.begin() + axis + 1, in.shape.end());
    const Array wanted = fill(shape, [&](const Shape& i) {
      Shape at(i.begin(), i.begin() + axis);
      const Shape which(i.begin() + axis, i.begin() + axis + static_cast<std::ptrdiff_t>(indices.shape.size()));
      const auto place = static_cast<std::int64_t>(indices.at(which));
      at.push_back(place < 0 ? place + in.shape[d] : place);
      at.insert(at.end(), i.begin() + axis + static_cast<std::ptrdiff_t>(indices.shape.size()), i.end());
      return in.at(at);
    });
    for (const bool is_known : {false, true}) {
      expect_near(
          run({"Gather", {unknown(in), is_known ? known(indices) : unknown(indices)}, attributes({{"axis", axis}})})[0],
          wanted, "axis " + std::to_string(axis));
    }
  };
  expect_gather(vector_of({1, 3, -1, 0}), 1);
  expect_gather(vector_of({4, 2, 0}), 1);
  expect_gather(vector_of({3}), 0);
  expect_gather(integers({}, {-2}), 1);
  expect_gather(integers({2, 2}, {0, 1, 1, 0}, ir::DType::I32), 2);
  EXPECT_EQ(build_error({"Gather", {unknown(in), known(vector_of({4}))}}),
            "invalid_model: index 4 is outside axis 0 of size 4 (Gather)");
}

TEST(Gather, ArithmeticProgressionsAreAffine) {
  Built built({"Gather", {unknown(counted({8})), known(vector_of({1, 3, 5}))}});
  EXPECT_EQ(ir::print(build(built.node())[0].stage()->body[0]), "in0[i0 * 2 + 1]");
}

/// The coordinate formulas of ONNX in floating point, for one axis.
double onnx_coordinate(const std::string& mode, std::int64_t i, std::int64_t from, std::int64_t to, double scale) {
  const auto x = static_cast<double>(i);
  if (mode == "asymmetric") return x / scale;
  if (mode == "align_corners") return to == 1 ? 0 : x * static_cast<double>(from - 1) / static_cast<double>(to - 1);
  if (mode == "pytorch_half_pixel" && to == 1) return 0;
  return (x + 0.5) / scale - 0.5;
}

TEST(Resize, NearestAndLinearByScalesAndSizes) {
  const Array in = random_array({1, 2, 5, 6}, 1);
  struct Target {
    std::int64_t h, w;
  };
  for (const std::string mode : {"asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners"}) {
    for (const Target t : {Target{10, 18}, Target{7, 4}, Target{1, 6}, Target{15, 3}}) {
      const double sy = static_cast<double>(t.h) / 5, sx = static_cast<double>(t.w) / 6;
      const Input sizes = known(vector_of({1, 2, t.h, t.w}));
      const auto clamp = [](double v, std::int64_t size) {
        return static_cast<std::int64_t>(std::fmin(std::fmax(v, 0), static_cast<double>(size - 1)));
      };
      const Array linear = fill({1, 2, t.h, t.w}, [&](const Shape& i) {
        const double y = onnx_coordinate(mode, i[2], 5, t.h, sy), x = onnx_coordinate(mode, i[3], 6, t.w, sx);
        // Exact fractions may differ from ours by a rounding right at a pixel; both sides then agree in value.
        const double y0 = std::floor(y + 1e-12), x0 = std::floor(x + 1e-12), fy = y - y0, fx = x - x0;
        const auto v = [&](double yy, double xx) { return in.at({i[0], i[1], clamp(yy, 5), clamp(xx, 6)}); };
        return (1 - fy) * ((1 - fx) * v(y0, x0) + fx * v(y0, x0 + 1)) +
               fy * ((1 - fx) * v(y0 + 1, x0) + fx * v(y0 + 1, x0 + 1));
      });
      expect_near(run({"Resize",
                       {unknown(in), absent(), absent(), sizes},
                       attributes({{"mode", std::string("linear")}, {"coordinate_transformation_mode", mode}})})[0],
                  linear, mode + " linear");
      const std::map<std::string, std::function<double(double)>> roundings{
          {"floor", [](double v) { return std::floor(v + 1e-9); }},
          {"ceil", [](double v) { return std::ceil(v - 1e-9); }},
          {"round_prefer_floor", [](double v) { return std::ceil(v - 0.5 - 1e-9); }},
          {"round_prefer_ceil", [](double v) { return std::floor(v + 0.5 + 1e-9); }}};
      for (const auto& [name, rounding] : roundings) {
        const Array nearest = fill({1, 2, t.h, t.w}, [&](const Shape& i) {
          return in.at({i[0], i[1], clamp(rounding(onnx_coordinate(mode, i[2], 5, t.h, sy)), 5),
                        clamp(rounding(onnx_coordinate(mode, i[3], 6, t.w, sx)), 6)});
        });
        expect_near(run({"Resize",
                         {unknown(in), absent(), absent(), sizes},
                         attributes({{"nearest_mode", name}, {"coordinate_transformation_mode", mode}})})[0],
                    nearest, mode + " " + name);
      }
    }
  }
}

TEST(Resize, OldFormsAndIntegerScales) {
  const Array in = counted({1, 1, 2, 2});
  const Array doubled{{1, 1, 4, 4}, {0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3}};
  const Input scales = known({{4}, {1, 1, 2, 2}});
  expect_near(run({"Upsample", {unknown(in), scales}, {}, 9})[0], doubled, "Upsample 9");
  expect_near(run({"Upsample", {unknown(in)}, attributes({{"scales", std::vector<double>{1, 1, 2, 2}}}), 7})[0],
              doubled, "Upsample 7");
  expect_near(run({"Resize", {unknown(in), scales}, {}, 10})[0], doubled, "Resize 10");
  expect_near(run({"Resize", {unknown(in), absent(), scales}})[0], doubled, "Resize 21");
  Built built({"Upsample", {unknown(in), scales}, {}, 9});
  EXPECT_EQ(ir::print(build(built.node())[0].stage()->body[0]), "in0[i0, i1, i2 // 2, i3 // 2]")
      << "no clamp where none is needed";
  EXPECT_THAT(build_error({"Resize", {unknown(in), absent(), scales}, attributes({{"mode", std::string("cubic")}})}),
              HasSubstr("mode 'cubic' is not supported"));
  EXPECT_THAT(build_error({"Resize", {unknown(in), absent(), known({{4}, {1, 1, 1.234512, 1}})}}),
              HasSubstr("is not a simple fraction"));
}

}  // namespace
}  // namespace temper::ops::testing
