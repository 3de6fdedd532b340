// A product whose output is stored as the pixels of blocks: the same elements elsewhere.
#include "temper/graph/split_axes.h"

#include <gtest/gtest.h>

#include "temper/ir/oracle.h"
#include "temper/ops/workload.h"
#include "temper/support/error.h"

namespace temper::graph {
namespace {

constexpr std::int64_t kRows = 6, kColumns = 8, kDepth = 5, kWidth = 3, kTogether = 4;

ops::Workload product() {
  ops::MatmulShape shape;
  shape.m = kRows;
  shape.n = kColumns;
  shape.k = kDepth;
  return ops::matmul_workload(shape, ops::parse_epilogue("bias+relu"));
}

std::vector<float> numbers(std::int64_t count, int step) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>((i * step) % 17 - 8));
  return values;
}

TEST(SplitAxes, PutsEveryElementInItsPlace) {
  const std::vector<float> a = numbers(kRows * kDepth, 5), b = numbers(kDepth * kColumns, 7),
                           bias = numbers(kColumns, 3);
  const ir::Inputs inputs{
      {"A", std::as_bytes(std::span(a))}, {"B", std::as_bytes(std::span(b))}, {"bias", std::as_bytes(std::span(bias))}};
  const ir::Compute whole = product().compute;
  const ir::Compute split = split_axes(whole, {kWidth, kTogether}, {0, 2, 1, 3});
  EXPECT_EQ(split.outputs[0]->shape(),
            (std::vector<std::int64_t>{kRows / kWidth, kColumns / kTogether, kWidth, kTogether}));
  EXPECT_EQ(split.stage("A")->shape(), (std::vector<std::int64_t>{kRows / kWidth, kWidth, kDepth}));
  EXPECT_EQ(split.stage("B")->shape(), (std::vector<std::int64_t>{kDepth, kColumns / kTogether, kTogether}));
  EXPECT_EQ(split.stage("bias")->shape(), (std::vector<std::int64_t>{kColumns / kTogether, kTogether}));
  ir::Oracle expected(whole, inputs), actual(split, inputs);
  for (std::int64_t m = 0; m < kRows; ++m) {
    for (std::int64_t n = 0; n < kColumns; ++n) {
      const std::vector<std::int64_t> from{m, n}, to{m / kWidth, n / kTogether, m % kWidth, n % kTogether};
      EXPECT_EQ(actual.at(*split.outputs[0], to).value, expected.at(*whole.outputs[0], from).value) << m << "," << n;
    }
  }
}

TEST(SplitAxes, AxesMayStayWhole) {
  const ir::Compute split = split_axes(product().compute, {0, kTogether}, {1, 0, 2});
  EXPECT_EQ(split.outputs[0]->shape(), (std::vector<std::int64_t>{kColumns / kTogether, kRows, kTogether}));
  EXPECT_EQ(split.stage("A")->shape(), (std::vector<std::int64_t>{kRows, kDepth}));
}

TEST(SplitAxes, RefusesWhatHasNoSuchParts) {
  const ir::Compute whole = product().compute;
  EXPECT_THROW(split_axes(whole, {4, 0}, {0, 1, 2}), Error) << "6 is no multiple of 4";
  EXPECT_THROW(split_axes(whole, {3, 0}, {0, 1}), Error) << "an axis without a place";
  const ir::Tensor x = ir::placeholder("x", {8});
  const ir::Tensor reversed = ir::define("out", {8}, [&](const ir::Axis& i) { return x(7 - ir::Expr(i)); }, {"i"});
  EXPECT_THROW(split_axes(ir::make_compute({reversed}), {4}, {0, 1}), Error) << "read at no axis alone";
}

}  // namespace
}  // namespace temper::graph
