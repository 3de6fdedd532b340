// Passes that turn windows of one kind into those of another: one spatial axis into two, transposed convolutions into
// dense ones; the numbers stay the same.
#include <gtest/gtest.h>

#include <random>

#include "graph/model_builder.h"
#include "graph/numbers.h"
#include "graph/run_pass.h"
#include "temper/graph/passes/lift_rank.h"
#include "temper/graph/passes/transposed_conv.h"

namespace temper::graph {
namespace {

using testing::after;
using testing::attribute;
using testing::ModelBuilder;
using testing::operators;
using testing::random_numbers;

// --- one spatial axis ------------------------------------------------------------------------------------------------

TEST(LiftRank, ConvolutionsPoolsAndWhatIsBetweenThem) {
  std::mt19937 random(3);
  ModelBuilder b;
  const auto list = [](std::vector<std::int64_t> values) { return values; };
  b.input("x", {2, 3, 17}).floats("w", {4, 3, 5}, random_numbers(random, 60)).floats("s", {4, 1}, {1, 2, 3, 4});
  b.node("Conv", {"x", "w"}, {"c"}, attribute("strides", list({2})), attribute("auto_pad", std::string("SAME_LOWER")));
  b.node("Mul", {"c", "s"}, {"m"}).node("Relu", {"m"}, {"r"});
  b.node("MaxPool", {"r"}, {"p"}, attribute("kernel_shape", list({3})), attribute("pads", list({1, 0})));
  b.floats("v", {4, 2, 3}, random_numbers(random, 24));
  b.node("ConvTranspose", {"p", "v"}, {"t"}, attribute("strides", list({2})), attribute("output_padding", list({1})));
  b.node("GlobalAveragePool", {"t"}, {"y"}).output("y").output("r");
  EXPECT_EQ(operators(after(lift_rank, b)),
            "Reshape,Conv,Mul,Relu,MaxPool,ConvTranspose,GlobalAveragePool,Reshape,Reshape");
}

TEST(LiftRank, SizesThatTheModelGives) {
  std::mt19937 random(3);
  for (const char* pad : {"NOTSET", "SAME_UPPER", "SAME_LOWER"}) {
    for (const bool shaped : {false, true}) {
      ModelBuilder b;
      b.input("x", {1, 2, 5}).floats("v", {2, 2, 3}, random_numbers(random, 12));
      b.node("ConvTranspose", {"x", "v"}, {"y"}, attribute("strides", std::vector<std::int64_t>{2}),
             attribute("auto_pad", std::string(pad)));
      if (shaped) *b.last_node().add_attribute() = attribute("output_shape", std::vector<std::int64_t>{9});
      b.output("y");
      EXPECT_EQ(operators(after(lift_rank, b)), "Reshape,ConvTranspose,Reshape") << pad << shaped;
    }
  }
}

TEST(LiftRank, OtherRanksStay) {
  std::mt19937 random(3);
  ModelBuilder b;
  b.input("x", {1, 2, 3, 4, 5}).floats("w", {3, 2, 1, 2, 3}, random_numbers(random, 36));
  b.node("Conv", {"x", "w"}, {"c"}).node("Relu", {"c"}, {"y"}).output("y");
  EXPECT_EQ(operators(after(lift_rank, b)), "Conv,Relu");
}

// --- transposed convolutions -----------------------------------------------------------------------------------------

TEST(TransposedConv, BecomesADenseOneForEveryStrideKernelAndPadding) {
  std::mt19937 random(3);
  for (const std::int64_t stride : {1, 2, 3}) {
    for (const std::int64_t kernel : {1, 2, 3, 4, 5}) {
      for (const std::int64_t pad : {0, 1, 2}) {
        for (const std::int64_t dilation : {1, 2}) {
          const std::int64_t size = 3 * stride + (kernel - 1) * dilation + 1 - 2 * pad;
          if (size < 1) continue;
          ModelBuilder b;
          b.input("x", {2, 3, 4, 4}).floats("w", {3, 2, kernel, kernel}, random_numbers(random, 6 * kernel * kernel));
          b.floats("bias", {2}, {0.5, -1});
          b.node("ConvTranspose", {"x", "w", "bias"}, {"y"},
                 attribute("strides", std::vector<std::int64_t>{stride, stride}),
                 attribute("pads", std::vector<std::int64_t>{pad, pad, pad, pad}),
                 attribute("dilations", std::vector<std::int64_t>{dilation, dilation}))
              .output("y");
          const std::string found = operators(after(lower_transposed_convolutions, b));
          EXPECT_EQ(found.substr(0, 4), "Conv") << stride << kernel << pad << dilation;
          EXPECT_EQ(found.find("ConvTranspose"), std::string::npos);
          EXPECT_EQ(found.find("DepthToSpace") != std::string::npos, stride > 1);
        }
      }
    }
  }
}

TEST(TransposedConv, StaysInGroupsAndWithUnequalStrides) {
  std::mt19937 random(3);
  ModelBuilder b;
  b.input("x", {1, 4, 3, 3}).floats("w", {4, 1, 2, 2}, random_numbers(random, 16));
  b.node("ConvTranspose", {"x", "w"}, {"a"}, attribute("group", 2));
  b.floats("v", {2, 1, 2, 2}, random_numbers(random, 8));
  b.node("ConvTranspose", {"a", "v"}, {"y"}, attribute("strides", std::vector<std::int64_t>{1, 2})).output("y");
  EXPECT_EQ(operators(after(lower_transposed_convolutions, b)), "ConvTranspose,ConvTranspose");
}

TEST(TransposedConv, ActivationsRunBeforeTheShuffle) {
  std::mt19937 random(3);
  ModelBuilder b;
  b.input("x", {1, 3, 4, 4}).floats("w", {3, 2, 2, 2}, random_numbers(random, 24));
  b.node("ConvTranspose", {"x", "w"}, {"c"}, attribute("strides", std::vector<std::int64_t>{2, 2}));
  b.node("Relu", {"c"}, {"r"}).node("Sigmoid", {"r"}, {"y"}).node("Add", {"y", "r"}, {"z"}).output("z");
  EXPECT_EQ(operators(after(lower_transposed_convolutions, b)), "Conv,Relu,DepthToSpace,Sigmoid,Add");
}

TEST(TransposedConv, WholeBlocksNeedNoCut) {
  std::mt19937 random(3);
  ModelBuilder b;
  b.input("x", {1, 3, 4, 4}).floats("w", {3, 2, 2, 2}, random_numbers(random, 24));
  b.node("ConvTranspose", {"x", "w"}, {"y"}, attribute("strides", std::vector<std::int64_t>{2, 2})).output("y");
  EXPECT_EQ(operators(after(lower_transposed_convolutions, b)), "Conv,DepthToSpace");
}

}  // namespace
}  // namespace temper::graph
