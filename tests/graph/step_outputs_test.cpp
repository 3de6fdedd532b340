// What steps compute, seen as the model's values: names, order of axes, and numbers.
#include "temper/graph/step_outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "graph/model_builder.h"
#include "graph/numbers.h"
#include "graph/random_model.h"
#include "graph/run_pass.h"
#include "temper/graph/pipeline.h"

namespace temper::graph {
namespace {

using testing::attribute;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::ModelBuilder;
using testing::nhwc_program;
using testing::random_inputs;
using testing::random_numbers;

ModelBuilder network() {
  std::mt19937 random(3);
  ModelBuilder b;
  b.input("x", {2, 9, 5, 4}).floats("w", {7, 9, 1, 1}, random_numbers(random, 63));
  b.floats("m", {4, 3}, random_numbers(random, 12)).floats("v", {3}, random_numbers(random, 3));
  b.node("Conv", {"x", "w"}, {"c"})
      .node("Relu", {"c"}, {"r"})
      .node("Softmax", {"r"}, {"s"}, attribute("axis", 3))
      .node("MatMul", {"s", "m"}, {"p"})
      .node("Add", {"p", "v"}, {"y"})
      .output("y")
      .output("r");
  return b;
}

TEST(StepOutputs, HaveTheModelsNamesAndTheOrderOfTheirAxes) {
  Program program = nhwc_program(network());
  const std::size_t steps = program.steps.size();
  const std::vector<StepOutput> outputs = expose_steps(program);
  EXPECT_EQ(program.steps.size(), steps);
  std::vector<std::string> sources;
  for (const StepOutput& output : outputs) {
    sources.push_back(output.source);
    EXPECT_EQ(program.steps[output.step].outputs.size(), 1u);
  }
  // The input becomes NHWC, the activation is NHWC and then as the model has it, the rest follows the model.
  EXPECT_THAT(sources, ElementsAre("x", "r", "r", "s", "y"));
  EXPECT_THAT(outputs[0].order, ElementsAre(0, 2, 3, 1));
  EXPECT_THAT(outputs[1].order, ElementsAre(0, 2, 3, 1));
  EXPECT_THAT(outputs[1].sizes, ElementsAre(2, 5, 4, 7));
  EXPECT_THAT(outputs[2].order, IsEmpty());
  EXPECT_THAT(outputs[2].sizes, ElementsAre(2, 7, 5, 4));
}

TEST(StepOutputs, WhatIsAnOutputAlreadyIsNotAddedTwice) {
  Program program = nhwc_program(network());
  const std::vector<StepOutput> outputs = expose_steps(program);
  EXPECT_THAT(program.graph.output_names, ElementsAre("y", "r", "step 0: x.nhwc", "step 1: r", "step 3: s"));
  std::vector<std::size_t> places;
  for (const StepOutput& output : outputs) places.push_back(output.output);
  EXPECT_THAT(places, ElementsAre(2, 3, 1, 4, 0));
  // A second call finds everything exposed.
  EXPECT_EQ(expose_steps(program).size(), outputs.size());
  EXPECT_EQ(program.graph.outputs.size(), 5u);
}

TEST(StepOutputs, WhatPassesAddHasNoSource) {
  ModelBuilder b;
  std::mt19937 random(3);
  b.input("x", {2, 4}).floats("m", {4, 3}, random_numbers(random, 12)).floats("v", {3}, random_numbers(random, 3));
  b.node("Gemm", {"x", "m", "v"}, {"y"}).output("y");
  Program program = make_program(b.import(), {}, {"fusion"});
  std::vector<std::string> sources;
  for (const StepOutput& output : expose_steps(program)) sources.push_back(output.source);
  EXPECT_THAT(sources, ElementsAre("", "y"));
}

/// The elements in the source's order.
ops::TensorValue as_source(const ops::TensorValue& stored, const std::vector<int>& order) {
  if (order.empty()) return stored;
  std::vector<int> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) back[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  return transposed(stored, back);
}

// Passes must keep `source` true: what a value claims to be is what the unoptimised model computes under that name.
RC_GTEST_PROP(StepOutputs, HoldWhatTheModelComputes, ()) {
  const Graph model =
      testing::random_model(*rc::gen::scale(0.5, rc::gen::arbitrary<std::vector<std::uint8_t>>())).import();
  Graph plain =
      optimise(model, {}, {"identities", "patterns", "affine", "excite", "rank", "transposed", "gemm", "layout"});
  const NamedTensors inputs = random_inputs(plain, 1);
  Program program = extract_tasks(optimise(model, {}));
  const std::vector<StepOutput> outputs = expose_steps(program);
  plain.outputs.clear();
  plain.output_names.clear();
  std::vector<std::size_t> compared;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto value = std::find_if(plain.values.begin(), plain.values.end(),
                                    [&](const Value& v) { return v.name == outputs[i].source; });
    if (outputs[i].source.empty()) continue;
    RC_ASSERT(value != plain.values.end());
    plain.outputs.push_back(static_cast<ValueId>(value - plain.values.begin()));
    plain.output_names.push_back(value->name);
    compared.push_back(i);
  }
  const auto actual = evaluate(program, inputs), expected = evaluate(plain, inputs);
  for (std::size_t k = 0; k < compared.size(); ++k) {
    const StepOutput& output = outputs[compared[k]];
    ops::TensorValue stored = actual[output.output];
    stored.type.shape = output.sizes;  // an output of the model may be a view of it
    const std::vector<double> a = as_source(stored, output.order).numbers(), e = expected[k].numbers();
    RC_ASSERT(a.size() == e.size());
    double largest = 1;
    for (const double number : e) largest = std::max(largest, std::abs(number));
    for (std::size_t i = 0; i < a.size(); ++i) RC_ASSERT(std::abs(a[i] - e[i]) < 1e-4 * largest);
  }
}

}  // namespace
}  // namespace temper::graph
