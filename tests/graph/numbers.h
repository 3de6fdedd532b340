// Random tensors and comparisons for graph tests.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "temper/graph/graph.h"
#include "temper/graph/reference.h"

namespace temper::graph::testing {

/// Numbers in [-2, 2) with a short fraction, so that products are exact in f64.
inline std::vector<float> random_numbers(std::mt19937& random, std::int64_t count) {
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back((static_cast<float>(random() % 4096) - 2048.0f) / 1024.0f);
  return numbers;
}

inline ops::TensorValue random_tensor(std::mt19937& random, const Sizes& sizes, ir::DType dtype = ir::DType::F32) {
  const std::vector<float> numbers = random_numbers(random, element_count(sizes));
  return ops::TensorValue::from_numbers({dtype, sizes}, std::vector<double>(numbers.begin(), numbers.end()));
}

/// Random contents for every input of a graph with known shapes.
inline NamedTensors random_inputs(const Graph& graph, std::uint32_t seed) {
  std::mt19937 random(seed);
  NamedTensors inputs;
  for (const ValueId id : graph.inputs) {
    inputs[graph.value(id).name] = random_tensor(random, graph.sizes(id), graph.value(id).dtype);
  }
  return inputs;
}

/// Same type, and elements equal within `tolerance` of the largest magnitude (at least 1). Results of short f32
/// computations, each rounded once an operator, differ by a few units in the last place.
inline void expect_close(const ops::TensorValue& actual, const ops::TensorValue& expected, double tolerance = 2e-5) {
  ASSERT_EQ(actual.type.text(), expected.type.text());
  const std::vector<double> a = actual.numbers(), e = expected.numbers();
  double largest = 1;
  for (const double value : e) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a[i], e[i], tolerance * largest) << "element " << i << " of " << actual.type.text();
  }
}

inline void expect_close(const std::vector<ops::TensorValue>& actual, const std::vector<ops::TensorValue>& expected,
                         double tolerance = 2e-5) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) expect_close(actual[i], expected[i], tolerance);
}

/// Operators of a graph in order: "Conv,Relu".
inline std::string operators(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) text += (text.empty() ? "" : ",") + node.op;
  return text;
}

}  // namespace temper::graph::testing
