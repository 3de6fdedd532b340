// `--layouts`: one layout for all chains of convolutions, as a user asks for it.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "e2e/command.h"
#include "graph/random_model.h"
#include "temper/runtime/npy.h"

namespace temper::e2e {
namespace {

using graph::testing::attribute;
using graph::testing::ModelBuilder;
using Sizes = std::vector<std::int64_t>;
using ::testing::HasSubstr;

/// Numbers around zero without a pattern that sums could hide.
void weights(ModelBuilder& b, const std::string& name, const Sizes& dims) {
  std::int64_t count = 1;
  for (const std::int64_t d : dims) count *= d;
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(0.3F * std::sin(0.7F * static_cast<float>(i + 1) + static_cast<float>(name.size())));
  b.floats(name, dims, values);
}

struct Convolution {
  std::int64_t ic, oc, kernel = 3, stride = 1, groups = 1;
};

void conv(ModelBuilder& b, const std::string& in, const std::string& out, const Convolution& c) {
  weights(b, "w." + out, {c.oc, c.ic / c.groups, c.kernel, c.kernel});
  weights(b, "b." + out, {c.oc});
  b.node("Conv", {in, "w." + out, "b." + out}, {out}, attribute("pads", Sizes(4, c.kernel / 2)),
         attribute("strides", Sizes(2, c.stride)), attribute("group", c.groups));
}

/// A small residual network with numbers of channels that are no whole blocks: a stem, a block with a projection, an
/// inverted bottleneck with squeeze-excite, an upsampled branch that is concatenated, and a classifier.
ModelBuilder residual_network() {
  ModelBuilder b(14);
  b.input("x", {std::int64_t{1}, std::int64_t{3}, std::int64_t{21}, std::int64_t{18}});
  conv(b, "x", "stem", {3, 24, 3, 2});
  b.node("Relu", {"stem"}, {"s"});
  b.node("MaxPool", {"s"}, {"p"}, attribute("kernel_shape", Sizes{3, 3}), attribute("pads", Sizes{1, 1, 1, 1}),
         attribute("strides", Sizes{1, 1}));
  conv(b, "p", "a", {24, 40, 3, 2});
  b.node("Relu", {"a"}, {"ar"});
  conv(b, "ar", "c", {40, 40});
  conv(b, "p", "project", {24, 40, 1, 2});
  b.node("Add", {"c", "project"}, {"sum"}).node("Relu", {"sum"}, {"r1"});
  conv(b, "r1", "wide", {40, 56, 1});
  b.node("HardSwish", {"wide"}, {"wh"});
  conv(b, "wh", "deep", {56, 56, 3, 1, 56});
  b.node("GlobalAveragePool", {"deep"}, {"mean"});
  conv(b, "mean", "less", {56, 14, 1});
  b.node("Relu", {"less"}, {"lr"});
  conv(b, "lr", "more", {14, 56, 1});
  b.node("HardSigmoid", {"more"}, {"gate"}).node("Mul", {"deep", "gate"}, {"scaled"});
  conv(b, "scaled", "narrow", {56, 40, 1});
  b.node("Add", {"narrow", "r1"}, {"r2"});
  conv(b, "r2", "head", {40, 8, 1});
  b.node("Concat", {"head", "r2"}, {"joined"}, attribute("axis", 1));
  conv(b, "joined", "last", {48, 7, 1});
  b.node("GlobalAveragePool", {"last"}, {"g"}).node("Flatten", {"g"}, {"y"}).output("y").output("r2");
  return b;
}

class Layouts : public Programs {
 protected:
  void write(const ModelBuilder& model) { store::testing::write_file(file("m.onnx"), model.model.SerializeAsString()); }

