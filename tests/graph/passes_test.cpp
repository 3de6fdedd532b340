// What each pass does to small graphs, and that the numbers stay the same.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/expect_error.h"
#include "graph/model_builder.h"
#include "graph/numbers.h"
#include "graph/run_pass.h"
#include "temper/graph/passes/dead_code.h"
#include "temper/graph/passes/fold_affine.h"
#include "temper/graph/passes/identities.h"
#include "temper/graph/passes/infer.h"
#include "temper/graph/passes/layout.h"
#include "temper/graph/passes/patterns.h"
#include "temper/graph/passes/split_gemm.h"
#include "temper/graph/pipeline.h"

namespace temper::graph {
namespace {

using testing::after;
using testing::assign_nhwc;
using testing::attribute;
using testing::expect_error;
using testing::ModelBuilder;
using testing::operators;
using testing::random_numbers;

// --- dead code and identities ----------------------------------------------------------------------------------------

TEST(DeadCode, DropsUnreadNodesAndValues) {
  ModelBuilder b;
  b.input("x", {2}).floats("w", {2}, {1, 2});
  b.node("Relu", {"x"}, {"y"}).node("Exp", {"x"}, {"a"}).node("Mul", {"a", "w"}, {"c"}).output("y");
  Graph g = b.import();
  remove_dead_code(g);
  EXPECT_EQ(operators(g), "Relu");
  EXPECT_EQ(g.values.size(), 2u);
}

TEST(DeadCode, KeepsUnreadInputs) {
  ModelBuilder b;
  b.input("x", {2}).input("z", {2}).node("Relu", {"x"}, {"y"}).output("y");
  Graph g = b.import();
  remove_dead_code(g);
  EXPECT_EQ(g.inputs.size(), 2u);
}

TEST(Identities, EachKindIsRemoved) {
  ModelBuilder b(13);
  b.input("x", {1, 2, 3})
      .floats("zero", {1}, {0})
      .floats("one", {3}, {1, 1, 1})
      .integers("shape", {1, 2, 3})
      .integers("s", {0})
      .integers("e", {100})
      .node("Identity", {"x"}, {"a"})
      .node("Add", {"zero", "a"}, {"b"})
      .node("Mul", {"b", "one"}, {"c"})
      .node("Sub", {"c", "zero"}, {"d"})
      .node("Div", {"d", "one"}, {"e1"})
      .node("Reshape", {"e1", "shape"}, {"f"})
      .node("Transpose", {"f"}, {"g"}, attribute("perm", std::vector<std::int64_t>{0, 1, 2}))
      .node("Cast", {"g"}, {"h"}, attribute("to", 1))
      .node("Concat", {"h"}, {"i"}, attribute("axis", 0))
      .node("Sum", {"i"}, {"j"})
      .node("Slice", {"j", "s", "e"}, {"k"})
      .node("Relu", {"k"}, {"y"})
      .output("y");
  EXPECT_EQ(operators(after(remove_identities, b)), "Relu");
}

TEST(Identities, WhatChangesSomethingStays) {
  ModelBuilder b(13);
  b.input("x", {1, 3})
      .floats("zero", {1}, {0})
      .floats("zeros", {2, 3}, {0, 0, 0, 0, 0, 0})
      .node("Sub", {"zero", "x"}, {"a"})   // a negation
      .node("Add", {"a", "zeros"}, {"b"})  // a broadcast
      .node("Transpose", {"b"}, {"c"})     // no perm: reversed
      .integers("s", {-1})
      .integers("e", {-100})
      .integers("axis", {0})
      .integers("back", {-1})
      .node("Slice", {"c", "s", "e", "axis", "back"}, {"y"})  // all of it, backwards
      .output("y");
  EXPECT_EQ(operators(after(remove_identities, b)), "Sub,Add,Transpose,Slice");
}

TEST(Identities, AnOutputMayBeAnInput) {
  ModelBuilder b;
  b.input("x", {2}).node("Identity", {"x"}, {"y"}).output("y");
  const Graph g = after(remove_identities, b);
  EXPECT_TRUE(g.nodes.empty());
  EXPECT_EQ(g.outputs[0], g.inputs[0]);
  EXPECT_EQ(g.output_names[0], "y");
}

TEST(Identities, MaskOfDropoutIsRefused) {
  ModelBuilder b(13);
  b.input("x", {2}).node("Dropout", {"x"}, {"d", "m"}).node("Relu", {"d"}, {"y"}).output("y").output("m", 9);
  Graph g = b.import();
  expect_error(ErrorCode::Unsupported, {"output 1", "Dropout_d"}, [&] { remove_identities(g); });
}

// --- affine ----------------------------------------------------------------------------------------------------------

/// conv(x: [2,4,5,5]) → 6 channels, followed by whatever the test adds to "c".
ModelBuilder conv_model(bool bias, std::int64_t groups = 1) {
  std::mt19937 random(3);
  ModelBuilder b(15);
  b.input("x", {2, 4, 5, 5}).floats("w", {6, 4 / groups, 3, 3}, random_numbers(random, 6 * (4 / groups) * 9));
  if (bias) b.floats("bias", {6}, random_numbers(random, 6));
  b.node("Conv", bias ? std::vector<std::string>{"x", "w", "bias"} : std::vector<std::string>{"x", "w"}, {"c"},
         attribute("pads", std::vector<std::int64_t>{1, 1, 1, 1}), attribute("group", groups));
  for (const std::string name : {"scale", "shift", "mean"}) b.floats(name, {6}, random_numbers(random, 6));
  b.floats("var", {6}, {0.5f, 1, 2, 0.25f, 3, 0.125f});
  b.floats("per_channel", {1, 6, 1, 1}, random_numbers(random, 6)).floats("factor", {1}, {0.25f});
  return b;
}

TEST(Affine, BatchNormDisappearsIntoTheConvolution) {
  for (const bool bias : {false, true}) {
    for (const std::int64_t groups : {1, 2}) {
      ModelBuilder b = conv_model(bias, groups);
      b.node("BatchNormalization", {"c", "scale", "shift", "mean", "var"}, {"y"}, attribute("epsilon", 1e-3f))
          .output("y");
      const Graph g = after(fold_affine, b);
      EXPECT_EQ(operators(g), "Conv");
      EXPECT_EQ(g.nodes[0].inputs.size(), 3u);
      EXPECT_EQ(g.nodes[0].origins, (std::vector<std::string>{"Conv_c", "BatchNormalization_y"}));
    }
  }
}

TEST(Affine, ChainsOfScalesAndShifts) {
  ModelBuilder b = conv_model(false);
  b.node("Mul", {"per_channel", "c"}, {"a"})
      .node("Sub", {"factor", "a"}, {"b"})
      .node("Div", {"b", "factor"}, {"d"})
      .node("Add", {"d", "per_channel"}, {"e"})
      .node("Sub", {"e", "factor"}, {"y"})
      .output("y");
  EXPECT_EQ(operators(after(fold_affine, b)), "Conv");
}

TEST(Affine, NotThroughASecondReader) {
  ModelBuilder b = conv_model(false);
  b.node("Mul", {"c", "factor"}, {"a"}).node("Add", {"a", "c"}, {"y"}).output("y");
  EXPECT_EQ(operators(after(fold_affine, b)), "Conv,Mul,Add");
  ModelBuilder c = conv_model(false);
  c.node("Mul", {"c", "factor"}, {"y"}).output("y").output("c");
  EXPECT_EQ(operators(after(fold_affine, c)), "Conv,Mul");
}

TEST(Affine, NotWhatVariesOverPixelsOrDividesByTheInput) {
  ModelBuilder b = conv_model(false);
  b.floats("row", {5}, {1, 2, 3, 4, 5}).node("Mul", {"c", "row"}, {"y"}).output("y");
  EXPECT_EQ(operators(after(fold_affine, b)), "Conv,Mul");
  ModelBuilder c = conv_model(true);
  c.node("Exp", {"c"}, {"e"}).node("Div", {"factor", "e"}, {"y"}).output("y");
  EXPECT_EQ(operators(after(fold_affine, c)), "Conv,Exp,Div");
}

TEST(Affine, BatchNormElsewhereBecomesMulAndAdd) {
  ModelBuilder b(15);
  b.input("x", {2, 3, 2, 2}).floats("s", {3}, {1, 2, 3}).floats("t", {3}, {4, 5, 6}).floats("m", {3}, {-1, 0, 1});
  b.floats("v", {3}, {1, 4, 0.25f}).node("Relu", {"x"}, {"r"});
  b.node("BatchNormalization", {"r", "s", "t", "m", "v"}, {"y"}).output("y");
  EXPECT_EQ(operators(after(fold_affine, b)), "Relu,Mul,Add");
}

TEST(Affine, BatchNormErrors) {
  ModelBuilder b = conv_model(false);
  b.input("live", {6}).node("BatchNormalization", {"c", "scale", "shift", "live", "var"}, {"y"}).output("y");
  EXPECT_EQ(operators(after(fold_affine, b)), "Conv,BatchNormalization");  // not known ahead: it stays
  ModelBuilder c = conv_model(false);
  c.node("BatchNormalization", {"c", "scale", "shift", "mean", "var"}, {"y"}, attribute("training_mode", 1))
      .output("y");
  expect_error(ErrorCode::Unsupported, {"training"}, [&] { optimise(c.import(), {}); });
}

// --- patterns --------------------------------------------------------------------------------------------------------

TEST(Patterns, HardSwishInEachSpelling) {
  const auto base = [](int opset = 13) {
    ModelBuilder b(opset);
    b.input("x", {3, 4}).floats("three", {1}, {3}).floats("six", {1}, {6}).floats("sixth", {1}, {1.0f / 6});
    b.floats("lo", {}, {0}).floats("hi", {}, {6});
    return b;
  };
  ModelBuilder a = base();  // x·clip(x + 3)/6
  a.node("Add", {"x", "three"}, {"s"}).node("Clip", {"s", "lo", "hi"}, {"c"}).node("Mul", {"x", "c"}, {"m"});
  a.node("Div", {"m", "six"}, {"y"}).output("y");
  ModelBuilder b = base();  // x·(clip(3 + x)·(1/6))
  b.node("Add", {"three", "x"}, {"s"}).node("Clip", {"s", "lo", "hi"}, {"c"}).node("Mul", {"sixth", "c"}, {"m"});
  b.node("Mul", {"m", "x"}, {"y"}).output("y");
  ModelBuilder c = base();  // x·HardSigmoid(x)
  c.node("HardSigmoid", {"x"}, {"s"}, attribute("alpha", 1.0f / 6), attribute("beta", 0.5f));
  c.node("Mul", {"s", "x"}, {"y"}).output("y");
  ModelBuilder d = base(9);  // bounds as attributes
  d.node("Add", {"x", "three"}, {"s"}).node("Clip", {"s"}, {"c"}, attribute("min", 0.0f), attribute("max", 6.0f));
  d.node("Div", {"c", "six"}, {"m"}).node("Mul", {"x", "m"}, {"y"}).output("y");
  for (const ModelBuilder& model : {a, b, c, d}) EXPECT_EQ(operators(after(recognise_patterns, model)), "HardSwish");
}

TEST(Patterns, OriginsAreKept) {
  ModelBuilder b(13);
  b.input("x", {3}).floats("three", {1}, {3}).floats("six", {1}, {6}).floats("lo", {}, {0}).floats("hi", {}, {6});
  b.node("Add", {"x", "three"}, {"s"}).node("Clip", {"s", "lo", "hi"}, {"c"}).node("Mul", {"x", "c"}, {"m"});
  b.node("Div", {"m", "six"}, {"y"}).output("y");
  EXPECT_EQ(after(recognise_patterns, b).nodes[0].origins,
            (std::vector<std::string>{"Add_s", "Clip_c", "Mul_m", "Div_y"}));
}

TEST(Patterns, NearMissesStay) {
  const auto model = [](float offset, float top, float divisor) {
    ModelBuilder b(13);
    b.input("x", {3, 4})
        .floats("o", {1}, {offset})
        .floats("d", {1}, {divisor})
        .floats("lo", {}, {0})
        .floats("hi", {}, {top});
    b.node("Add", {"x", "o"}, {"s"}).node("Clip", {"s", "lo", "hi"}, {"c"}).node("Mul", {"x", "c"}, {"m"});
    b.node("Div", {"m", "d"}, {"y"}).output("y");
    return b;
  };
  EXPECT_EQ(operators(after(recognise_patterns, model(3, 6, 6))), "HardSwish");
  EXPECT_EQ(operators(after(recognise_patterns, model(2, 6, 6))), "Add,Clip,Mul,Div");
  EXPECT_EQ(operators(after(recognise_patterns, model(3, 5, 6))), "Add,Clip,Mul,Div");
  EXPECT_EQ(operators(after(recognise_patterns, model(3, 6, 5))), "Add,Clip,Mul,Div");
}

TEST(Patterns, HardSigmoid) {
  ModelBuilder b(13);
  b.input("x", {3, 4})
      .floats("two", {1}, {2})
      .floats("quarter", {1}, {0.25f})
      .floats("lo", {}, {0})
      .floats("hi", {}, {4});
  b.node("Add", {"x", "two"}, {"s"})
      .node("Clip", {"s", "lo", "hi"}, {"c"})
      .node("Mul", {"c", "quarter"}, {"y"})
      .output("y");
  const Graph g = after(recognise_patterns, b);
  ASSERT_EQ(operators(g), "HardSigmoid");
  EXPECT_DOUBLE_EQ(g.nodes[0].attributes.number("alpha", 0), 0.25);
  EXPECT_DOUBLE_EQ(g.nodes[0].attributes.number("beta", 0), 0.5);
}

TEST(Patterns, GeluInEachOrder) {
  const auto base = [] {
    ModelBuilder b(13);
    b.input("x", {3, 4}).floats("root", {1}, {std::sqrt(2.0f)}).floats("inverse", {1}, {std::sqrt(0.5f)});
    b.floats("one", {1}, {1}).floats("half", {1}, {0.5f}).floats("two", {1}, {2});
    return b;
  };
  ModelBuilder a = base();
  a.node("Div", {"x", "root"}, {"d"}).node("Erf", {"d"}, {"e"}).node("Add", {"e", "one"}, {"p"});
  a.node("Mul", {"x", "p"}, {"m"}).node("Mul", {"m", "half"}, {"y"}).output("y");
  ModelBuilder b = base();
  b.node("Mul", {"inverse", "x"}, {"d"}).node("Erf", {"d"}, {"e"}).node("Add", {"one", "e"}, {"p"});
  b.node("Mul", {"half", "x"}, {"m"}).node("Mul", {"p", "m"}, {"y"}).output("y");
  ModelBuilder c = base();
  c.node("Div", {"x", "root"}, {"d"}).node("Erf", {"d"}, {"e"}).node("Add", {"e", "one"}, {"p"});
  c.node("Div", {"p", "two"}, {"m"}).node("Mul", {"m", "x"}, {"y"}).output("y");
  for (const ModelBuilder& model : {a, b, c}) EXPECT_EQ(operators(after(recognise_patterns, model)), "Gelu");
}

ModelBuilder layer_norm(bool squares_by_mul, bool shift, int opset, std::int64_t axis = -1) {
  ModelBuilder b(opset);
  b.input("x", {2, 3, 4}).floats("two", {}, {2}).floats("eps", {1}, {1e-5f}).integers("axes", {axis});
  b.floats("gamma", {4}, {1, 2, 3, 4}).floats("beta", {4}, {4, 3, 2, 1});
  const auto mean = [&](const std::string& in, const std::string& out) {
    if (opset < 18) b.node("ReduceMean", {in}, {out}, attribute("axes", std::vector<std::int64_t>{axis}));
    if (opset >= 18) b.node("ReduceMean", {in, "axes"}, {out});
  };
  mean("x", "m");
  b.node("Sub", {"x", "m"}, {"d"});
  if (squares_by_mul) b.node("Mul", {"d", "d"}, {"q"});
  if (!squares_by_mul) b.node("Pow", {"d", "two"}, {"q"});
  mean("q", "v");
  b.node("Add", {"v", "eps"}, {"ve"}).node("Sqrt", {"ve"}, {"r"}).node("Div", {"d", "r"}, {"n"});
  b.node("Mul", {"n", "gamma"}, {shift ? "g" : "y"});
  if (shift) b.node("Add", {"g", "beta"}, {"y"});
  b.output("y");
  return b;
}

TEST(Patterns, LayerNorm) {
  for (const bool by_mul : {false, true}) {
    for (const bool shift : {false, true}) {
      for (const int opset : {13, 18}) {
        const Graph g = after(recognise_patterns, layer_norm(by_mul, shift, opset));
        ASSERT_EQ(operators(g), "LayerNormalization");
        EXPECT_EQ(g.nodes[0].inputs.size(), shift ? 3u : 2u);
        EXPECT_EQ(g.nodes[0].attributes.integer("axis"), 2);
      }
    }
  }
}

TEST(Patterns, MeanOverTheMiddleIsNoLayerNorm) {
  EXPECT_NE(operators(after(recognise_patterns, layer_norm(true, true, 13, 1))), "LayerNormalization");
}

// --- Gemm ------------------------------------------------------------------------------------------------------------

TEST(SplitGemm, BecomesMatMulAndAdd) {
  std::mt19937 random(5);
  for (const bool transposed : {false, true}) {
    for (const float alpha : {1.0f, 0.5f}) {
      ModelBuilder b(13);
      b.input("x", {2, 3})
          .floats("w", transposed ? std::vector<std::int64_t>{4, 3} : std::vector<std::int64_t>{3, 4},
                  random_numbers(random, 12));
      b.floats("c", {4}, {1, 2, 3, 4});
      b.node("Gemm", {"x", "w", "c"}, {"y"}, attribute("transB", transposed ? 1 : 0), attribute("alpha", alpha),
             attribute("beta", 2.0f));
      b.output("y");
      EXPECT_EQ(operators(after(split_gemm, b)), "MatMul,Add");
    }
  }
}

TEST(SplitGemm, WhatNeedsWorkAtRunTimeStays) {
  ModelBuilder b(13);
  b.input("x", {3, 2})
      .floats("w", {3, 4}, std::vector<float>(12, 1))
      .node("Gemm", {"x", "w"}, {"y"}, attribute("transA", 1));
  b.output("y");
  EXPECT_EQ(operators(after(split_gemm, b)), "Gemm");
  ModelBuilder c(13);
  c.input("x", {2, 3}).input("w", {4, 3}).node("Gemm", {"x", "w"}, {"y"}, attribute("transB", 1)).output("y");
  EXPECT_EQ(operators(after(split_gemm, c)), "Gemm");
}

// --- layout ----------------------------------------------------------------------------------------------------------

/// A 3x3 convolution from `in` to `out`, with its own weights.
void add_conv(ModelBuilder& b, const std::string& in, const std::string& out, std::int64_t ic, std::int64_t oc) {
  std::mt19937 random(static_cast<std::uint32_t>(out[0]));
  b.floats("w" + out, {oc, ic, 3, 3}, random_numbers(random, oc * ic * 9));
  b.node("Conv", {in, "w" + out}, {out}, attribute("pads", std::vector<std::int64_t>{1, 1, 1, 1}));
}

TEST(Layout, TransposesStandOnlyAtTheBorders) {
  ModelBuilder b(13);
  b.input("x", {2, 3, 4, 5}).floats("pc", {5, 1, 1}, {1, 2, 3, 4, 5}).floats("row", {5}, {5, 4, 3, 2, 1});
  add_conv(b, "x", "a", 3, 5);
  b.node("Relu", {"a"}, {"r"}).node("Mul", {"r", "pc"}, {"m"}).node("Add", {"row", "m"}, {"n"});
  add_conv(b, "n", "d", 5, 5);
  b.node("Add", {"d", "r"}, {"e"});
  b.node("MaxPool", {"e"}, {"p"}, attribute("kernel_shape", std::vector<std::int64_t>{2, 2})).output("p");
  const Graph g = after(assign_nhwc, b);
  EXPECT_EQ(operators(g), "Conv,Relu,Mul,Add,Conv,Add,MaxPool,Transpose");
  EXPECT_EQ(g.sizes(g.nodes[0].outputs[0]), (Sizes{2, 4, 5, 5}));
  EXPECT_EQ(g.sizes(g.outputs[0]), (Sizes{2, 5, 3, 4}));
}

TEST(Layout, ImagesAreReadAsTheyAre) {
  const auto model = [](std::int64_t ic, std::int64_t groups, std::int64_t kernel) {
    std::mt19937 random(8);
    ModelBuilder b(13);
    b.input("x", {2, ic, 4, 5})
        .floats("w", {ic, ic / groups, kernel, kernel}, random_numbers(random, ic * ic / groups * kernel * kernel));
    b.node("Conv", {"x", "w"}, {"y"}, attribute("group", groups)).output("y");
    return operators(after(assign_nhwc, b));
  };
  EXPECT_EQ(model(3, 1, 3), "Conv,Transpose");
  EXPECT_EQ(model(9, 1, 3), "Transpose,Conv,Transpose");  // channels that lie together are read faster
  EXPECT_EQ(model(3, 3, 3), "Transpose,Conv,Transpose");  // depthwise: the vector runs over the channels
  EXPECT_EQ(model(3, 1, 1), "Transpose,Conv,Transpose");  // a product
  // Where the NHWC copy is there anyhow, it is read.
  ModelBuilder b(13);
  b.input("x", {2, 3, 4, 5}).node("MaxPool", {"x"}, {"p"}, attribute("kernel_shape", std::vector<std::int64_t>{1, 1}));
  add_conv(b, "x", "a", 3, 3);
  b.node("Add", {"p", "a"}, {"y"}).output("y");
  EXPECT_EQ(operators(after(assign_nhwc, b)), "Transpose,MaxPool,Conv,Add,Transpose");
}

TEST(Layout, OneElementMapsAreReshaped) {
  ModelBuilder b(13);
  b.input("x", {2, 3, 4, 5});
  add_conv(b, "x", "a", 3, 4);
  b.node("GlobalAveragePool", {"a"}, {"p"}).node("Flatten", {"p"}, {"f"}).node("Softmax", {"f"}, {"y"}).output("y");
  EXPECT_EQ(operators(after(assign_nhwc, b)), "Conv,GlobalAveragePool,Reshape,Flatten,Softmax");
}

TEST(Layout, AModelsOwnTransposeIsAbsorbed) {
  ModelBuilder b(13);
  b.input("x", {2, 3, 4, 5});
  add_conv(b, "x", "a", 3, 4);
  b.node("Transpose", {"a"}, {"y"}, attribute("perm", std::vector<std::int64_t>{0, 2, 3, 1})).output("y");
  EXPECT_EQ(operators(after(assign_nhwc, b)), "Conv,Reshape");
  ModelBuilder c(13);
  c.input("x", {2, 3, 4, 5});
  add_conv(c, "x", "a", 3, 4);
  c.node("Transpose", {"a"}, {"y"}, attribute("perm", std::vector<std::int64_t>{0, 3, 1, 2})).output("y");
  EXPECT_EQ(operators(after(assign_nhwc, c)), "Conv,Transpose");
}

TEST(Layout, ConcatAndReductionsFollow) {
  ModelBuilder b(13);
  b.input("x", {2, 3, 4, 5});
  add_conv(b, "x", "a", 3, 4);
  add_conv(b, "x", "b", 3, 2);
  b.node("Concat", {"a", "b"}, {"c"}, attribute("axis", -3));
  b.node("ReduceMean", {"c"}, {"m"}, attribute("axes", std::vector<std::int64_t>{-1, 2}), attribute("keepdims", 0))
      .output("m");
  b.node("ReduceMax", {"c"}, {"n"}, attribute("axes", std::vector<std::int64_t>{1})).output("n");
  // [2,1,4,5] and [2,4,5,1] hold the same bytes in the same order.
  EXPECT_EQ(operators(after(assign_nhwc, b)), "Conv,Conv,Concat,ReduceMean,ReduceMax,Reshape");
}

TEST(Layout, OtherOperatorsStayAsWritten) {
  ModelBuilder b(13);
  b.input("x", {2, 3, 4, 4});
  add_conv(b, "x", "a", 3, 4);
  b.node("Softmax", {"a"}, {"s"}, attribute("axis", 1)).node("MatMul", {"s", "s"}, {"y"}).output("y");
  EXPECT_EQ(operators(after(assign_nhwc, b)), "Conv,Transpose,Softmax,MatMul");
}

TEST(Layout, GraphsWithoutConvolutionsAreUntouched) {
  ModelBuilder b(13);
  b.input("x", {2, 3, 4, 4}).node("Relu", {"x"}, {"a"}).node("Softmax", {"a"}, {"y"}).output("y");
  EXPECT_EQ(operators(after(assign_nhwc, b)), "Relu,Softmax");
}

// --- pipeline --------------------------------------------------------------------------------------------------------

TEST(Pipeline, PassesCanBeDisabledByName) {
  ModelBuilder b = conv_model(false);
  b.node("BatchNormalization", {"c", "scale", "shift", "mean", "var"}, {"y"}).output("y");
  EXPECT_EQ(operators(optimise(b.import(), {})), "Conv,Transpose");
  EXPECT_EQ(operators(optimise(b.import(), {}, {"layout"})), "Conv");
  EXPECT_EQ(operators(optimise(b.import(), {}, {"layout", "affine"})), "Conv,BatchNormalization");
}

TEST(Pipeline, FusionCanBeDisabledToo) {
  ModelBuilder b = conv_model(true);
  b.node("Relu", {"c"}, {"y"}).output("y");
  EXPECT_EQ(make_program(b.import(), {}).steps.size(), 2u);
  EXPECT_EQ(make_program(b.import(), {}, {"fusion"}).steps.size(), 3u);
}

TEST(Pipeline, UnknownAndRequiredPassesAreErrors) {
  ModelBuilder b = conv_model(false);
  b.output("c");
  expect_error(ErrorCode::InvalidArgument, {"no graph pass called 'magic'", "layout"},
               [&] { optimise(b.import(), {}, {"magic"}); });
  expect_error(ErrorCode::InvalidArgument, {"'infer' cannot be disabled"},
               [&] { optimise(b.import(), {}, {"infer"}); });
}

}  // namespace
}  // namespace temper::graph
