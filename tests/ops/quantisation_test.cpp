// Quantised operators, against loops over integers.
#include <gmock/gmock.h>

#include <algorithm>

#include "ops/harness.h"

namespace temper::ops::testing {
namespace {

using ::testing::HasSubstr;

double saturated(double x, ir::DType dtype) {
  return dtype == ir::DType::U8 ? std::clamp(x, 0.0, 255.0) : std::clamp(x, -128.0, 127.0);
}
Array scalar(double value, ir::DType dtype = ir::DType::F32) { return {{}, {value}, dtype}; }

TEST(QuantizeLinear, RoundsToEvenAndSaturates) {
  const Array in{{6}, {0.5, 1.5, 2.5, -1, 1000, -1000}, ir::DType::F32};
  for (const auto dtype : {ir::DType::U8, ir::DType::I8}) {
    Array wanted{{6}, {}, dtype};
    for (const double x : in.values) wanted.values.push_back(saturated(std::nearbyint(x / 0.5) + 3, dtype));
    expect_near(run({"QuantizeLinear", {unknown(in), unknown(scalar(0.5)), unknown(scalar(3, dtype))}})[0], wanted,
                std::string(ir::to_string(dtype)));
  }
  EXPECT_THAT(build_error({"QuantizeLinear", {unknown(in), unknown(scalar(1)), unknown(scalar(0, ir::DType::I64))}}),
              HasSubstr("quantised values of type i64"));
}

TEST(QuantizeLinear, ScalesAlongAnAxisAndOfBlocks) {
  const Array in = random_array({2, 4}, 1, -50, 50), scales{{4}, {1, 2, 4, 8}, ir::DType::F32};
  expect_near(
      run({"QuantizeLinear", {unknown(in), unknown(scales)}})[0],
      fill({2, 4},
           [&](const Shape& i) { return saturated(std::nearbyint(in.at(i) / scales.at({i[1]})), ir::DType::U8); }),
      "axis");
  const Array blocks{{2, 2}, {1, 2, 4, 8}, ir::DType::F32};
  expect_near(run({"QuantizeLinear",
                   {unknown(in), unknown(blocks)},
                   attributes({{"axis", i64(1)}, {"block_size", i64(2)}})})[0],
              fill({2, 4},
                   [&](const Shape& i) {
                     return saturated(std::nearbyint(in.at(i) / blocks.at({i[0], i[1] / 2})), ir::DType::U8);
                   }),
              "blocks");
}

TEST(DequantizeLinear, ScaleTimesDistance) {
  const Array in = integers({2, 3}, {0, 1, 127, 255, 128, 7}, ir::DType::U8);
  expect_near(run({"DequantizeLinear", {unknown(in), unknown(scalar(0.25)), unknown(scalar(128, ir::DType::U8))}})[0],
              fill({2, 3}, [&](const Shape& i) { return (in.at(i) - 128) * 0.25; }), "one scale");
}

TEST(DynamicQuantizeLinear, RangeHoldsZero) {
  const Array in{{4}, {1, 2.5, -0.5, 4}, ir::DType::F32};
  const std::vector<Array> got = run({"DynamicQuantizeLinear", {unknown(in)}, {}, 21, Layout::Nchw, 3});
  const double scale = 4.5 / 255, zero = std::nearbyint(0.5 / scale);
  EXPECT_NEAR(got[1].values[0], scale, 1e-8);
  EXPECT_EQ(got[2].values[0], zero);
  expect_near(
      got[0],
      fill({4}, [&](const Shape& i) { return saturated(std::nearbyint(in.at(i) / scale) + zero, ir::DType::U8); }),
      "values");
}

TEST(MatMulInteger, ZeroPointsOfRowsAndColumns) {
  const Array a = integers({2, 3}, {11, 7, 3, 10, 6, 2}, ir::DType::U8),
              b = integers({3, 2}, {1, 4, -2, 5, 3, 6}, ir::DType::I8);
  const Array a_zero = integers({2}, {12, 3}, ir::DType::U8), b_zero = integers({2}, {1, -1}, ir::DType::I8);
  const Array got = run({"MatMulInteger", {unknown(a), unknown(b), unknown(a_zero), unknown(b_zero)}})[0];
  EXPECT_EQ(got.dtype, ir::DType::I32);
  expect_near(got,
              fill({2, 2},
                   [&](const Shape& i) {
                     double sum = 0;
                     for (std::int64_t k = 0; k < 3; ++k)
                       sum += (a.at({i[0], k}) - a_zero.at({i[0]})) * (b.at({k, i[1]}) - b_zero.at({i[1]}));
                     return sum;
                   }),
              "product");
}

TEST(QLinearMatMul, QuantisedAgain) {
  const Array a = integers({2, 3}, {208, 236, 0, 3, 214, 255}, ir::DType::U8),
              b = integers({3, 2}, {152, 51, 60, 26, 0, 127}, ir::DType::U8);
  expect_near(run({"QLinearMatMul",
                   {unknown(a), unknown(scalar(0.0066)), unknown(scalar(113, ir::DType::U8)), unknown(b),
                    unknown(scalar(0.00705)), unknown(scalar(114, ir::DType::U8)), unknown(scalar(0.0107)),
                    unknown(scalar(118, ir::DType::U8))}})[0],
              fill({2, 2},
                   [&](const Shape& i) {
                     double sum = 0;
                     for (std::int64_t k = 0; k < 3; ++k) sum += (a.at({i[0], k}) - 113) * (b.at({k, i[1]}) - 114);
                     return saturated(std::nearbyint(sum * (0.0066 * 0.00705 / 0.0107)) + 118, ir::DType::U8);
                   }),
              "product");
}

TEST(ConvInteger, PaddingIsTheZeroPoint) {
  const Array in = integers({1, 1, 3, 3}, {2, 3, 4, 5, 6, 7, 8, 9, 10}, ir::DType::U8),
              weights = integers({1, 1, 2, 2}, {1, 1, 2, 1}, ir::DType::U8);
  expect_near(run({"ConvInteger",
                   {unknown(in), unknown(weights), unknown(scalar(1, ir::DType::U8))},
                   attributes({{"pads", list({1, 1, 1, 1})}})})[0],
              fill({1, 1, 4, 4},
                   [&](const Shape& i) {
                     double sum = 0;
                     for (std::int64_t y = 0; y < 2; ++y) {
                       for (std::int64_t x = 0; x < 2; ++x) {
                         const std::int64_t iy = i[2] + y - 1, ix = i[3] + x - 1;
                         if (iy < 0 || iy > 2 || ix < 0 || ix > 2) continue;
                         sum += (in.at({0, 0, iy, ix}) - 1) * weights.at({0, 0, y, x});
                       }
                     }
                     return sum;
                   }),
              "padded");
}

TEST(QLinearConv, ScalesOfChannelsAndBias) {
  const Array in = integers({1, 1, 2, 2}, {255, 174, 162, 25}, ir::DType::U8),
              weights = integers({2, 1, 1, 1}, {3, -4}, ir::DType::I8), bias = integers({2}, {10, -20}, ir::DType::I32);
  const Array scales{{2}, {0.5, 0.25}, ir::DType::F32};
  expect_near(run({"QLinearConv",
                   {unknown(in), unknown(scalar(0.5)), unknown(scalar(100, ir::DType::U8)), unknown(weights),
                    unknown(scales), unknown(scalar(0, ir::DType::I8)), unknown(scalar(2)),
                    unknown(scalar(50, ir::DType::U8)), unknown(bias)}})[0],
              fill({1, 2, 2, 2},
                   [&](const Shape& i) {
                     const double sum =
                         (in.at({0, 0, i[2], i[3]}) - 100) * weights.at({i[1], 0, 0, 0}) + bias.at({i[1]});
                     return saturated(std::nearbyint(sum * 0.5 * scales.at({i[1]}) / 2) + 50, ir::DType::U8);
                   }),
              "channels");
}

}  // namespace
}  // namespace temper::ops::testing