  std::vector<float> output(const std::string& name, const std::string& layouts) {
    const std::vector<std::string> run{"run", "m.onnx", "--layouts", layouts, "--output-dir", layouts, "--seed", "3"};
    const Outcome outcome = temper(run, {"TEMPER_TUNE=off"});
    EXPECT_EQ(outcome.code, 0) << outcome;
    const runtime::NpyArray array = runtime::read_npy(file(layouts) / (name + ".npy"));
    std::vector<float> numbers(array.data.size() / sizeof(float));
    std::memcpy(numbers.data(), array.data.data(), array.data.size());
    return numbers;
  }
};

TEST_F(Layouts, AResidualNetworkOfOddChannelsComputesTheSameInEach) {
  if (!can_run_generated_code()) GTEST_SKIP() << "code is generated for AVX2 and FMA";
  write(residual_network());
  for (const char* name : {"y", "r2"}) {
    const std::vector<float> expected = output(name, "nchw");
    float largest = 0;
    for (const float value : expected) largest = std::max(largest, std::abs(value));
    ASSERT_GT(largest, 0);
    for (const char* layouts : {"blocked", "nhwc", "estimated"}) {
      const std::vector<float> got = output(name, layouts);
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_NEAR(got[i], expected[i], 1e-5 * largest) << layouts << " " << name << "[" << i << "]";
    }
  }
}

TEST_F(Layouts, AllChainsAreInTheOneThatIsAskedFor) {
  write(residual_network());
  for (const char* layouts : {"nhwc", "nchw", "blocked"}) {
    const nlohmann::json explained = json({"explain", "m.onnx", "--layouts", layouts});
    ASSERT_FALSE(explained.at("chains").empty());
    for (const nlohmann::json& chain : explained.at("chains")) {
      if (std::string(layouts) == "blocked") {
        EXPECT_THAT(chain.at("layout").get<std::string>(), ::testing::MatchesRegex("nchw(8|16)c"));
      } else {
        EXPECT_EQ(chain.at("layout"), layouts);
      }
      EXPECT_TRUE(chain.at("rivals").empty());
    }
  }
}

TEST_F(Layouts, BlocksAreTunedAndBuilt) {
  if (!can_run_generated_code()) GTEST_SKIP() << "code is generated for AVX2 and FMA";
  ModelBuilder b(13);
  b.input("x", {std::int64_t{1}, std::int64_t{24}, std::int64_t{12}, std::int64_t{12}}).output("y");
  conv(b, "x", "y", {24, 40});
  write(b);
  const nlohmann::json tuned =
      tune_calmly({"tune", "m.onnx", "--layouts", "blocked", "--trials", "12", "--no-peer"}, "t.db");
  EXPECT_FALSE(tuned.contains("rival_tasks"));
  EXPECT_TRUE(std::ranges::any_of(tuned.at("tasks"), [](const nlohmann::json& task) {
    return task.at("key").get<std::string>().starts_with("conv2d(") &&
           task.at("key").get<std::string>().find(",layout=nchw") != std::string::npos &&
           task.at("key").get<std::string>().find("c,dtype") != std::string::npos;
  })) << tuned;
  const nlohmann::json built =
      json({"build", "m.onnx", "--layouts", "blocked", "--no-race", "--db", "t.db", "-o", "m.temper"});
  EXPECT_GT(built.at("tuned").get<int>(), 0);
}

TEST_F(Layouts, WhatCannotBeInBlocksIsNamed) {
  ModelBuilder b(13);
  b.input("x", {std::int64_t{1}, std::int64_t{9}, std::int64_t{5}, std::int64_t{5}}).output("y");
  conv(b, "x", "y", {9, 6, 3, 1, 3});
  write(b);
  expect_error_with({"explain", "m.onnx", "--layouts", "blocked"}, 2,
                    {"chain c0 cannot be in blocks of channels: node 'Conv_y': groups of 3 input and 2 output channels",
                     "at: --layouts blocked", "hint: choose another layout"});
  EXPECT_THAT(json({"explain", "m.onnx"}).at("chains").at(0).at("no_blocks").get<std::string>(), HasSubstr("Conv_y"));
}

TEST_F(Layouts, OptionsThatDoNotGoTogether) {
  write(residual_network());
  expect_error_with({"explain", "m.onnx", "--layouts", "nchw4c"}, 2, {"--layouts", "measured, estimated, nhwc"});
  expect_error_with({"tune", "--op", "matmul(m=8,n=8,k=8)", "--layouts", "nhwc"}, 2, {"--layouts is for models"});
  expect_error_with({"explain", "m.onnx", "--layouts", "nhwc", "--disable-pass", "layout"}, 2,
                    {"there are no layouts to choose", "hint: leave out --disable-pass layout"});
  expect_error_with({"run", "m.temper", "--layouts", "nhwc"}, 2, {"--layouts is for models: a bundle is complete"});
  EXPECT_THAT(temper({"tune", "--help"}).out, HasSubstr("--layouts"));
}

TEST_F(Layouts, RandomGraphsInBlocksEqualOnesOfTheModelsOrder) {
  if (!can_run_generated_code()) GTEST_SKIP() << "code is generated for AVX2 and FMA";
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE(seed);
    write(graph::testing::random_model(seed));
    const std::vector<std::string> blocked{"run", "m.onnx", "--layouts", "blocked", "--output-dir", "b"};
    const Outcome outcome = temper(blocked, {"TEMPER_TUNE=off"});
    if (outcome.code == 2 && outcome.err.find("cannot be in blocks of channels") != std::string::npos) continue;
    ASSERT_EQ(outcome.code, 0) << outcome;
    const Outcome plain = temper({"build", "m.onnx", "--disable-pass", "layout", "--disable-pass", "fusion",
                                  "--disable-pass", "parts", "--no-race", "-o", "plain.temper"},
                                 {"TEMPER_TUNE=off"});
    ASSERT_EQ(plain.code, 0) << plain;
    ASSERT_EQ(temper({"run", "plain.temper", "--output-dir", "p"}).code, 0);
    for (const fs::directory_entry& entry : fs::directory_iterator(file("p"))) {
      const runtime::NpyArray expected = runtime::read_npy(entry.path()),
                              got = runtime::read_npy(file("b") / entry.path().filename());
      ASSERT_EQ(got.shape, expected.shape);
      if (expected.dtype != TEMPER_F32) continue;
      const auto numbers = [](const runtime::NpyArray& array) {
        std::vector<float> values(array.data.size() / sizeof(float));
        std::memcpy(values.data(), array.data.data(), array.data.size());
        return values;
      };
      const std::vector<float> e = numbers(expected), g = numbers(got);
      float largest = 1;
      for (const float value : e) largest = std::max(largest, std::abs(value));
      for (std::size_t i = 0; i < e.size(); ++i)
        ASSERT_NEAR(g[i], e[i], 1e-4 * largest) << entry.path().filename() << "[" << i << "]";
    }
    ++compared;
    fs::remove_all(file("p"));
    fs::remove_all(file("b"));
  }
  EXPECT_GE(compared, 10) << "graphs whose chains all can be in blocks";
}

}  // namespace
}  // namespace temper::e2e
