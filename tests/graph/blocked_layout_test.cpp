// Chains in blocks of channels: what follows, what does not, what padded lanes hold, and that nothing else changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/run_pass.h"
#include "temper/graph/passes/layout_choice.h"
#include "temper/graph/pipeline.h"

namespace temper::graph {
namespace {

using ops::Layout;
using testing::attribute;
using testing::expect_close;
using ::testing::HasSubstr;
using testing::ModelBuilder;
using testing::prepared;
using testing::random_inputs;
using testing::random_numbers;

using List = std::vector<std::int64_t>;

void add_conv(ModelBuilder& b, const std::string& in, const std::string& out, std::int64_t ic, std::int64_t oc,
              std::int64_t kernel = 3, std::int64_t groups = 1, bool bias = false) {
  std::mt19937 random(static_cast<std::uint32_t>(out[0]));
  b.floats("w" + out, {oc, ic / groups, kernel, kernel}, random_numbers(random, oc * ic / groups * kernel * kernel));
  std::vector<std::string> inputs{in, "w" + out};
  if (bias) {
    b.floats("b" + out, {oc}, random_numbers(random, oc));
    inputs.push_back("b" + out);
  }
  b.node("Conv", inputs, {out}, attribute("pads", List(4, kernel / 2)), attribute("group", groups));
}

Graph in_blocks(const Graph& before, Layout blocks) {
  Graph g = before;
  assign_layouts(g, Layouts(find_chains(g, blocks).size(), blocks));
  verify(g);
  return g;
}

/// All chains of the model in blocks; it must compute the same, node by node and as fused steps.
Graph checked(const ModelBuilder& b, Layout blocks = Layout::Nchw8c) {
  const Graph before = prepared(b);
  Graph g = in_blocks(before, blocks);
  const NamedTensors inputs = random_inputs(before, 7);
  const auto expected = evaluate(before, inputs);
  expect_close(evaluate(g, inputs), expected);
  expect_close(evaluate(extract_tasks(g), inputs), expected);
  return g;
}

Layout layout_of(const Graph& g, const std::string& op) {
  const auto found = std::ranges::find(g.nodes, op, &Node::op);
  EXPECT_NE(found, g.nodes.end()) << op;
  return found->layout;
}

std::vector<std::string> keys(const Program& program) {
  std::vector<std::string> result;
  for (const Task& task : program.tasks) result.push_back(task.key.text());
  return result;
}

/// x → convolution → Relu → depthwise → 1x1 → + → 1x1 of the mean, with `channels` in the middle.
ModelBuilder residual(std::int64_t channels) {
  ModelBuilder b(14);
  b.input("x", {2, 3, 5, 4});
  add_conv(b, "x", "a", 3, channels, 3, 1, true);
  b.node("Relu", {"a"}, {"r"});
  add_conv(b, "r", "d", channels, channels, 3, channels, true);
  b.node("HardSwish", {"d"}, {"h"});
  add_conv(b, "h", "p", channels, channels, 1);
  b.node("Add", {"p", "r"}, {"s"}).node("GlobalAveragePool", {"s"}, {"g"});
  add_conv(b, "g", "q", channels, 5, 1);
  b.node("Flatten", {"q"}, {"y"}).output("y").output("s");
  return b;
}

TEST(Blocks, OddNumbersOfChannelsComputeTheSame) {
  for (const std::int64_t channels : {3, 7, 16, 24, 40}) {
    for (const Layout blocks : {Layout::Nchw8c, Layout::Nchw16c}) {
      SCOPED_TRACE(std::to_string(channels) + " " + std::string(ops::to_string(blocks)));
      const Graph g = checked(residual(channels), blocks);
      for (const char* op : {"Conv", "Relu", "HardSwish", "Add", "GlobalAveragePool"})
        EXPECT_EQ(layout_of(g, op), blocks) << op;
    }
  }
}

TEST(Blocks, TasksAreThoseOfSpecsWithTheirEpilogues) {
  ModelBuilder b(13);
  b.input("x", {1, 24, 5, 4});
  add_conv(b, "x", "a", 24, 24, 3, 1, true);
  b.node("Relu", {"a"}, {"r"});
  add_conv(b, "r", "d", 24, 24, 3, 24, true);
  add_conv(b, "d", "p", 24, 24, 1);
  b.node("Add", {"p", "r"}, {"s"}).node("Softmax", {"s"}, {"y"}, attribute("axis", 1)).output("y");
  const std::vector<std::string> all = keys(extract_tasks(in_blocks(prepared(b), Layout::Nchw16c)));
  const std::string shape = "conv2d(n=1,ic=32,h=5,w=4,oc=32,";
  EXPECT_THAT(all, ::testing::Contains(shape + "kh=3,kw=3,stride=1,pad=1,dilation=1,groups=1,layout=nchw16c,dtype=f32,"
                                               "epilogue=bias+relu,const=weights)"));
  EXPECT_THAT(all, ::testing::Contains(shape + "kh=3,kw=3,stride=1,pad=1,dilation=1,groups=32,layout=nchw16c,dtype=f32,"
                                               "epilogue=bias,const=weights)"));
  EXPECT_THAT(all, ::testing::Contains(shape + "kh=1,kw=1,stride=1,pad=0,dilation=1,groups=1,layout=nchw16c,dtype=f32,"
                                               "epilogue=add,const=weights)"));
}

TEST(Blocks, AnImageIsReadAsItIs) {
  ModelBuilder b(13);
  b.input("x", {1, 3, 5, 4});
  add_conv(b, "x", "a", 3, 16);
  b.output("a");
  const Graph g = checked(b);
  EXPECT_EQ(g.sizes(g.nodes.at(0).inputs[0]), (Sizes{1, 3, 5, 4}));
  EXPECT_EQ(g.sizes(g.nodes[0].inputs[1]), (Sizes{2, 3, 3, 3, 8}));
  EXPECT_THAT(keys(extract_tasks(g)).at(0), HasSubstr("layout=nchw8c,in=nchw,"));
}

TEST(Blocks, ReordersFillPaddedLanesWithZerosAndDropThem) {
  ModelBuilder b(13);
  b.input("x", {2, 11, 3, 2});
  add_conv(b, "x", "a", 11, 11);
  b.output("a");
  const Graph before = prepared(b);
  Graph g = checked(b);
  EXPECT_THAT(testing::operators(g), "Pad,Reshape,Transpose,Conv,Transpose,Reshape,Slice");
  // What the convolution reads and what it writes, as the outputs.
  const auto conv = std::ranges::find(g.nodes, "Conv", &Node::op);
  g.outputs = {conv->inputs[0], conv->outputs[0]};
  g.output_names = {"in", "out"};
  const NamedTensors inputs = random_inputs(before, 7);
  for (const ops::TensorValue& value : evaluate(g, inputs)) {
    ASSERT_EQ(value.type.shape, (Sizes{2, 2, 3, 2, 8}));
    const std::vector<double> numbers = value.numbers();
    bool any = false;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const bool padded = i / 48 % 2 == 1 && i % 8 >= 3;
      if (padded) {
        EXPECT_EQ(numbers[i], 0) << i;
      }
      any = any || (!padded && numbers[i] != 0);
    }
    EXPECT_TRUE(any);
  }
}

TEST(Blocks, WholeBlocksNeedNoPaddingAndPixelsAloneNoTranspose) {
  ModelBuilder b(13);
  b.input("x", {1, 16, 3, 2}).input("z", {1, 16, 1, 1});
  add_conv(b, "x", "a", 16, 16);
  add_conv(b, "z", "c", 16, 16, 1);
  b.output("a").output("c");
  EXPECT_THAT(testing::operators(checked(b)),
              "Reshape,Transpose,Conv,Reshape,Reshape,Conv,Transpose,Reshape,Reshape,Reshape");
}

TEST(Blocks, GroupsOfWholeBlocksFollowAndOthersMakeTheChainOneThatCannot) {
  const auto grouped = [](std::int64_t ic, std::int64_t oc, std::int64_t groups) {
    ModelBuilder b(13);
    b.input("x", {1, 9, 3, 3});
    add_conv(b, "x", "a", 9, ic);
    add_conv(b, "a", "c", ic, oc, 3, groups);
    b.output("c");
    return b;
  };
  EXPECT_EQ(layout_of(checked(grouped(32, 16, 2)), "Conv"), Layout::Nchw8c);
  EXPECT_EQ(find_chains(prepared(grouped(24, 48, 2)), Layout::Nchw8c).at(0).no_blocks,
            "node 'Conv_c': groups of 12 input and 24 output channels are no whole blocks of 8");
  EXPECT_THAT(find_chains(prepared(grouped(8, 16, 8)), Layout::Nchw8c).at(0).no_blocks, HasSubstr("groups of 1 input"));
  EXPECT_EQ(find_chains(prepared(grouped(32, 16, 2)), Layout::Nchw8c).at(0).no_blocks, "");
  EXPECT_THAT(find_chains(prepared(grouped(16, 16, 2)), Layout::Nchw16c).at(0).no_blocks, HasSubstr("blocks of 16"));
}

TEST(Blocks, ComputedWeightsAndTransposedConvolutionsCannot) {
  ModelBuilder b(13);
  b.input("x", {1, 9, 3, 3}).input("w", {4, 9, 1, 1}).node("Conv", {"x", "w"}, {"y"}).output("y");
  EXPECT_THAT(find_chains(prepared(b)).at(0).no_blocks, HasSubstr("node 'Conv_y': weights that the model computes"));
  ModelBuilder t(13);
  t.input("x", {1, 2, 3, 3}).floats("w", {2, 3, 2, 2}, std::vector<float>(24, 1.0F));
  t.node("ConvTranspose", {"x", "w"}, {"y"}).output("y");
  EXPECT_THAT(find_chains(prepared(t)).at(0).no_blocks, HasSubstr("a transposed convolution"));
}

/// A convolution to `channels`, `op` behind it with further `inputs`, and a convolution that sums over its channels.
template <class... Attribute>
ModelBuilder followed(std::int64_t channels, const std::string& op, const std::vector<std::string>& inputs = {},
                      const Attribute&... attributes) {
  ModelBuilder b(13);
  std::mt19937 random(3);
  b.input("x", {1, 9, 4, 6})
      .floats("one", {1}, {1.5F})
      .floats("channel", {channels, 1, 1}, random_numbers(random, channels));
  b.floats("pixel", {1, 4, 6}, random_numbers(random, 24))
      .floats("image", {1, channels, 4, 6}, random_numbers(random, channels * 24));
  add_conv(b, "x", "a", 9, channels);
  std::vector<std::string> all{"a"};
  all.insert(all.end(), inputs.begin(), inputs.end());
  b.node(op, all, {"f"}, attributes...);
  add_conv(b, "f", "c", channels, 3, 1);
  b.output("c");
  return b;
}

TEST(Blocks, ElementwiseOperatorsFollowWherePaddedLanesStayFinite) {
  for (const char* op : {"Sigmoid", "Exp", "Tanh", "Relu", "Neg", "Erf"})
    EXPECT_EQ(layout_of(checked(followed(5, op)), op), Layout::Nchw8c) << op;
  for (const char* op : {"Reciprocal", "Log", "Sqrt"}) {
    EXPECT_EQ(layout_of(in_blocks(prepared(followed(5, op)), Layout::Nchw8c), op), Layout::Nchw) << op;
    EXPECT_EQ(layout_of(in_blocks(prepared(followed(16, op)), Layout::Nchw8c), op), Layout::Nchw8c) << op;
  }
  checked(followed(5, "Reciprocal"));
  EXPECT_EQ(layout_of(checked(followed(5, "Div", {"one"})), "Div"), Layout::Nchw8c);
  EXPECT_EQ(layout_of(checked(followed(5, "Div", {"channel"})), "Div"), Layout::Nchw) << "0 / 0";
  EXPECT_EQ(layout_of(checked(followed(16, "Div", {"channel"})), "Div"), Layout::Nchw8c);
}

TEST(Blocks, OperandsOfElementwiseOperatorsAreReordered) {
  for (const std::int64_t channels : {5, 16}) {
    for (const char* operand : {"one", "channel", "image"})
      EXPECT_EQ(layout_of(checked(followed(channels, "Add", {operand})), "Add"), Layout::Nchw8c) << operand;
  }
  // One value for all channels of a pixel would be in padded lanes too.
  EXPECT_EQ(layout_of(checked(followed(5, "Add", {"pixel"})), "Add"), Layout::Nchw);
  EXPECT_EQ(layout_of(checked(followed(16, "Add", {"pixel"})), "Add"), Layout::Nchw8c);
}

TEST(Blocks, PoolingFollowsButNoMeanOfWhatIsNotZero) {
  const auto pooled = [](std::int64_t channels, const std::string& before, const std::string& pool) {
    ModelBuilder b(13);
    b.input("x", {1, 9, 4, 6});
    add_conv(b, "x", "a", 9, channels);
    b.node(before, {"a"}, {"f"});
    if (pool.starts_with("Global")) {
      b.node(pool, {"f"}, {"p"});
    } else {
      b.node(pool, {"f"}, {"p"}, attribute("kernel_shape", List{3, 2}), attribute("pads", List{1, 1, 1, 0}),
             attribute("strides", List{2, 1}));
    }
    add_conv(b, "p", "c", channels, 3, 1);
    b.output("c");
    return b;
  };
  for (const char* pool : {"MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool"}) {
    EXPECT_EQ(layout_of(checked(pooled(5, "Relu", pool)), pool), Layout::Nchw8c) << pool;
    EXPECT_EQ(layout_of(checked(pooled(16, "Sigmoid", pool)), pool), Layout::Nchw8c) << pool;
    const bool is_mean = std::string(pool).ends_with("AveragePool");
    EXPECT_EQ(layout_of(checked(pooled(5, "Sigmoid", pool)), pool), is_mean ? Layout::Nchw : Layout::Nchw8c) << pool;
  }
}

TEST(Blocks, ConcatenationsOfChannelsNeedWholeBlocksInFront) {
  const auto joined = [](std::int64_t first, std::int64_t second, std::int64_t axis) {
    ModelBuilder b(13);
    b.input("x", {1, 9, 4, 6});
    add_conv(b, "x", "a", 9, first);
    add_conv(b, "x", "d", 9, second);
    b.node("Concat", {"a", "d"}, {"f"}, attribute("axis", axis));
    add_conv(b, "f", "c", axis == 1 || axis == -3 ? first + second : first, 3, 1);
    b.output("c");
    return b;
  };
  EXPECT_EQ(layout_of(checked(joined(8, 5, 1)), "Concat"), Layout::Nchw8c);
  EXPECT_EQ(layout_of(checked(joined(8, 5, -3)), "Concat"), Layout::Nchw8c);
  EXPECT_EQ(layout_of(checked(joined(5, 8, 1)), "Concat"), Layout::Nchw);
  EXPECT_EQ(layout_of(checked(joined(4, 4, 1)), "Concat"), Layout::Nchw) << "whole together, not each";
  EXPECT_EQ(layout_of(checked(joined(5, 5, 2)), "Concat"), Layout::Nchw8c);
}

TEST(Blocks, SlicesOfChannelsNeedWholeBlocks) {
  const auto cut = [](std::int64_t begin, std::int64_t end, std::int64_t axis, std::int64_t left) {
    ModelBuilder b(13);
    b.input("x", {1, 9, 4, 6}).integers("begin", {begin}).integers("end", {end}).integers("axis", {axis});
    add_conv(b, "x", "a", 9, 20);
    b.node("Slice", {"a", "begin", "end", "axis"}, {"f"});
    add_conv(b, "f", "c", left, 3, 1);
    b.output("c");
    return b;
  };
  EXPECT_EQ(layout_of(checked(cut(8, 16, 1, 8)), "Slice"), Layout::Nchw8c);
  EXPECT_EQ(layout_of(checked(cut(8, 1000, -3, 12)), "Slice"), Layout::Nchw8c);
  EXPECT_EQ(layout_of(checked(cut(-12, -4, 1, 8)), "Slice"), Layout::Nchw8c);
  EXPECT_EQ(layout_of(checked(cut(8, 12, 1, 4)), "Slice"), Layout::Nchw);
  EXPECT_EQ(layout_of(checked(cut(4, 16, 1, 12)), "Slice"), Layout::Nchw);
  EXPECT_EQ(layout_of(checked(cut(1, 4, 3, 20)), "Slice"), Layout::Nchw8c);
}

TEST(Blocks, ReductionsOfPixelsFollowAndThoseOfChannelsDoNot) {
  const auto reduced = [](const std::string& op, const List& axes, std::int64_t keep) {
    ModelBuilder b(13);
    b.input("x", {1, 9, 4, 6});
    add_conv(b, "x", "a", 9, 5);
    b.node(op, {"a"}, {"f"}, attribute("axes", axes), attribute("keepdims", keep)).output("f");
    return b;
  };
  for (const char* op : {"ReduceMean", "ReduceMax", "ReduceL2"}) {
    EXPECT_EQ(layout_of(checked(reduced(op, {2, -1}, 1)), op), Layout::Nchw8c) << op;
    EXPECT_EQ(layout_of(checked(reduced(op, {2, 3}, 0)), op), Layout::Nchw) << op;
    EXPECT_EQ(layout_of(checked(reduced(op, {1}, 1)), op), Layout::Nchw) << op;
  }
  EXPECT_EQ(layout_of(checked(reduced("ReduceLogSumExp", {2, 3}, 1)), "ReduceLogSumExp"), Layout::Nchw);
}

TEST(Blocks, ResizesOfPixelsFollow) {
  for (const char* mode : {"nearest", "linear"}) {
    ModelBuilder b(13);
    b.input("x", {1, 9, 4, 6}).floats("scales", {4}, {1, 1, 2, 0.5F}).integers("sizes", {1, 5, 3, 12});
    add_conv(b, "x", "a", 9, 5);
    b.node("Resize", {"a", "", "scales"}, {"f"}, attribute("mode", std::string(mode)));
    b.node("Resize", {"a", "", "", "sizes"}, {"g"}, attribute("mode", std::string(mode))).output("f").output("g");
    const Graph g = checked(b);
    for (const Node& node : g.nodes) {
      if (node.op == "Resize") {
        EXPECT_EQ(node.layout, Layout::Nchw8c) << mode;
      }
    }
  }
}

TEST(Blocks, BatchNormalizationFollowsWithItsConstants) {
  ModelBuilder b(13);
  std::mt19937 random(5);
  b.input("x", {1, 9, 4, 6});
  add_conv(b, "x", "a", 9, 5);
  for (const char* name : {"s", "o", "m"}) b.floats(name, {5}, random_numbers(random, 5));
  b.floats("v", {5}, {0.5F, 1, 2, 3, 0.25F});
  b.node("BatchNormalization", {"a", "s", "o", "m", "v"}, {"f"});
  add_conv(b, "f", "c", 5, 3);
  b.output("c");
  EXPECT_EQ(layout_of(checked(b), "BatchNormalization"), Layout::Nchw8c);
}

TEST(Blocks, EachChainHasItsOwnLayout) {
  ModelBuilder b(13);
  b.input("x", {1, 9, 4, 4});
  add_conv(b, "x", "a", 9, 5);
  b.node("Softmax", {"a"}, {"s"}, attribute("axis", 1));
  add_conv(b, "s", "c", 5, 9);
  b.node("Softmax", {"c"}, {"t"}, attribute("axis", 1));
  add_conv(b, "t", "e", 9, 6);
  b.output("e");
  const Graph before = prepared(b);
  Graph g = before;
  assign_layouts(g, {Layout::Nchw16c, Layout::Nhwc, Layout::Nchw});
  verify(g);
  std::vector<Layout> layouts;
  for (const Node& node : g.nodes) {
    if (node.op == "Conv") layouts.push_back(node.layout);
  }
  EXPECT_EQ(layouts, (std::vector{Layout::Nchw16c, Layout::Nhwc, Layout::Nchw}));
  const NamedTensors inputs = random_inputs(before, 7);
  expect_close(evaluate(g, inputs), evaluate(before, inputs));
}

TEST(Blocks, ValuesInBlocksAreNoValuesOfTheModel) {
  const Graph g = in_blocks(prepared(residual(5)), Layout::Nchw8c);
  for (const Node& node : g.nodes) {
    const Value& out = g.value(node.outputs[0]);
    if (ops::channel_block(node.layout) > 0) {
      EXPECT_EQ(out.source, "") << node.name;
    }
  }
  EXPECT_TRUE(std::ranges::any_of(g.values, [](const Value& value) { return value.source == "s"; })) << "an output";
}

TEST(BlocksChoice, BytesOfReordersCount) {
  ModelBuilder b(13);
  b.input("x", {1, 16, 4, 4});
  add_conv(b, "x", "a", 16, 16);
  b.node("Softmax", {"a"}, {"y"}, attribute("axis", 1)).output("y");
  EXPECT_EQ(find_chains(prepared(b)).at(0).transposed_blocks, 2 * 16 * 16 * 4);
  ModelBuilder odd(13);
  odd.input("x", {1, 9, 4, 4});
  add_conv(odd, "x", "a", 9, 9);
  odd.node("Softmax", {"a"}, {"y"}, attribute("axis", 1)).output("y");
  EXPECT_EQ(find_chains(prepared(odd)).at(0).transposed_blocks, 3 * 16 * 16 * 4) << "in twice: Pad and Transpose";
}

TEST(BlocksChoice, PaddedChannelsCostAndBlocksAreNeverFirst) {
  const auto choice = [](std::int64_t channels, Layout blocks) {
    ModelBuilder b(13);
    b.input("x", {1, channels, 16, 16});
    add_conv(b, "x", "y", channels, channels);
    b.output("y");
    return choose_layouts(prepared(b), blocks).at(0);
  };
  const LayoutChoice whole = choice(32, Layout::Nchw16c), odd = choice(24, Layout::Nchw16c);
  EXPECT_GT(odd.estimate.blocks / odd.estimate.nhwc, 1.2 * whole.estimate.blocks / whole.estimate.nhwc)
      << "32 terms for 24";
  EXPECT_LT(choice(24, Layout::Nchw8c).estimate.blocks, odd.estimate.blocks);
  for (const std::int64_t channels : {3, 8, 24, 64, 120}) {
    EXPECT_EQ(ops::channel_block(choice(channels, Layout::Nchw16c).layout), 0) << channels;
  }
  // One channel each is computed faster in blocks, but not by so much that nobody has to measure it.
  ModelBuilder apart(13);
  apart.input("x", {1, 32, 64, 64});
  add_conv(apart, "x", "y", 32, 32, 13, 32);
  apart.output("y");
  EXPECT_EQ(choose_layouts(prepared(apart)).at(0).layout, Layout::Nhwc);
  EXPECT_THAT(choose_layouts(prepared(apart)).at(0).rivals, ::testing::Contains(Layout::Nchw16c));
  EXPECT_THAT(choose_layouts(prepared(apart), Layout::Nchw8c).at(0).rivals, ::testing::Contains(Layout::Nchw8c));
  ModelBuilder none(13);
  none.input("x", {1, 9, 3, 3}).input("w", {4, 9, 1, 1}).node("Conv", {"x", "w"}, {"y"}).output("y");
  EXPECT_TRUE(std::isinf(choose_layouts(prepared(none)).at(0).estimate.blocks));
}

}  // namespace
}  // namespace temper::graph
