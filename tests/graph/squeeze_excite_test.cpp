// Squeeze-excite with fewer passes over its pixels: what the pass does, what it leaves alone, and what fusion makes of
// it.
#include "temper/graph/passes/squeeze_excite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "graph/model_builder.h"
#include "graph/numbers.h"
#include "graph/run_pass.h"
#include "temper/graph/pipeline.h"
#include "temper/graph/repetition.h"

namespace temper::graph {
namespace {

using testing::after;
using testing::attribute;
using ::testing::ElementsAre;
using testing::expect_close;
using ::testing::HasSubstr;
using testing::ModelBuilder;
using testing::operators;
using testing::random_inputs;
using testing::random_numbers;

using List = std::vector<std::int64_t>;

class Model : public ModelBuilder {
 public:
  explicit Model(int opset = 18) : ModelBuilder(opset) {}
  Model& input(const std::string& name, const std::vector<testing::Dim>& dims) {
    ModelBuilder::input(name, dims);
    return *this;
  }
  Model& random(const std::string& name, const List& shape) {
    floats(name, shape, random_numbers(random_, element_count(shape)));
    return *this;
  }

 private:
  std::mt19937 random_{5};
};

std::string simplified(const ModelBuilder& b) { return operators(after(simplify_squeeze_excite, b)); }

// --- y + y * s -------------------------------------------------------------------------------------------------------

TEST(ScaledSums, AreOneProduct) {
  for (const bool value_first : {false, true}) {
    for (const bool product_first : {false, true}) {
      Model b;
      b.input("y", {2, 3, 4, 5}).input("s", {2, 3, 1, 1});
      b.node("Mul", value_first ? std::vector<std::string>{"y", "s"} : std::vector<std::string>{"s", "y"}, {"p"});
      b.node("Add", product_first ? std::vector<std::string>{"p", "y"} : std::vector<std::string>{"y", "p"}, {"z"});
      b.node("Relu", {"z"}, {"out"}).output("out");
      EXPECT_EQ(simplified(b), "Add,Mul,Relu") << value_first << product_first;
    }
  }
}

TEST(ScaledSums, StayWhereTheScaleIsNotSmallOrIsReadElsewhere) {
  Model same;
  same.input("y", {2, 3, 4, 5}).input("s", {2, 3, 4, 5}).node("Mul", {"y", "s"}, {"p"}).node("Add", {"p", "y"}, {"z"});
  same.output("z");
  EXPECT_EQ(simplified(same), "Mul,Add");
  Model read;
  read.input("y", {2, 3, 4, 5}).input("s", {2, 3, 1, 1}).node("Mul", {"y", "s"}, {"p"}).node("Add", {"p", "y"}, {"z"});
  read.output("z").output("p");
  EXPECT_EQ(simplified(read), "Mul,Add");
  Model wide;  // y itself is what is broadcast
  wide.input("y", {2, 3, 1, 1}).input("s", {2, 3, 4, 5}).node("Mul", {"y", "s"}, {"p"}).node("Add", {"p", "y"}, {"z"});
  wide.output("z");
  EXPECT_EQ(simplified(wide), "Mul,Add");
  Model square;
  square.input("y", {1, 3}).node("Mul", {"y", "y"}, {"p"}).node("Add", {"p", "y"}, {"z"}).output("z");
  EXPECT_EQ(simplified(square), "Mul,Add");
  Model other;
  other.input("y", {2, 3}).input("x", {2, 3}).input("s", {3}).node("Mul", {"x", "s"}, {"p"});
  other.node("Add", {"p", "y"}, {"z"}).output("z");
  EXPECT_EQ(simplified(other), "Mul,Add");
}

// --- mean(conv(x)) ---------------------------------------------------------------------------------------------------

/// A convolution that two read: a mean of its pixels, and the caller.
Model mean_of_convolution(const List& weights, std::int64_t groups = 1, const List& strides = {1, 1},
                          const List& pads = {0, 0, 0, 0}) {
  Model b;
  b.input("x", {2, weights[1] * groups, 4, 5}).random("w", weights).random("bias", {weights[0]});
  b.node("Conv", {"x", "w", "bias"}, {"y"}, attribute("group", groups), attribute("strides", strides),
         attribute("pads", pads));
  b.node("GlobalAveragePool", {"y"}, {"m"}).node("Mul", {"y", "m"}, {"z"}).output("z");
  return b;
}

TEST(Means, AreTakenBeforePointwiseConvolutions) {
  EXPECT_EQ(simplified(mean_of_convolution({9, 2, 1, 1})), "Conv,GlobalAveragePool,Conv,Mul");
  const Graph g = after(simplify_squeeze_excite, mean_of_convolution({9, 2, 1, 1}));
  EXPECT_EQ(g.sizes(g.nodes[1].inputs[0]), (Sizes{2, 2, 4, 5}));
  EXPECT_EQ(g.sizes(g.nodes[2].outputs[0]), (Sizes{2, 9, 1, 1}));
  const Graph grouped = after(simplify_squeeze_excite, mean_of_convolution({12, 2, 1, 1}, 3));
  EXPECT_EQ(grouped.sizes(grouped.nodes[1].inputs[0]), (Sizes{2, 6, 4, 5}));
}

TEST(Means, StayWhereTheInputIsMoreToRead) {
  for (const ModelBuilder& b :
       {mean_of_convolution({4, 9, 1, 1}), mean_of_convolution({9, 9, 1, 1}),
        mean_of_convolution({9, 2, 3, 3}, 1, {1, 1}, {1, 1, 1, 1}), mean_of_convolution({9, 2, 1, 1}, 1, {2, 1}),
        mean_of_convolution({9, 2, 1, 1}, 1, {1, 1}, {0, 1, 0, 1})}) {
    const Graph g = after(simplify_squeeze_excite, b);
    EXPECT_EQ(operators(g), "Conv,GlobalAveragePool,Mul");
    EXPECT_EQ(g.nodes[1].inputs[0], g.nodes[0].outputs[0]);
  }
}

TEST(Means, ThatAloneReadAConvolutionAreTakenBeforeIt) {
  Model b;
  b.input("x", {2, 9, 4, 5}).random("w", {4, 9, 1, 1}).node("Conv", {"x", "w"}, {"y"});
  b.node("GlobalAveragePool", {"y"}, {"m"}).output("m");
  const Graph g = after(simplify_squeeze_excite, b);
  EXPECT_EQ(operators(g), "GlobalAveragePool,Conv");
  EXPECT_EQ(g.sizes(g.nodes[0].inputs[0]), (Sizes{2, 9, 4, 5}));
}

TEST(Means, OfAnyRankAndByAnyName) {
  const auto reduced = [](int opset, const List& axes, int keep) {
    Model b(opset);
    b.input("x", {2, 3, 7}).random("w", {11, 3, 1}).node("Conv", {"x", "w"}, {"y"});
    if (opset < 18) {
      b.node("ReduceMean", {"y"}, {"m"}, attribute("axes", axes), attribute("keepdims", keep));
    } else {
      b.integers("axes", axes).node("ReduceMean", {"y", "axes"}, {"m"}, attribute("keepdims", keep));
    }
    b.node("Relu", {"m"}, {"out"}).output("out");
    return simplified(b);
  };
  EXPECT_EQ(reduced(18, {-1}, 1), "ReduceMean,Conv,Relu");
  EXPECT_EQ(reduced(13, {2}, 1), "ReduceMean,Conv,Relu");
  EXPECT_EQ(reduced(18, {1}, 1), "Conv,ReduceMean,Relu");
  EXPECT_EQ(reduced(18, {2}, 0), "Conv,ReduceMean,Relu");
}

// --- conv(conv(x)) ---------------------------------------------------------------------------------------------------

TEST(PointwiseConvolutionsInARow, AreOneWhereThatHasFewerWeights) {
  for (const bool first : {false, true}) {
    for (const bool second : {false, true}) {
      Model b;
      b.input("x", {2, 3, 4, 5}).random("v", {16, 3, 1, 1}).random("w", {6, 16, 1, 1});
      b.random("a", {16}).random("c", {6});
      b.node("Conv", first ? std::vector<std::string>{"x", "v", "a"} : std::vector<std::string>{"x", "v"}, {"y"});
      b.node("Conv", second ? std::vector<std::string>{"y", "w", "c"} : std::vector<std::string>{"y", "w"}, {"z"});
      b.output("z");
      const Graph g = after(simplify_squeeze_excite, b);
      ASSERT_EQ(operators(g), "Conv");
      EXPECT_EQ(g.sizes(g.nodes[0].inputs[1]), (Sizes{6, 3, 1, 1}));
      EXPECT_EQ(g.nodes[0].origins.size(), 2U);
    }
  }
}

TEST(PointwiseConvolutionsInARow, StayWhereTheyAreNarrowBetween) {
  Model narrow;
  narrow.input("x", {2, 8, 4, 5}).random("v", {3, 8, 1, 1}).random("w", {8, 3, 1, 1});
  narrow.node("Conv", {"x", "v"}, {"y"}).node("Conv", {"y", "w"}, {"z"}).output("z");
  EXPECT_EQ(simplified(narrow), "Conv,Conv");
  Model read;
  read.input("x", {2, 3, 4, 5}).random("v", {16, 3, 1, 1}).random("w", {6, 16, 1, 1});
  read.node("Conv", {"x", "v"}, {"y"}).node("Conv", {"y", "w"}, {"z"}).output("z").output("y");
  EXPECT_EQ(simplified(read), "Conv,Conv");
  Model padded;
  padded.input("x", {2, 3, 4, 5}).random("v", {16, 3, 1, 1}).random("w", {6, 16, 1, 1}).random("a", {16});
  padded.node("Conv", {"x", "v", "a"}, {"y"});
  padded.node("Conv", {"y", "w"}, {"z"}, attribute("pads", List{0, 1, 0, 1})).output("z");
  EXPECT_EQ(simplified(padded), "Conv,Conv");
}

// --- repeated pixels -------------------------------------------------------------------------------------------------

std::optional<Sizes> repeated(const std::string& mode, const std::string& coordinates, const std::string& rounding,
                              const List& sizes) {
  Model b;
  b.input("x", {1, 2, 3, 4}).integers("to", sizes);
  b.node("Resize", {"x", "", "", "to"}, {"y"}, attribute("mode", mode),
         attribute("coordinate_transformation_mode", coordinates), attribute("nearest_mode", rounding));
  b.output("y");
  const Graph g = testing::prepared(b);
  return repetition(g, g.nodes.back());
}

TEST(Repetition, OfWholeFactorsToTheNearestPixel) {
  EXPECT_EQ(repeated("nearest", "asymmetric", "floor", {1, 2, 6, 12}), (Sizes{1, 1, 2, 3}));
  EXPECT_EQ(repeated("nearest", "half_pixel", "round_prefer_floor", {1, 2, 3, 8}), (Sizes{1, 1, 1, 2}));
  EXPECT_EQ(repeated("nearest", "half_pixel", "round_prefer_ceil", {1, 2, 15, 4}), (Sizes{1, 1, 5, 1}));
  EXPECT_EQ(repeated("nearest", "asymmetric", "ceil", {1, 2, 6, 8}), std::nullopt);
  EXPECT_EQ(repeated("nearest", "asymmetric", "floor", {1, 2, 5, 8}), std::nullopt);
  EXPECT_EQ(repeated("linear", "asymmetric", "floor", {1, 2, 6, 8}), std::nullopt);
}

TEST(Repetition, OfNothingElse) {
  Model b;
  b.input("x", {1, 2, 3, 3}).input("z", {1, 2, 3, 3});
  b.node("Transpose", {"x"}, {"y"}, attribute("perm", List{0, 1, 3, 2}));
  b.node("Concat", {"x", "z"}, {"c"}, attribute("axis", 3)).node("Relu", {"x"}, {"r"});
  b.output("y").output("c").output("r");
  const Graph g = testing::prepared(b);
  for (const Node& node : g.nodes) EXPECT_EQ(repetition(g, node), std::nullopt) << node.op;
}

// --- whole blocks ----------------------------------------------------------------------------------------------------

/// Steps, by the model's nodes that each computes; checks that they compute what the nodes do.
std::vector<std::string> steps(const ModelBuilder& b, std::vector<std::string>* keys = nullptr) {
  const Graph plain =
      optimise(b.import(), {}, {"identities", "patterns", "affine", "excite", "rank", "transposed", "gemm", "layout"});
  const Program program = testing::nhwc_program(b);
  const NamedTensors inputs = random_inputs(plain, 5);
  expect_close(evaluate(program, inputs), evaluate(plain, inputs));
  std::vector<std::string> texts;
  for (const Step& step : program.steps) {
    std::string text;
    for (const std::string& node : step.nodes) text += (text.empty() ? "" : "+") + node;
    texts.push_back(text);
    if (keys != nullptr) keys->push_back(program.tasks[static_cast<std::size_t>(step.task)].key.text());
  }
  return texts;
}

/// conv(x) + conv(x)·gate(mean(conv(x))) + upsampled(low), as feature pyramids have it.
Model pyramid(std::int64_t images, bool upsampled = true) {
  Model b;
  b.input("x", {images, 2, 4, 6}).random("w", {9, 2, 1, 1}).random("v", {3, 9, 1, 1}).random("u", {9, 3, 1, 1});
  b.node("MaxPool", {"x"}, {"in"}, attribute("kernel_shape", List{1, 1}));
  b.node("Conv", {"in", "w"}, {"y"}).node("GlobalAveragePool", {"y"}, {"m"}).node("Conv", {"m", "v"}, {"a"});
  b.node("Relu", {"a"}, {"r"}).node("Conv", {"r", "u"}, {"c"}).node("HardSigmoid", {"c"}, {"s"});
  b.node("Mul", {"y", "s"}, {"p"}).node("Add", {"y", "p"}, {"z"});
  if (!upsampled) {
    b.node("Relu", {"z"}, {"out"}).output("out");
    return b;
  }
  b.random("t", {9, 2, 1, 1}).floats("scales", {4}, {1, 1, 2, 2});
  b.node("MaxPool", {"in"}, {"small"}, attribute("kernel_shape", List{2, 2}), attribute("strides", List{2, 2}));
  b.node("Conv", {"small", "t"}, {"low"});
  b.node("Resize", {"low", "", "scales"}, {"up"}, attribute("mode", std::string("nearest")));
  b.node("Add", {"z", "up"}, {"sum"}).node("Relu", {"sum"}, {"out"}).output("out");
  return b;
}

TEST(SqueezeExcite, ScalesInTheConvolutionAndReadsWhatIsUpsampledThere) {
  std::vector<std::string> keys;
  const std::vector<std::string> found = steps(pyramid(2), &keys);
  EXPECT_THAT(found, ::testing::Contains("Conv_y+Mul_p+Add_z+Resize_up+Add_sum+Relu_out"));
  EXPECT_THAT(keys, ::testing::Contains(::testing::AllOf(HasSubstr("conv2d(n=2,ic=2,h=4,w=6,oc=9"),
                                                         HasSubstr("epilogue=imagemul+upadd+relu"))));
  EXPECT_THAT(keys, ::testing::Not(::testing::Contains(HasSubstr("resize("))));
}

TEST(SqueezeExcite, OfOneImageIsAProduct) {
  std::vector<std::string> keys;
  steps(pyramid(1, false), &keys);
  EXPECT_THAT(keys, ::testing::Contains(::testing::AllOf(HasSubstr("matmul(batch=1,m=24,n=9,k=2"),
                                                         HasSubstr("epilogue=imagemul+relu"))));
  keys.clear();
  steps(pyramid(2, false), &keys);
  EXPECT_THAT(keys, ::testing::Contains(HasSubstr("conv2d(n=2,ic=2,h=4,w=6,oc=9")));
}

TEST(SqueezeExcite, WhatIsUpsampledForTwoReadersIsAStep) {
  Model b;
  b.input("x", {1, 2, 4, 6}).input("low", {1, 9, 2, 3}).random("w", {9, 2, 1, 1});
  b.floats("scales", {4}, {1, 1, 2, 2})
      .node("Resize", {"low", "", "scales"}, {"up"}, attribute("mode", std::string("nearest")));
  b.node("Conv", {"x", "w"}, {"y"}).node("Add", {"y", "up"}, {"z"}).output("z").output("up");
  EXPECT_THAT(steps(b), ::testing::Contains("Resize_up"));
}

TEST(SqueezeExcite, WhatIsInterpolatedIsAStep) {
  Model b;
  b.input("x", {1, 2, 4, 6}).input("low", {1, 9, 2, 3}).random("w", {9, 2, 1, 1});
  b.floats("scales", {4}, {1, 1, 2, 2})
      .node("Resize", {"low", "", "scales"}, {"up"}, attribute("mode", std::string("linear")));
  b.node("Conv", {"x", "w"}, {"y"}).node("Add", {"y", "up"}, {"z"}).output("z");
  EXPECT_THAT(steps(b), ::testing::Contains("Resize_up"));
}

}  // namespace
}  // namespace temper::graph
