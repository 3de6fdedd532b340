// Inputs bound as constants, operators that are another one in other words, and tensors without elements.
#include "temper/graph/passes/rewrite.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/expect_error.h"
#include "graph/model_builder.h"
#include "temper/graph/passes/bind_inputs.h"
#include "temper/graph/passes/infer.h"
#include "temper/graph/pipeline.h"
#include "temper/graph/reference.h"

namespace temper::graph {
namespace {

using testing::attribute;
using testing::expect_error;
using testing::ModelBuilder;

ops::TensorValue numbers(const Sizes& sizes, const std::vector<double>& values, ir::DType dtype = ir::DType::F32) {
  return ops::TensorValue::from_numbers({dtype, sizes}, values);
}
ops::TensorValue counted(const Sizes& sizes) {
  std::vector<double> values(static_cast<std::size_t>(element_count(sizes)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * i % 17);
  return numbers(sizes, values);
}

std::vector<double> result(const ModelBuilder& b, const NamedTensors& inputs, const BoundInputs& bound = {}) {
  Graph graph = b.import();
  bind_inputs(graph, bound);
  const Program program = make_program(std::move(graph), {});
  return evaluate(program, inputs).at(0).numbers();
}

TEST(BindInputs, AShapeThatIsAnInput) {
  ModelBuilder b;
  b.input("x", {2, 3}).input("s", {2}, onnx::TensorProto::INT64).node("Reshape", {"x", "s"}, {"y"}).output("y");
  Graph graph = b.import();
  bind_inputs(graph, {{"s", ops::TensorValue::from_integers({ir::DType::I64, {2}}, {3, -1})}});
  EXPECT_EQ(graph.inputs.size(), 1u);
  graph = optimise(std::move(graph), {});
  EXPECT_EQ(graph.sizes(graph.outputs[0]), (Sizes{3, 2}));
}

TEST(BindInputs, Errors) {
  ModelBuilder b;
  b.input("x", {2, "n"}).node("Relu", {"x"}, {"y"}).output("y");
  Graph graph = b.import();
  expect_error(ErrorCode::InvalidArgument, {"no input called 'z'", "x"},
               [&] { bind_inputs(graph, {{"z", counted({2, 3})}}); });
  expect_error(ErrorCode::InvalidArgument, {"f32[2,n]", "f32[3,3]"},
               [&] { bind_inputs(graph, {{"x", counted({3, 3})}}); });
  expect_error(ErrorCode::InvalidArgument, {"f32[2,n]", "i64[2,3]"},
               [&] { bind_inputs(graph, {{"x", numbers({2, 3}, std::vector<double>(6, 0), ir::DType::I64)}}); });
  bind_inputs(graph, {{"x", counted({2, 3})}});
  EXPECT_TRUE(graph.inputs.empty());
}

TEST(Rewrite, CastLikeIsACast) {
  ModelBuilder b;
  b.input("x", {3}).input("like", {7, 2}, onnx::TensorProto::INT32).node("CastLike", {"x", "like"}, {"y"});
  b.output("y", onnx::TensorProto::INT32);
  const Graph graph = optimise(b.import(), {});
  EXPECT_EQ(graph.nodes.at(0).op, "Cast");
  EXPECT_EQ(graph.value(graph.outputs[0]).dtype, ir::DType::I32);
  EXPECT_EQ(graph.sizes(graph.outputs[0]), (Sizes{3}));
  EXPECT_TRUE(is_rewritten("CastLike"));
  EXPECT_FALSE(is_rewritten("Relu"));
}

TEST(Empty, PartsWithoutElementsAreNothing) {
  ModelBuilder b(18);
  b.input("x", {2, 3}).integers("parts", {0, 3});
  b.node("Split", {"x", "parts"}, {"none", "all"}, attribute("axis", 1)).node("Neg", {"all"}, {"n"});
  b.node("Concat", {"none", "n"}, {"y"}, attribute("axis", 1)).output("y");
  std::vector<double> wanted = counted({2, 3}).numbers();
  for (double& x : wanted) x = -x;
  EXPECT_EQ(result(b, {{"x", counted({2, 3})}}), wanted);
}

/// Keys' cubic kernel, with a = -0.75.
double cubic(double x) {
  x = std::abs(x);
  const double a = -0.75;
  if (x <= 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0;
}

TEST(RewriteSum, OfTwoIsAnAdditionThatFusionKnows) {
  const auto residual = [](const std::vector<std::string>& operands) {
    ModelBuilder b(13);
    b.input("x", {1, 4, 3, 3}).floats("w", {4, 4, 1, 1}, std::vector<float>(16, 0.5F));
    b.node("Conv", {"x", "w"}, {"c"}).node("Sum", operands, {"s"}).node("Relu", {"s"}, {"y"}).output("y");
    return b;
  };
  const Program two = make_program(residual({"c", "x"}).import(), {}, {"layout"});
  ASSERT_EQ(two.tasks.size(), 1U) << two.tasks.back().key.text();
  EXPECT_NE(two.tasks[0].key.text().find("epilogue=add+relu"), std::string::npos) << two.tasks[0].key.text();
  EXPECT_EQ(result(residual({"c", "x"}), {{"x", counted({1, 4, 3, 3})}}).size(), 36U);
  EXPECT_EQ(result(residual({"c", "x", "x"}), {{"x", numbers({1, 4, 3, 3}, std::vector<double>(36, 2))}}),
            std::vector<double>(36, 8))
      << "four halves of 2, and twice 2";
}

TEST(RewriteResize, CubicEqualsLoops) {
  ModelBuilder b(19);
  b.input("x", {1, 1, 4, 5}).floats("none", {0}, {}).integers("sizes", {1, 1, 7, 8});
  b.node("Resize", {"x", "", "", "sizes"}, {"y"}, attribute("mode", std::string("cubic"))).output("y");
  const ops::TensorValue in = counted({1, 1, 4, 5});
  const std::vector<double> x = in.numbers(), got = result(b, {{"x", in}});
  for (int i = 0; i < 7; ++i) {
    for (int j = 0; j < 8; ++j) {
      const double y_at = (i + 0.5) * 4 / 7 - 0.5, x_at = (j + 0.5) * 5 / 8 - 0.5;
      double sum = 0;
      for (int dy = -1; dy <= 2; ++dy) {
        for (int dx = -1; dx <= 2; ++dx) {
          const double y0 = std::floor(y_at) + dy, x0 = std::floor(x_at) + dx;
          const auto row = static_cast<std::size_t>(std::min(std::max(y0, 0.0), 3.0)),
                     column = static_cast<std::size_t>(std::min(std::max(x0, 0.0), 4.0));
          sum += cubic(y_at - y0) * cubic(x_at - x0) * x[row * 5 + column];
        }
      }
      EXPECT_NEAR(got[static_cast<std::size_t>(i * 8 + j)], sum, 1e-4) << i << " " << j;
    }
  }
}

TEST(RewriteResize, AntialiasedWeightsAreMeans) {
  ModelBuilder b(19);
  b.input("x", {1, 1, 1, 4}).integers("sizes", {1, 1, 1, 2});
  b.node("Resize", {"x", "", "", "sizes"}, {"y"}, attribute("mode", std::string("linear")), attribute("antialias", 1));
  b.output("y");
  // Triangles of width 4 at 0.5 and 2.5, with the outer elements repeated.
  const std::vector<double> got = result(b, {{"x", numbers({1, 1, 1, 4}, {8, 16, 24, 32})}});
  EXPECT_NEAR(got[0], (0.25 * 8 + 0.75 * 8 + 0.75 * 16 + 0.25 * 24) / 2, 1e-5);
  EXPECT_NEAR(got[1], (0.25 * 16 + 0.75 * 24 + 0.75 * 32 + 0.25 * 32) / 2, 1e-5);
}

TEST(RewriteResize, CropsShowTheFillOutside) {
  ModelBuilder b(19);
  b.input("x", {1, 1, 1, 3}).floats("roi", {8}, {0, 0, 0, 0.5, 1, 1, 1, 1.5}).integers("sizes", {1, 1, 1, 3});
  for (const std::string mode : {"linear", "nearest"}) {
    ModelBuilder c = b;
    c.node("Resize", {"x", "roi", "", "sizes"}, {"y"}, attribute("mode", mode),
           attribute("coordinate_transformation_mode", std::string("tf_crop_and_resize")),
           attribute("extrapolation_value", 9.0f));
    c.output("y");
    EXPECT_EQ(result(c, {{"x", numbers({1, 1, 1, 3}, {1, 2, 5})}}), (std::vector<double>{2, 5, 9})) << mode;
  }
}

/// if c: y = -x, else: y = x + k with an initializer of the branch.
ModelBuilder branching() {
  ModelBuilder b;
  b.input("x", {2, 2}).input("c", {}, onnx::TensorProto::BOOL).node("If", {"c"}, {"y"}).output("y");
  for (const bool taken : {true, false}) {
    onnx::AttributeProto* a = b.last_node().add_attribute();
    a->set_name(taken ? "then_branch" : "else_branch");
    a->set_type(onnx::AttributeProto::GRAPH);
    ModelBuilder inner;
    if (taken) {
      inner.node("Neg", {"x"}, {"out"});
    } else {
      // Refused wherever it is looked at: the shapes do not broadcast.
      inner.floats("k", {3}, {1, 2, 3}).node("Add", {"x", "k"}, {"out"});
    }
    inner.output("out");
    *a->mutable_g() = inner.graph();
  }
  return b;
}

TEST(Branches, TheOneThatIsTakenIsAllThatCounts) {
  const ops::TensorValue x = counted({2, 2});
  const BoundInputs yes{{"c", numbers({}, {1}, ir::DType::Bool)}}, no{{"c", numbers({}, {0}, ir::DType::Bool)}};
  EXPECT_EQ(result(branching(), {{"x", x}}, yes), (std::vector<double>{0, -1, -4, -9}));
  expect_error(ErrorCode::InvalidModel, {"do not broadcast", "else"}, [&] { result(branching(), {{"x", x}}, no); });
}

TEST(Branches, OpenConditionsAreRefused) {
  expect_error(ErrorCode::Unsupported, {"'c' is computed by the model", "must be constant", "--constant"},
               [&] { result(branching(), {{"x", counted({2, 2})}}); });
}

TEST(UpgradeOpset6, AxisOfBroadcasting) {
  ModelBuilder b(6);
  b.input("x", {1, 2, 2}).floats("k", {2}, {10, 20});
  b.node("Add", {"x", "k"}, {"y"}, attribute("broadcast", 1), attribute("axis", 1)).output("y");
  EXPECT_EQ(result(b, {{"x", numbers({1, 2, 2}, {1, 2, 3, 4})}}), (std::vector<double>{11, 12, 23, 24}));
  ModelBuilder c(6);
  c.input("x", {1, 2, 2}).floats("k", {2}, {10, 20}).node("Add", {"x", "k"}, {"y"}).output("y");
  expect_error(ErrorCode::InvalidModel, {"'broadcast' is not set"}, [&] { result(c, {{"x", counted({1, 2, 2})}}); });
}

TEST(RewriteDropout, MaskOfInferenceIsOnes) {
  ModelBuilder b;
  b.input("x", {2, 2}).node("Dropout", {"x"}, {"y", "mask"}).output("mask", onnx::TensorProto::BOOL);
  EXPECT_EQ(result(b, {{"x", counted({2, 2})}}), (std::vector<double>{1, 1, 1, 1}));
}

TEST(RewriteCenterCropPad, CropsOneAxisAndPadsAnother) {
  ModelBuilder b(18);
  b.input("x", {4, 1}).integers("s", {2, 4}).node("CenterCropPad", {"x", "s"}, {"y"}).output("y");
  EXPECT_EQ(result(b, {{"x", numbers({4, 1}, {1, 2, 3, 4})}}), (std::vector<double>{0, 2, 0, 0, 0, 3, 0, 0}));
}

TEST(RewriteAffineGrid, PlacesOfPixels) {
  for (const int aligned : {0, 1}) {
    ModelBuilder b(20);
    b.input("t", {1, 2, 3}).integers("s", {1, 1, 2, 3});
    b.node("AffineGrid", {"t", "s"}, {"y"}, attribute("align_corners", aligned)).output("y");
    const std::vector<double> t{2, 0, 0.5, 0, 3, -1}, got = result(b, {{"t", numbers({1, 2, 3}, t)}});
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 3; ++j) {
        const double y = aligned == 1 ? 2.0 * i - 1 : (2.0 * i + 1) / 2 - 1,
                     x = aligned == 1 ? j - 1.0 : (2.0 * j + 1) / 3 - 1;
        EXPECT_NEAR(got[static_cast<std::size_t>((i * 3 + j) * 2)], 2 * x + 0.5, 1e-6);
        EXPECT_NEAR(got[static_cast<std::size_t>((i * 3 + j) * 2 + 1)], 3 * y - 1, 1e-6);
      }
    }
  }
}

}  // namespace
}  // namespace temper::graph
