// The bytes of the ONNX writer: known encodings, and ONNX Runtime's own judgement where it is installed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <optional>

#include "temper/peers/onnx_work.h"
#include "temper/peers/onnx_writer.h"
#include "temper/peers/peer.h"
#include "temper/support/error.h"

namespace temper::peers {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string bytes(std::initializer_list<int> values) {
  std::string result;
  for (const int value : values) result.push_back(static_cast<char>(value));
  return result;
}

std::optional<Peer> onnxruntime() {
  PeerOptions options = PeerOptions::defaults();
  options.timeout_seconds = 60;
  try {
    return Peer("onnxruntime", options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::NotFound) throw;
    return std::nullopt;
  }
}

PeerWork model_work(std::string model) { return {"model", {}, Layout::Native, {}, true, std::move(model), {}}; }

/// y = clip(relu(x) * scale, [low of an initializer], ...) with every kind of attribute somewhere.
OnnxGraph small_graph() {
  const std::array<float, 1> two{2};
  OnnxGraph graph;
  graph.inputs = {{"x", "f32", {2, 3}}};
  graph.outputs = {{"y", "f32", {3, 2}}};
  graph.initializers = {Tensor::f32("scale", {1}, two)};
  graph.nodes = {{"LeakyRelu", {"x"}, {"r"}, {{"alpha", 0.5F}}},
                 {"Mul", {"r", "scale"}, {"s"}, {}},
                 {"Transpose", {"s"}, {"y"}, {{"perm", std::vector<std::int64_t>{1, 0}}}}};
  return graph;
}

TEST(OnnxWriter, WritesTheWireFormat) {
  OnnxGraph graph;
  graph.nodes = {{"Relu", {"x"}, {"y"}, {{"a", std::int64_t{-1}}, {"f", 1.0F}}}};
  const std::string model = write_onnx(graph);
  // ir_version = 8, then the producer's name.
  EXPECT_THAT(model, ::testing::StartsWith(bytes({0x08, 8, 0x12, 6}) + "temper"));
  // opset_import { version: 17 } ends the model.
  EXPECT_THAT(model, ::testing::EndsWith(bytes({0x42, 2, 0x10, 17})));
  // node.input, node.output, node.name, node.op_type
  EXPECT_THAT(model, HasSubstr(bytes({0x0a, 1}) + "x" + bytes({0x12, 1}) + "y" + bytes({0x1a, 6}) + "Relu_y" +
                               bytes({0x22, 4}) + "Relu"));
  // A negative integer is ten bytes; type INT = 2. A float is four bytes; type FLOAT = 1.
  EXPECT_THAT(model, HasSubstr(bytes({0x0a, 1}) + "a" +
                               bytes({0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0xa0, 1, 2})));
  EXPECT_THAT(model, HasSubstr(bytes({0x0a, 1}) + "f" + bytes({0x15, 0, 0, 0x80, 0x3f, 0xa0, 1, 1})));
}

TEST(OnnxWriter, RefusesUnknownTypes) {
  OnnxGraph graph = small_graph();
  graph.inputs[0].dtype = "f8";
  EXPECT_THROW(write_onnx(graph), Error);
}

TEST(OnnxWriter, WorkThatDoesNotFitIsRefused) {
  EXPECT_THROW(onnx_request(model_work(""), {}), Error);
  const PeerWork conv{
      "conv2d", {{"ic", 1}, {"h", 1}, {"w", 1}, {"oc", 1}, {"kh", 1}, {"kw", 1}}, Layout::Nhwc, {}, true, {}, {}};
  const std::array<float, 1> one{1};
  const std::vector<Tensor> inputs{Tensor::f32("in", {1, 1, 1, 1}, one), Tensor::f32("w", {1, 1, 1, 1}, one)};
  EXPECT_THROW(onnx_graph(conv, inputs), Error);
}

TEST(OnnxWriter, OnnxRuntimeRunsItsModels) {
  std::optional<Peer> peer = onnxruntime();
  if (!peer) GTEST_SKIP() << "ONNX Runtime is not installed: scripts/fetch_peers.sh";
  const std::array<float, 6> x{1, -2, 3, -4, 5, -6};
  peer->prepare(model_work(write_onnx(small_graph())), {Tensor::f32("x", {2, 3}, x)});
  const std::vector<Tensor> outputs = peer->outputs();
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs[0].name, "y");
  EXPECT_EQ(outputs[0].dims, (std::vector<std::int64_t>{3, 2}));
  EXPECT_THAT(outputs[0].as_f32(), ElementsAre(2, -4, -2, 10, 6, -6));
}

