// Normalisations, against their formulas as loops.
#include <gmock/gmock.h>

#include <functional>

#include "ops/harness.h"

namespace temper::ops::testing {
namespace {

/// Mean and variance of the elements for which `belongs` holds.
std::pair<double, double> moments(const Array& in, const std::function<bool(const Shape&)>& belongs) {
  double sum = 0, squares = 0, count = 0;
  for (std::int64_t k = 0; k < in.size(); ++k) {
    if (!belongs(in.index_of(k))) continue;
    sum += in.values[static_cast<std::size_t>(k)];
    count += 1;
  }
  for (std::int64_t k = 0; k < in.size(); ++k) {
    if (!belongs(in.index_of(k))) continue;
    const double deviation = in.values[static_cast<std::size_t>(k)] - sum / count;
    squares += deviation * deviation;
  }
  return {sum / count, squares / count};
}

TEST(RmsNormalization, TrailingAxes) {
  const Array in = random_array({2, 3, 4}, 1), scale = random_array({3, 4}, 2);
  expect_near(run({"RMSNormalization", {unknown(in), unknown(scale)}, attributes({{"axis", i64(1)}}), 23})[0],
              fill({2, 3, 4},
                   [&](const Shape& i) {
                     double squares = 0;
                     for (std::int64_t a = 0; a < 3; ++a) {
                       for (std::int64_t b = 0; b < 4; ++b) squares += in.at({i[0], a, b}) * in.at({i[0], a, b});
                     }
                     return in.at(i) / std::sqrt(squares / 12 + 1e-5) * scale.at({i[1], i[2]});
                   }),
              "axis 1");
}

TEST(InstanceNormalization, EachImageAndChannel) {
  const Array in = random_array({2, 3, 2, 4}, 3), scale = random_array({3}, 4), bias = random_array({3}, 5);
  expect_near(run({"InstanceNormalization", {unknown(in), unknown(scale), unknown(bias)}})[0],
              fill({2, 3, 2, 4},
                   [&](const Shape& i) {
                     const auto [mean, variance] =
                         moments(in, [&](const Shape& j) { return j[0] == i[0] && j[1] == i[1]; });
                     return (in.at(i) - mean) / std::sqrt(variance + 1e-5) * scale.at({i[1]}) + bias.at({i[1]});
                   }),
              "instances");
}

TEST(GroupNormalization, FactorsOfGroupsBecameFactorsOfChannels) {
  const Array in = random_array({2, 4, 3}, 6);
  for (const int opset : {18, 21}) {
    const std::int64_t factors = opset < 21 ? 2 : 4;
    const Array scale = random_array({factors}, 7), bias = random_array({factors}, 8);
    expect_near(run({"GroupNormalization",
                     {unknown(in), unknown(scale), unknown(bias)},
                     attributes({{"num_groups", i64(2)}}),
                     opset})[0],
                fill({2, 4, 3},
                     [&](const Shape& i) {
                       const auto [mean, variance] =
                           moments(in, [&](const Shape& j) { return j[0] == i[0] && j[1] / 2 == i[1] / 2; });
                       const std::int64_t at = opset < 21 ? i[1] / 2 : i[1];
                       return (in.at(i) - mean) / std::sqrt(variance + 1e-5) * scale.at({at}) + bias.at({at});
                     }),
                "opset " + std::to_string(opset));
  }
}

TEST(MeanVarianceNormalization, DefaultAxesKeepTheChannels) {
  const Array in = random_array({2, 3, 2, 2}, 9);
  expect_near(run({"MeanVarianceNormalization", {unknown(in)}})[0],
              fill({2, 3, 2, 2},
                   [&](const Shape& i) {
                     const auto [mean, variance] = moments(in, [&](const Shape& j) { return j[1] == i[1]; });
                     return (in.at(i) - mean) / (std::sqrt(variance) + 1e-9);
                   }),
              "axes 0, 2, 3");
}

TEST(LpNormalization, BothNormsAndZeroRows) {
  Array in = random_array({3, 4}, 10);
  for (std::size_t i = 0; i < 4; ++i) in.values[i] = 0;
  for (const int p : {1, 2}) {
    expect_near(run({"LpNormalization", {unknown(in)}, attributes({{"p", i64(p)}})})[0],
                fill({3, 4},
                     [&](const Shape& i) {
                       double length = 0;
                       for (std::int64_t k = 0; k < 4; ++k) length += std::pow(std::abs(in.at({i[0], k})), p);
                       length = std::pow(length, 1.0 / p);
                       return length == 0 ? 0 : in.at(i) / length;
                     }),
                "p " + std::to_string(p));
  }
}

TEST(Lrn, WindowsOfChannelsAreCutAtTheEnds) {
  const Array in = random_array({1, 5, 2}, 11);
  for (const int size : {2, 3}) {
    expect_near(run({"LRN",
                     {unknown(in)},
                     attributes({{"size", i64(size)}, {"alpha", 0.5}, {"beta", 0.75}, {"bias", 2.0}})})[0],
                fill({1, 5, 2},
                     [&](const Shape& i) {
                       double squares = 0;
                       for (std::int64_t c = i[1] - (size - 1) / 2; c < i[1] - (size - 1) / 2 + size; ++c) {
                         if (c >= 0 && c < 5) squares += in.at({0, c, i[2]}) * in.at({0, c, i[2]});
                       }
                       return in.at(i) / std::pow(2.0 + 0.5 / size * squares, 0.75);
                     }),
                "size " + std::to_string(size));
  }
}

}  // namespace
}  // namespace temper::ops::testing
