// CumSum, TopK, Hardmax and the losses, against loops written by hand.
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "ops/harness.h"

namespace temper::ops::testing {
namespace {

using ::testing::HasSubstr;

TEST(CumSum, InclusiveExclusiveAndReverse) {
  const Array in = random_array({2, 5}, 1);
  for (const int exclusive : {0, 1}) {
    for (const int reverse : {0, 1}) {
      const Array wanted = fill({2, 5}, [&](const Shape& i) {
        double sum = 0;
        for (std::int64_t k = 0; k < 5; ++k) {
          const std::int64_t distance = reverse == 1 ? k - i[1] : i[1] - k;
          if (distance >= exclusive) sum += in.at({i[0], k});
        }
        return sum;
      });
      expect_near(run({"CumSum",
                       {unknown(in), known(integers({}, {-1}))},
                       attributes({{"exclusive", i64(exclusive)}, {"reverse", i64(reverse)}})})[0],
                  wanted, std::to_string(exclusive) + std::to_string(reverse));
    }
  }
}

TEST(CumSum, AlongTheFirstAxis) {
  const Array in = random_array({4, 2}, 2);
  expect_near(run({"CumSum", {unknown(in), known(integers({}, {0}))}})[0],
              fill({4, 2},
                   [&](const Shape& i) {
                     double sum = 0;
                     for (std::int64_t k = 0; k <= i[0]; ++k) sum += in.at({k, i[1]});
                     return sum;
                   }),
              "sum");
}

TEST(TopK, ValuesAndIndicesOfEqualOnesInOrder) {
  Array in = random_array({3, 6}, 3);
  in.values[2] = in.values[4] = 5;  // equal ones
  for (const int largest : {0, 1}) {
    const auto order = [&](std::int64_t row) {
      std::vector<std::int64_t> places(6);
      std::iota(places.begin(), places.end(), 0);
      std::stable_sort(places.begin(), places.end(), [&](std::int64_t a, std::int64_t b) {
        return largest == 1 ? in.at({row, a}) > in.at({row, b}) : in.at({row, a}) < in.at({row, b});
      });
      return places;
    };
    const std::vector<Array> got = run(
        {"TopK", {unknown(in), known(vector_of({4}))}, attributes({{"largest", i64(largest)}}), 21, Layout::Nchw, 2});
    const Array places =
        fill({3, 4}, [&](const Shape& i) { return static_cast<double>(order(i[0])[static_cast<std::size_t>(i[1])]); });
    expect_near(got[1], places, "indices");
    expect_near(
        got[0],
        fill({3, 4}, [&](const Shape& i) { return in.at({i[0], order(i[0])[static_cast<std::size_t>(i[1])]}); }),
        "values");
    EXPECT_EQ(got[1].dtype, ir::DType::I64);
  }
  EXPECT_THAT(build_error({"TopK", {unknown(in), known(vector_of({7}))}}), HasSubstr("k is not between 1"));
}

TEST(Hardmax, TheFirstOfEqualOnes) {
  Array in = random_array({2, 3}, 4);
  in.values[0] = in.values[2] = 9;
  expect_near(run({"Hardmax", {unknown(in)}})[0],
              fill({2, 3},
                   [&](const Shape& i) {
                     std::int64_t best = 0;
                     for (std::int64_t k = 1; k < 3; ++k) best = in.at({i[0], k}) > in.at({i[0], best}) ? k : best;
                     return i[1] == best ? 1.0 : 0.0;
                   }),
              "last axis");
}

TEST(Losses, WeightedAndWithIgnoredLabels) {
  const Array scores = random_array({3, 4, 2}, 5), weights = random_array({4}, 6, 0.5, 1.5);
  const Array labels = integers({3, 2}, {0, 3, 2, 1, 1, 2});
  for (const std::string op : {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}) {
    for (const std::string reduction : {"none", "sum", "mean"}) {
      for (const bool ignores : {false, true}) {
        double total = 0, weight_sum = 0;
        Array each = fill({3, 2}, [](const Shape&) { return 0; });
        for (std::int64_t n = 0; n < 3; ++n) {
          for (std::int64_t d = 0; d < 2; ++d) {
            const auto label = static_cast<std::int64_t>(labels.at({n, d}));
            double exponentials = 0;
            for (std::int64_t c = 0; c < 4; ++c) exponentials += std::exp(scores.at({n, c, d}));
            double score = scores.at({n, label, d});
            if (op == "SoftmaxCrossEntropyLoss") score -= std::log(exponentials);
            const double weight = ignores && label == 1 ? 0 : weights.at({label});
            each.values[static_cast<std::size_t>(n * 2 + d)] = -score * weight;
            total -= score * weight;
            weight_sum += weight;
          }
        }
        Attributes a = attributes({{"reduction", reduction}});
        if (ignores) a.set("ignore_index", i64(1));
        const Array wanted = reduction == "none" ? each : fill({}, [&](const Shape&) {
          return reduction == "sum" ? total : total / weight_sum;
        });
        expect_near(run({op, {unknown(scores), unknown(labels), unknown(weights)}, a})[0], wanted, op + reduction);
      }
    }
  }
}

}  // namespace
}  // namespace temper::ops::testing