TEST(OnnxWriter, ValuesInsideAModelCanBeLookedAt) {
  std::optional<Peer> peer = onnxruntime();
  if (!peer) GTEST_SKIP() << "ONNX Runtime is not installed: scripts/fetch_peers.sh";
  const std::array<float, 6> x{1, -2, 3, -4, 5, -6};
  peer->prepare(model_work(with_outputs(write_onnx(small_graph()), {"r"})), {Tensor::f32("x", {2, 3}, x)});
  const std::vector<Tensor> outputs = peer->outputs();
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(outputs[1].name, "r");
  EXPECT_THAT(outputs[1].as_f32(), ElementsAre(1, -1, 3, -2, 5, -3));
}

TEST(OnnxWriter, OtherTypesAndModelsFromFiles) {
  std::optional<Peer> peer = onnxruntime();
  if (!peer) GTEST_SKIP() << "ONNX Runtime is not installed: scripts/fetch_peers.sh";
  const std::array<std::int64_t, 2> index{2, 0};
  const std::array<float, 3> table{10, 20, 30};
  OnnxGraph graph;
  graph.inputs = {{"i", "i64", {2}}};
  graph.outputs = {{"y", "f32", {2}}, {"j", "i64", {2}}};
  graph.nodes = {{"Constant", {}, {"t"}, {{"value", Tensor::f32("t", {3}, table)}}},
                 {"Gather", {"t", "i"}, {"y"}, {{"axis", std::int64_t{0}}}},
                 {"Identity", {"i"}, {"j"}, {}}};
  const std::string path = ::testing::TempDir() + "temper_peers_gather.onnx";
  const std::string model = write_onnx(graph);
  std::ofstream(path, std::ios::binary) << model;
  PeerWork work = model_work("");
  work.model_path = path;
  peer->prepare(work, {Tensor::i64("i", {2}, index)});
  const std::vector<Tensor> outputs = peer->outputs();
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_THAT(outputs[0].as_f32(), ElementsAre(30, 10));
  EXPECT_EQ(outputs[1].dtype, "i64");
  std::filesystem::remove(path);
}

TEST(OnnxRuntime, RefusesWhatIsNoModelAndWrongInputs) {
  std::optional<Peer> peer = onnxruntime();
  if (!peer) GTEST_SKIP() << "ONNX Runtime is not installed: scripts/fetch_peers.sh";
  const auto error_of = [&](const PeerWork& work, std::vector<Tensor> inputs, ErrorCode code) -> std::string {
    try {
      peer->prepare(work, std::move(inputs));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      return error.what();
    }
    return "no error";
  };
  const std::array<float, 6> x{};
  const PeerWork work = model_work(write_onnx(small_graph()));
  EXPECT_THAT(error_of(model_work("not a model"), {}, ErrorCode::InvalidModel), HasSubstr("refuses the model"));
  EXPECT_THAT(error_of(work, {Tensor::f32("z", {2, 3}, x)}, ErrorCode::InvalidArgument),
              HasSubstr("takes the inputs x"));
  EXPECT_THAT(error_of(work, {Tensor::f32("x", {3, 2}, x)}, ErrorCode::InvalidArgument),
              HasSubstr("cannot run the model"));
  EXPECT_EQ(error_of(work, {Tensor::f32("x", {2, 3}, x)}, ErrorCode::Internal), "no error");
}

}  // namespace
}  // namespace temper::peers
