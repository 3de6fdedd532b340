// Models of shapes that nobody tunes for: batches of three, images of one pixel or one column, prime numbers of
// channels. Untuned, every step and every output equals ONNX Runtime. Images without pixels are refused by name.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "e2e/command.h"
#include "graph/model_builder.h"
#include "paths.h"

namespace temper::e2e {
namespace {

using graph::testing::attribute;
using graph::testing::ModelBuilder;
using Sizes = std::vector<std::int64_t>;

/// Numbers around zero without a pattern that sums could hide.
std::vector<float> numbers(const Sizes& dims, int salt) {
  std::int64_t count = 1;
  for (const std::int64_t d : dims) count *= d;
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(std::sin(0.7F * static_cast<float>(i + 1) + static_cast<float>(salt)));
  return values;
}

void input(ModelBuilder& b, const std::string& name, const Sizes& dims) {
  b.input(name, std::vector<graph::testing::Dim>(dims.begin(), dims.end()));
}

void weights(ModelBuilder& b, const std::string& name, const Sizes& dims) {
  b.floats(name, dims, numbers(dims, static_cast<int>(name.size())));
}

ModelBuilder prime_channels() {
  ModelBuilder b;
  input(b, "x", {3, 7, 17, 19});
  weights(b, "w1", {13, 7, 3, 3});
  weights(b, "b1", {13});
  weights(b, "w2", {13, 1, 5, 5});
  weights(b, "w3", {11, 13, 1, 1});
  weights(b, "w4", {11, 5});
  b.node("Conv", {"x", "w1", "b1"}, {"a"}, attribute("pads", Sizes{1, 1, 1, 1}), attribute("strides", Sizes{2, 1}))
      .node("HardSwish", {"a"}, {"ah"})
      .node("Conv", {"ah", "w2"}, {"d"}, attribute("pads", Sizes{2, 2, 2, 2}), attribute("group", 13))
      .node("Conv", {"d", "w3"}, {"p"})
      .node("Sigmoid", {"p"}, {"s"})
      .node("Mul", {"p", "s"}, {"m"})
      .node("GlobalAveragePool", {"m"}, {"g"})
      .node("Flatten", {"g"}, {"f"})
      .node("MatMul", {"f", "w4"}, {"y"})
      .output("y");
  return b;
}

ModelBuilder one_pixel() {
  ModelBuilder b;
  input(b, "x", {3, 5, 1, 1});
  weights(b, "w1", {17, 5, 3, 3});
  weights(b, "w2", {5, 17, 1, 1});
  b.node("Conv", {"x", "w1"}, {"a"}, attribute("pads", Sizes{1, 1, 1, 1}))
      .node("Relu", {"a"}, {"r"})
      .node("Conv", {"r", "w2"}, {"p"})
      .node("Add", {"p", "x"}, {"y"})
      .node("MaxPool", {"y"}, {"q"}, attribute("kernel_shape", Sizes{3, 3}), attribute("pads", Sizes{1, 1, 1, 1}))
      .output("y")
      .output("q");
  return b;
}

ModelBuilder rows_of_three() {
  ModelBuilder b;
  input(b, "x", {3, 31});
  weights(b, "w1", {31, 37});
  weights(b, "b1", {37});
  weights(b, "scale", {37});
  weights(b, "w2", {37, 1});
  b.node("MatMul", {"x", "w1"}, {"a"})
      .node("Add", {"a", "b1"}, {"c"})
      .node("LayerNormalization", {"c", "scale"}, {"n"})
      .node("Softmax", {"n"}, {"y"})
      .node("MatMul", {"y", "w2"}, {"z"})
      .output("y")
      .output("z");
  return b;
}

ModelBuilder signals() {
  ModelBuilder b;
  input(b, "x", {3, 7, 29});
  weights(b, "w1", {11, 7, 5});
  weights(b, "w2", {11, 3, 4});
  b.node("Conv", {"x", "w1"}, {"a"}, attribute("dilations", Sizes{2}), attribute("pads", Sizes{3, 1}))
      .node("Tanh", {"a"}, {"t"})
      .node("ConvTranspose", {"t", "w2"}, {"u"}, attribute("strides", Sizes{3}), attribute("output_padding", Sizes{1}))
      .node("AveragePool", {"u"}, {"y"}, attribute("kernel_shape", Sizes{4}), attribute("strides", Sizes{3}),
            attribute("ceil_mode", 1))
      .output("y");
  return b;
}

ModelBuilder volumes() {
  ModelBuilder b;
  input(b, "x", {1, 3, 5, 1, 7});
  weights(b, "w", {5, 3, 3, 1, 3});
  b.node("Conv", {"x", "w"}, {"a"}, attribute("pads", Sizes{1, 0, 1, 1, 0, 1}))
      .node("LeakyRelu", {"a"}, {"r"}, attribute("alpha", 0.1F))
      .node("MaxPool", {"r"}, {"y"}, attribute("kernel_shape", Sizes{2, 1, 3}), attribute("strides", Sizes{2, 1, 2}))
      .output("y");
  return b;
}

ModelBuilder upsampling() {
  ModelBuilder b;
  input(b, "x", {3, 5, 7, 3});
  weights(b, "w1", {5, 11, 2, 2});
  weights(b, "b1", {11});
  weights(b, "w2", {5, 3, 3, 3});
  weights(b, "w3", {3, 14, 1, 1});
  b.node("ConvTranspose", {"x", "w1", "b1"}, {"u"}, attribute("strides", Sizes{2, 2}))
      .node("Relu", {"u"}, {"r"})
      .node("ConvTranspose", {"x", "w2"}, {"v"}, attribute("strides", Sizes{2, 2}),
            attribute("pads", Sizes{1, 1, 1, 1}), attribute("output_padding", Sizes{1, 1}))
      .node("Concat", {"r", "v"}, {"c"}, attribute("axis", 1))
      .node("Conv", {"c", "w3"}, {"y"})
      .output("y");
  return b;
}

ModelBuilder pieces() {
  ModelBuilder b;
  input(b, "x", {3, 13, 5, 3});
  b.integers("parts", {2, 11});
  b.integers("starts", {4, 0}).integers("ends", {0, 3}).integers("axes", {2, 3}).integers("steps", {-2, 2});
  b.integers("pads", {0, 0, 1, 0, 0, 3, 2, 1});
  weights(b, "w", {7, 15, 3, 1});
  b.node("Split", {"x", "parts"}, {"two", "eleven"}, attribute("axis", 1))
      .node("Slice", {"two", "starts", "ends", "axes", "steps"}, {"cut"})
      .node("Pad", {"two", "pads"}, {"wide"})
      .node("Concat", {"eleven", "two", "two"}, {"joined"}, attribute("axis", 1))
      .node("Conv", {"joined", "w"}, {"y"}, attribute("pads", Sizes{1, 0, 1, 0}))
      .output("y")
      .output("cut")
      .output("wide");
  return b;
}

ModelBuilder one_column() {
  ModelBuilder b;
  input(b, "x", {3, 9, 11, 1});
  weights(b, "w1", {15, 3, 3, 3});
  weights(b, "w2", {1, 15, 1, 1});
  b.node("Conv", {"x", "w1"}, {"a"}, attribute("group", 3), attribute("dilations", Sizes{2, 1}),
         attribute("pads", Sizes{2, 1, 2, 1}))
      .node("Clip", {"a"}, {"r"})
      .node("Conv", {"r", "w2"}, {"y"})
      .output("y");
  return b;
}

ModelBuilder windows_larger_than_images() {
  ModelBuilder b;
  input(b, "x", {3, 17, 2, 2});
  b.node("MaxPool", {"x"}, {"m"}, attribute("kernel_shape", Sizes{3, 3}), attribute("strides", Sizes{2, 2}),
         attribute("pads", Sizes{1, 1, 1, 1}), attribute("ceil_mode", 1))
      .node("AveragePool", {"x"}, {"a"}, attribute("kernel_shape", Sizes{3, 3}), attribute("pads", Sizes{1, 1, 1, 1}),
            attribute("count_include_pad", 1))
      .node("ReduceMax", {"a"}, {"r"}, attribute("axes", Sizes{2, 3}), attribute("keepdims", 1))
      .node("Sub", {"a", "r"}, {"y"})
      .output("m")
      .output("y");
  return b;
}

ModelBuilder five_heads() {
  ModelBuilder b;
  input(b, "q", {3, 5, 7, 11});
  input(b, "k", {3, 5, 13, 11});
  input(b, "v", {3, 5, 13, 1});
  b.floats("scale", {}, {0.3F});
  b.node("Transpose", {"k"}, {"kt"}, attribute("perm", Sizes{0, 1, 3, 2}))
      .node("MatMul", {"q", "kt"}, {"s"})
      .node("Mul", {"s", "scale"}, {"t"})
      .node("Softmax", {"t"}, {"p"})
      .node("MatMul", {"p", "v"}, {"o"})
      .node("Transpose", {"o"}, {"y"}, attribute("perm", Sizes{0, 2, 1, 3}))
      .output("y");
  return b;
}

struct Unusual {
  const char* name;
  ModelBuilder (*make)();
};

void PrintTo(const Unusual& model, std::ostream* stream) { *stream << model.name; }

class UnusualModels : public Programs, public ::testing::WithParamInterface<Unusual> {};

TEST_P(UnusualModels, EqualOnnxRuntime) {
  if (!can_run_generated_code()) GTEST_SKIP() << "code is generated for AVX2 and FMA";
  const fs::path venv = fs::path(paths::source()) / "build" / "venv";
  if (!fs::exists(venv / "bin" / "python3")) GTEST_SKIP() << "no ONNX Runtime: scripts/fetch_peers.sh installs it";
  store::testing::write_file(file("m.onnx"), GetParam().make().model.SerializeAsString());
  for (const char* threads : {"1", "2"}) {
    const Outcome outcome = Running(kBin / "temper",
                                    {"run", "m.onnx", "--check", "onnxruntime", "--every-step", "--samples", "3",
                                     "--threads", threads, "--json"},
                                    folder(), {"TEMPER_PEERS_VENV=" + venv.string(), "TEMPER_TUNE=off"})
                                .wait();
    ASSERT_EQ(outcome.code, 0) << outcome;
    const nlohmann::json report = nlohmann::json::parse(outcome.out, nullptr, false);
    ASSERT_TRUE(report.is_object()) << outcome;
    EXPECT_EQ(report["check"]["equal"], true) << outcome;
    EXPECT_GT(report["check"]["compared_steps"], 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, UnusualModels,
                         ::testing::Values(Unusual{"PrimeChannels", prime_channels}, Unusual{"OnePixel", one_pixel},
                                           Unusual{"RowsOfThree", rows_of_three}, Unusual{"Signals", signals},
                                           Unusual{"Volumes", volumes}, Unusual{"Upsampling", upsampling},
                                           Unusual{"Pieces", pieces}, Unusual{"OneColumn", one_column},
                                           Unusual{"WindowsLargerThanImages", windows_larger_than_images},
                                           Unusual{"FiveHeads", five_heads}),
                         [](const auto& model) { return std::string(model.param.name); });

class EmptyModels : public Programs {};

TEST_F(EmptyModels, ImagesWithoutPixelsAreRefusedByName) {
  ModelBuilder b;
  b.input("x", {std::int64_t{3}, std::int64_t{7}, std::string("height"), std::int64_t{19}});
  weights(b, "w1", {13, 7, 3, 3});
  b.node("Conv", {"x", "w1"}, {"y"}).output("y");
  store::testing::write_file(file("m.onnx"), b.model.SerializeAsString());
  expect_error_with({"run", "m.onnx", "--shape", "x=3,7,0,19"}, 2, {"'0' is not a size", "--shape x=3,7,0,19"});
}

}  // namespace
}  // namespace temper::e2e
