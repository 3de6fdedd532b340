// Chains of convolutions, which layout is estimated to be the better one, and that an assignment is what is run.
#include "temper/graph/passes/layout_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/run_pass.h"
#include "temper/graph/pipeline.h"
#include "temper/graph/structural_hash.h"

namespace temper::graph {
namespace {

using ops::Layout;
using testing::attribute;
using testing::expect_close;
using testing::ModelBuilder;
using testing::prepared;
using testing::random_inputs;
using testing::random_numbers;

using List = std::vector<std::int64_t>;

/// A convolution of stride 1 that keeps the size of its image.
void add_conv(ModelBuilder& b, const std::string& in, const std::string& out, std::int64_t ic, std::int64_t oc,
              std::int64_t kernel = 3, std::int64_t groups = 1) {
  std::mt19937 random(static_cast<std::uint32_t>(out[0]));
  b.floats("w" + out, {oc, ic / groups, kernel, kernel}, random_numbers(random, oc * ic / groups * kernel * kernel));
  b.node("Conv", {in, "w" + out}, {out}, attribute("pads", List(4, kernel / 2)), attribute("group", groups));
}

/// Two chains, with a softmax over the channels between them, and a product behind.
ModelBuilder two_chains() {
  ModelBuilder b(13);
  b.input("x", {2, 3, 4, 5});
  add_conv(b, "x", "a", 3, 5);
  b.node("Relu", {"a"}, {"r"}).node("Softmax", {"r"}, {"s"}, attribute("axis", 1));
  add_conv(b, "s", "c", 5, 4);
  b.node("MaxPool", {"c"}, {"p"}, attribute("kernel_shape", List{2, 2}));
  b.node("ReduceMean", {"p"}, {"m"}, attribute("axes", List{1})).node("MatMul", {"m", "m2"}, {"y"}).output("y");
  std::mt19937 random(3);
  b.floats("m2", {4, 2}, random_numbers(random, 8));
  return b;
}

std::vector<std::string> names(const Graph& graph, const Chain& chain) {
  std::vector<std::string> result;
  for (const int n : chain.nodes) result.push_back(graph.nodes[static_cast<std::size_t>(n)].op);
  return result;
}

TEST(Chains, AreWhatFollowsOneLayout) {
  const Graph g = prepared(two_chains());
  const std::vector<Chain> chains = find_chains(g);
  ASSERT_EQ(chains.size(), 2u);
  EXPECT_THAT(names(g, chains[0]), ::testing::ElementsAre("Conv", "Relu"));
  EXPECT_THAT(names(g, chains[1]), ::testing::ElementsAre("Conv", "MaxPool", "ReduceMean"));
  EXPECT_EQ(chains[0].name, "Conv_a");
  EXPECT_EQ(chains[1].name, "Conv_c");
}

TEST(Chains, BranchesThatJoinAreOne) {
  ModelBuilder b(13);
  b.input("x", {2, 3, 4, 5});
  add_conv(b, "x", "a", 3, 4);
  add_conv(b, "x", "c", 3, 4);
  add_conv(b, "x", "d", 3, 4);
  b.node("Add", {"a", "c"}, {"s"}).output("s").node("Relu", {"d"}, {"t"}).output("t");
  const Graph g = prepared(b);
  const std::vector<Chain> chains = find_chains(g);
  ASSERT_EQ(chains.size(), 2u) << "what they read joins nothing: it is stored as the model says";
  EXPECT_THAT(names(g, chains[0]), ::testing::ElementsAre("Conv", "Conv", "Add"));
}

TEST(Chains, KnowWhatIsTransposedAtTheirBorders) {
  const std::vector<Chain> chains = find_chains(prepared(two_chains()));
  // The image is read as it is; relu's result leaves the first chain.
  EXPECT_EQ(chains[0].transposed_nhwc, 2 * 5 * 4 * 5 * 4);
  // The second reads softmax's five channels as they are too; one channel is left, so nothing moves.
  EXPECT_EQ(chains[1].transposed_nhwc, 0);
  EXPECT_EQ(chains[0].transposed_nchw, 0);
  ModelBuilder b(13);
  b.input("x", {2, 9, 4, 5});
  add_conv(b, "x", "a", 9, 4);
  b.node("Transpose", {"a"}, {"y"}, attribute("perm", List{0, 2, 3, 1})).output("y");
  const Chain chain = find_chains(prepared(b)).at(0);
  EXPECT_EQ(chain.transposed_nhwc, 2 * 9 * 4 * 5 * 4) << "the input; the model's transpose is absorbed";
  EXPECT_EQ(chain.transposed_nchw, 2 * 4 * 4 * 5 * 4) << "the model's own";
}

TEST(Chains, AreFoundWithoutChangingAnything) {
  const Graph g = prepared(two_chains());
  const std::string before = print(g);
  find_chains(g);
  EXPECT_EQ(print(g), before);
  ModelBuilder none(13);
  none.input("x", {2, 3, 4, 4}).node("Relu", {"x"}, {"a"}).node("Softmax", {"a"}, {"y"}).output("y");
  EXPECT_TRUE(find_chains(prepared(none)).empty());
}

TEST(AssignLayouts, EachChainHasItsOwn) {
  for (const Layout first : {Layout::Nhwc, Layout::Nchw}) {
    for (const Layout second : {Layout::Nhwc, Layout::Nchw}) {
      const Graph before = prepared(two_chains());
      Graph g = before;
      assign_layouts(g, {first, second});
      verify(g);
      for (const Node& node : g.nodes) {
        const bool in_first = node.name == "Conv_a" || node.op == "Relu";
        const bool in_second = node.name == "Conv_c" || node.op == "MaxPool" || node.op == "ReduceMean";
        EXPECT_EQ(node.layout, in_first ? first : in_second ? second : Layout::Nchw) << node.name;
      }
      const NamedTensors inputs = random_inputs(before, 7);
      expect_close(evaluate(g, inputs), evaluate(before, inputs));
    }
  }
}

TEST(AssignLayouts, NchwEverywhereChangesNothing) {
  Graph g = prepared(two_chains());
  const std::string before = print(g);
  assign_layouts(g, {Layout::Nchw, Layout::Nchw});
  EXPECT_EQ(print(g), before);
}

/// The choice for one convolution, whose input is transposed unless it has few channels.
LayoutChoice choice(std::int64_t ic, std::int64_t oc, std::int64_t size, std::int64_t kernel = 3,
                    std::int64_t groups = 1) {
  ModelBuilder b(13);
  b.input("x", {1, ic, size, size});
  add_conv(b, "x", "y", ic, oc, kernel, groups);
  b.output("y");
  return choose_layouts(prepared(b)).at(0);
}

TEST(LayoutChoice, LanesDecide) {
  // A product of full vectors, which is a matrix product in NHWC alone.
  EXPECT_EQ(choice(1024, 512, 8, 1).layout, Layout::Nhwc);
  EXPECT_TRUE(choice(1024, 512, 8, 1).rivals.empty());
  // One channel of sixteen lanes, rows of whole vectors.
  EXPECT_EQ(choice(64, 1, 64).layout, Layout::Nchw);
  EXPECT_TRUE(choice(64, 1, 64).rivals.empty());
  // Full lanes in both: the chain stays NHWC, and the other layout is a rival.
  EXPECT_EQ(choice(64, 64, 64).layout, Layout::Nhwc);
  EXPECT_EQ(choice(64, 64, 64).rivals, Layouts{Layout::Nchw});
}

TEST(LayoutChoice, SumsOverChannelsNeedNoLongRowsInNchw) {
  const LayoutEstimate narrow = choice(64, 64, 8).estimate;
  EXPECT_LT(narrow.nchw, 1.2 * narrow.nhwc);
  const LayoutEstimate apart = choice(64, 64, 8, 3, 64).estimate;
  EXPECT_LT(narrow.nchw / 64, apart.nchw / 2) << "where channels are not summed, two rows of eight take two vectors";
}

TEST(LayoutChoice, KernelsOfOnePixelMakeOneRowOfAnImage) {
  // 49 pixels are four vectors, seven rows are seven.
  const double pixel = choice(64, 4, 7, 1).estimate.nchw / 64, window = choice(64, 4, 7, 3).estimate.nchw / (64 * 9);
  EXPECT_LT(pixel / 1.5, window / 1.1);
}

TEST(LayoutChoice, TransposesCount) {
  // An image of eight channels is read as it is, one of nine is transposed: more than the terms of one more channel.
  EXPECT_GT(choice(9, 16, 32).estimate.nhwc - choice(8, 16, 32).estimate.nhwc, 2 * 32 * 32 * 9);
  EXPECT_LT(choice(9, 16, 32).estimate.nchw - choice(8, 16, 32).estimate.nchw, 2 * 32 * 32 * 9);
}

TEST(LayoutChoice, TriflesAreNoRivals) {
  ModelBuilder b(13);
  b.input("x", {1, 64, 64, 64}).input("z", {1, 4, 16, 16});
  add_conv(b, "x", "a", 64, 64);
  add_conv(b, "z", "c", 4, 16);
  b.output("a").output("c");
  const std::vector<LayoutChoice> choices = choose_layouts(prepared(b));
  ASSERT_EQ(choices.size(), 2u);
  EXPECT_FALSE(choices[0].rivals.empty());
  EXPECT_TRUE(choices[1].rivals.empty());
}

TEST(LayoutChoice, TheLargestAreRivals) {
  ModelBuilder b(13);
  for (int i = 0; i < kMostRivals + 2; ++i) {
    const std::string in = "x" + std::to_string(i), out = std::string(1, static_cast<char>('a' + i));
    b.input(in, {1, 32, i == 1 ? 32 : 64, 64});
    add_conv(b, in, out, 32, 32);
    b.output(out);
  }
  const std::vector<LayoutChoice> choices = choose_layouts(prepared(b));
  EXPECT_EQ(std::ranges::count_if(choices, [](const LayoutChoice& c) { return !c.rivals.empty(); }), kMostRivals);
  EXPECT_TRUE(choices[1].rivals.empty()) << "the smallest";
}

TEST(LayoutChoice, ThePipelineTakesWhatIsGiven) {
  const Graph open = optimise_before_layouts(two_chains().import(), {});
  const auto layouts_of = [](const Program& program) {
    std::vector<Layout> result;
    for (const Node& node : program.graph.nodes) {
      if (node.op == "Conv") result.push_back(node.layout);
    }
    return result;
  };
  EXPECT_EQ(layouts_of(program_with_layouts(open, {Layout::Nchw, Layout::Nhwc})),
            (std::vector{Layout::Nchw, Layout::Nhwc}));
  EXPECT_EQ(layouts_of(program_with_layouts(open, {}, {"layout"})), (std::vector{Layout::Nchw, Layout::Nchw}));
  EXPECT_EQ(print(program_with_layouts(open, chosen_layouts(choose_layouts(open))).graph),
            print(make_program(two_chains().import(), {}).graph));
}

TEST(StructuralHash, NamesAndWeightsDoNotCount) {
  const std::uint64_t hash = structural_hash(prepared(two_chains()));
  ModelBuilder named = two_chains();
  for (auto& node : *named.graph().mutable_node()) node.set_name("other" + node.name());
  EXPECT_EQ(structural_hash(prepared(named)), hash);
  ModelBuilder weights = two_chains();
  weights.graph().mutable_initializer(0)->mutable_raw_data()->front() ^= 1;
  EXPECT_EQ(structural_hash(prepared(weights)), hash);
}

TEST(StructuralHash, ShapesAttributesAndIntegersCount) {
  const auto model = [](std::int64_t size, std::int64_t pad, std::int64_t axis, const std::string& op) {
    ModelBuilder b(13);
    b.input("x", {1, 3, size, 8}).integers("axes", {axis});
    std::mt19937 random(1);
    b.floats("w", {4, 3, 3, 3}, random_numbers(random, 108));
    b.node("Conv", {"x", "w"}, {"a"}, attribute("pads", List(4, pad))).node(op, {"a"}, {"r"});
    b.node("ReduceSum", {"r", "axes"}, {"y"}).output("y");
    return structural_hash(prepared(b));
  };
  const std::uint64_t hash = model(8, 1, 2, "Relu");
  EXPECT_EQ(model(8, 1, 2, "Relu"), hash);
  EXPECT_NE(model(9, 1, 2, "Relu"), hash);
  EXPECT_NE(model(8, 0, 2, "Relu"), hash);
  EXPECT_NE(model(8, 1, 3, "Relu"), hash);
  EXPECT_NE(model(8, 1, 2, "Tanh"), hash);
}

}  // namespace
}  // namespace temper::graph
