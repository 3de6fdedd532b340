// Every peer's numbers on every kind of work that it takes, against definitions written here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>

#include "peers/reference.h"
#include "temper/peers/peer.h"
#include "temper/support/error.h"

namespace temper::peers {
namespace {

using ::testing::Gt;
using ::testing::HasSubstr;
using testing::largest_error;
using testing::random_inputs;
using testing::reference;
using ::testing::SizeIs;

// Sums of up to a few hundred terms of size 1 in f32, relative to the largest output.
constexpr double kTolerance = 1e-5;

struct Case {
  std::string name;
  PeerWork work;
};

std::vector<Case> cases() {
  const auto conv = [](std::map<std::string, std::int64_t> fields, Layout layout,
                       std::vector<std::string> epilogue = {}, bool constant = true) {
    return PeerWork{"conv2d", std::move(fields), layout, std::move(epilogue), constant, {}, {}};
  };
  const auto matmul = [](std::map<std::string, std::int64_t> fields, std::vector<std::string> epilogue = {},
                         bool constant = true) {
    return PeerWork{"matmul", std::move(fields), Layout::Native, std::move(epilogue), constant, {}, {}};
  };
  const std::map<std::string, std::int64_t> k3{{"ic", 16}, {"h", 9},  {"w", 11}, {"oc", 32},
                                               {"kh", 3},  {"kw", 3}, {"pad", 1}};
  const std::map<std::string, std::int64_t> odd{{"n", 2},  {"ic", 3}, {"h", 13},     {"w", 10}, {"oc", 5},
                                                {"kh", 5}, {"kw", 3}, {"stride", 2}, {"pad", 2}};
  const std::map<std::string, std::int64_t> sides{
      {"ic", 4},         {"h", 12},        {"w", 14},         {"oc", 6},        {"kh", 3},
      {"kw", 2},         {"stride_h", 2},  {"stride_w", 1},   {"pad_top", 2},   {"pad_left", 1},
      {"pad_bottom", 0}, {"pad_right", 3}, {"dilation_h", 1}, {"dilation_w", 3}};
  const std::map<std::string, std::int64_t> depthwise{{"ic", 32}, {"h", 14},  {"w", 14},     {"oc", 32},    {"kh", 3},
                                                      {"kw", 3},  {"pad", 1}, {"stride", 2}, {"groups", 32}};
  const std::map<std::string, std::int64_t> grouped{{"n", 2},   {"ic", 8}, {"h", 7},  {"w", 7},
                                                    {"oc", 12}, {"kh", 3}, {"kw", 3}, {"groups", 4}};
  std::vector<Case> result{
      {"matmul", matmul({{"m", 37}, {"n", 45}, {"k", 53}})},
      {"one row", matmul({{"m", 1}, {"n", 100}, {"k", 64}})},
      {"batched", matmul({{"batch", 3}, {"m", 8}, {"n", 12}, {"k", 20}})},
      {"one row, b transposed", matmul({{"m", 1}, {"n", 12}, {"k", 20}, {"trans_b", 1}})},
      {"matmul, b transposed", matmul({{"m", 5}, {"n", 12}, {"k", 20}, {"trans_b", 1}})},
      {"matmul, b transposed, bias", matmul({{"m", 5}, {"n", 12}, {"k", 20}, {"trans_b", 1}}, {"bias"})},
      {"batched, b transposed and not constant",
       matmul({{"batch", 3}, {"m", 8}, {"n", 12}, {"k", 20}, {"trans_b", 1}}, {}, false)},
      {"matmul, b not constant", matmul({{"m", 16}, {"n", 32}, {"k", 8}}, {}, false)},
      {"matmul, bias and relu", matmul({{"m", 9}, {"n", 17}, {"k", 33}}, {"bias", "relu"})},
      {"matmul, all steps",
       matmul({{"m", 9}, {"n", 17}, {"k", 33}}, {"bias", "tanh", "add", "sigmoid", "add", "hardswish"})},
      {"softmax", {"softmax", {{"rows", 7}, {"cols", 129}}, Layout::Native, {}, true, {}, {}}},
      {"layer norm", {"layernorm", {{"rows", 5}, {"cols", 100}}, Layout::Native, {}, true, {}, {}}},
      {"attention",
       {"attention",
        {{"batch", 2}, {"heads", 3}, {"queries", 9}, {"keys", 11}, {"depth", 8}, {"value_depth", 5}},
        Layout::Native,
        {},
        true,
        {},
        {}}},
  };
  const std::map<std::string, std::int64_t> transposed{{"ic", 16}, {"h", 5},  {"w", 7},      {"oc", 32},
                                                       {"kh", 4},  {"kw", 4}, {"stride", 2}, {"pad", 1}};
  const std::map<std::string, std::int64_t> transposed_odd{{"n", 2},          {"ic", 6},
                                                           {"h", 3},          {"w", 5},
                                                           {"oc", 4},         {"kh", 3},
                                                           {"kw", 5},         {"stride_h", 2},
                                                           {"stride_w", 3},   {"pad_top", 1},
                                                           {"pad_bottom", 0}, {"pad_left", 2},
                                                           {"pad_right", 1},  {"output_padding_w", 1},
                                                           {"groups", 2}};
  for (const Layout layout : {Layout::Native, Layout::Nchw, Layout::Nhwc}) {
    const auto transpose = [&](std::map<std::string, std::int64_t> fields, std::vector<std::string> epilogue = {}) {
      PeerWork work = conv(std::move(fields), layout, std::move(epilogue));
      work.op = "conv_transpose2d";
      return work;
    };
    const std::string suffix = ", " + std::string(to_string(layout));
    result.push_back({"conv k3" + suffix, conv(k3, layout)});
    result.push_back({"conv, odd sizes" + suffix, conv(odd, layout)});
    result.push_back({"conv, sides differ" + suffix, conv(sides, layout)});
    result.push_back({"conv, depthwise" + suffix, conv(depthwise, layout)});
    result.push_back({"conv, grouped" + suffix, conv(grouped, layout)});
    result.push_back({"conv, bias and relu" + suffix, conv(k3, layout, {"bias", "relu"})});
    result.push_back({"conv, residual" + suffix, conv(k3, layout, {"bias", "hardswish", "add"})});
    result.push_back({"transposed conv" + suffix, transpose(transposed)});
    result.push_back({"transposed conv, bias and relu" + suffix, transpose(transposed, {"bias", "relu"})});
    result.push_back({"transposed conv, sides differ" + suffix, transpose(transposed_odd)});
    result.push_back({"conv, filters not constant" + suffix, conv(k3, layout, {}, false)});
  }
  return result;
}

/// A running peer, or nothing where its library or wheel is not installed. That our own program is missing is no
/// excuse.
std::optional<Peer> start(std::string_view name, int threads = 1) {
  PeerOptions options = PeerOptions::defaults();
  options.threads = threads;
  options.timeout_seconds = 60;
  try {
    return Peer(name, options);
  } catch (const Error& error) {
    const bool not_installed =
        error.hint().starts_with("apt-get install") || error.hint().starts_with("run scripts/fetch_peers.sh");
    if (error.code() != ErrorCode::NotFound || !not_installed) throw;
    return std::nullopt;
  }
}

class EveryPeer : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryPeer, AgreesWithTheDefinition) {
  std::optional<Peer> peer = start(GetParam());
  if (!peer) GTEST_SKIP() << GetParam() << " is not installed";
  int taken = 0;
  for (const auto& [name, work] : cases()) {
    SCOPED_TRACE(name);
    if (!peer->supports(work)) continue;
    ++taken;
    const std::vector<Tensor> inputs = random_inputs(work, 7);
    peer->prepare(work, inputs);
    peer->run(2);
    const std::vector<Tensor> outputs = peer->outputs();
    ASSERT_THAT(outputs, SizeIs(1));
    EXPECT_EQ(outputs[0].dims, output_spec(work).dims);
    EXPECT_LT(largest_error(outputs[0], reference(work, inputs)), kTolerance);
  }
  EXPECT_THAT(taken, Gt(10));
}

TEST_P(EveryPeer, SaysItsVersionAndTimesItsCalls) {
  std::optional<Peer> peer = start(GetParam());
  if (!peer) GTEST_SKIP() << GetParam() << " is not installed";
  EXPECT_THAT(peer->version(), ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+.*"));
  const PeerWork work{"matmul", {{"m", 64}, {"n", 64}, {"k", 64}}, Layout::Native, {}, true, {}, {}};
  peer->prepare(work, random_inputs(work, 1));
  EXPECT_GT(peer->run(10), 0);
}

TEST_P(EveryPeer, RunsWithTwoThreads) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "this machine has one core";
  std::optional<Peer> peer = start(GetParam(), 2);
  if (!peer) GTEST_SKIP() << GetParam() << " is not installed";
  const PeerWork work{"matmul", {{"m", 128}, {"n", 96}, {"k", 64}}, Layout::Native, {}, true, {}, {}};
  const std::vector<Tensor> inputs = random_inputs(work, 3);
  peer->prepare(work, inputs);
  EXPECT_LT(largest_error(peer->outputs().at(0), reference(work, inputs)), kTolerance);
}

TEST_P(EveryPeer, GoesOnAfterARequestItRefuses) {
  std::optional<Peer> peer = start(GetParam());
  if (!peer) GTEST_SKIP() << GetParam() << " is not installed";
  EXPECT_THROW(peer->run(1), Error);
  EXPECT_THROW(peer->outputs(), Error);
  const PeerWork work{"matmul", {{"m", 3}, {"n", 4}, {"k", 5}}, Layout::Native, {}, true, {}, {}};
  const std::vector<Tensor> inputs = random_inputs(work, 3);
  EXPECT_THROW(peer->prepare(work, {inputs[0]}), Error);
  peer->prepare(work, inputs);
  EXPECT_LT(largest_error(peer->outputs().at(0), reference(work, inputs)), kTolerance);
}

INSTANTIATE_TEST_SUITE_P(Peers, EveryPeer, ::testing::Values("onednn", "openblas", "onnxruntime", "openvino"));

std::string refused(const std::function<void()>& action, ErrorCode code) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(PeerErrors, AnUnknownPeerIsAnsweredWithTheKnownOnes) {
  const std::string text = refused([] { Peer("mkl", PeerOptions::defaults()); }, ErrorCode::InvalidArgument);
  EXPECT_THAT(text, HasSubstr("Unknown peer 'mkl'"));
  EXPECT_THAT(text, HasSubstr("onednn, openblas, onnxruntime, openvino"));
}

TEST(PeerErrors, AMissingLibraryNamesItsPackage) {
  PeerOptions options = PeerOptions::defaults();
  options.library = "libnot-there.so.2";
  EXPECT_THAT(refused([&] { Peer("onednn", options); }, ErrorCode::NotFound), HasSubstr("apt-get install libdnnl2"));
  EXPECT_THAT(refused([&] { Peer("openblas", options); }, ErrorCode::NotFound),
              HasSubstr("apt-get install libopenblas0"));
}

TEST(PeerErrors, AnotherLibraryIsOfTheWrongVersion) {
  PeerOptions options = PeerOptions::defaults();
  options.library = "libm.so.6";
  EXPECT_THAT(refused([&] { Peer("onednn", options); }, ErrorCode::Version), HasSubstr("no function 'dnnl_version'"));
  EXPECT_THAT(refused([&] { Peer("openblas", options); }, ErrorCode::Version), HasSubstr("no function 'cblas_sgemm'"));
}

TEST(PeerErrors, AMissingWheelSaysHowToFetchIt) {
  PeerOptions options = PeerOptions::defaults();
  options.python = "/nowhere/bin/python3";
  EXPECT_THAT(refused([&] { Peer("onnxruntime", options); }, ErrorCode::NotFound), HasSubstr("scripts/fetch_peers.sh"));
}

TEST(PeerErrors, APythonWithoutTheWheelSaysHowToFetchIt) {
  PeerOptions options = PeerOptions::defaults();
  options.python = "/usr/bin/python3";
  if (!std::filesystem::exists(options.python)) GTEST_SKIP() << "no system Python";
  EXPECT_THAT(refused([&] { Peer("onnxruntime", options); }, ErrorCode::NotFound), HasSubstr("scripts/fetch_peers.sh"));
}

/// A Python that finds a package named onnxruntime of the given version, which is not ONNX Runtime.
std::filesystem::path python_with_impostor(const std::string& version) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(::testing::TempDir()) / ("temper_peers_impostor_" + version);
  fs::create_directories(folder / "onnxruntime" / "capi");
  std::ofstream(folder / "numpy.py") << "";
  std::ofstream(folder / "onnxruntime" / "__init__.py") << "__version__ = '" << version << "'\n";
  std::ofstream(folder / "onnxruntime" / "capi" / "__init__.py") << "";
  std::ofstream(folder / "onnxruntime" / "capi" / "onnxruntime_pybind11_state.py") << "";
  const fs::path python = folder / "python3";
  // The first argument isolates Python from its environment, which is just what is wanted here.
  std::ofstream(python) << "#!/bin/sh\nshift\nPYTHONPATH=" << folder.string() << " exec /usr/bin/python3 \"$@\"\n";
  fs::permissions(python, fs::perms::owner_all);
  return python;
}

TEST(PeerErrors, AnotherVersionOfTheWheelIsRefused) {
  PeerOptions options = PeerOptions::defaults();
  if (!std::filesystem::exists("/usr/bin/python3")) GTEST_SKIP() << "no system Python";
  options.python = python_with_impostor("1.31.0");
  EXPECT_THAT(refused([&] { Peer("onnxruntime", options); }, ErrorCode::Version),
              HasSubstr("ONNX Runtime 1.31.0 is installed, not 1.32.0"));
}

TEST(PeerErrors, TheRightVersionWithOtherContentIsRefused) {
  PeerOptions options = PeerOptions::defaults();
  if (!std::filesystem::exists("/usr/bin/python3")) GTEST_SKIP() << "no system Python";
  options.python = python_with_impostor("1.32.0");
  EXPECT_THAT(refused([&] { Peer("onnxruntime", options); }, ErrorCode::Version), HasSubstr("is not the pinned wheel"));
}

TEST(PeerErrors, AMissingProgramIsNamed) {
  PeerOptions options = PeerOptions::defaults();
  options.native_executable = "/nowhere/temper-peer";
  EXPECT_THAT(refused([&] { Peer("onednn", options); }, ErrorCode::NotFound), HasSubstr("/nowhere/temper-peer"));
}

TEST(Refusals, NameWhatThePeerLacks) {
  const PeerWork softmax{"softmax", {{"rows", 2}, {"cols", 2}}, Layout::Native, {}, true, {}, {}};
  EXPECT_EQ(refusal(peer_info("openblas"), softmax), "OpenBLAS has no softmax");
  EXPECT_EQ(refusal(peer_info("onednn"), softmax), std::nullopt);
  PeerWork conv{"conv2d", {{"ic", 1}, {"h", 4}, {"w", 4}, {"oc", 1}, {"kh", 1}, {"kw", 1}}, Layout::Nhwc, {}, true, {},
                {}};
  EXPECT_EQ(refusal(peer_info("onnxruntime"), conv), "ONNX Runtime takes no NHWC convolution");
  EXPECT_EQ(refusal(peer_info("onednn"), conv), std::nullopt);
  conv.layout = Layout::Nchw;
  conv.epilogue = {"bias"};
  EXPECT_EQ(refusal(peer_info("openblas"), conv), "OpenBLAS cannot fuse bias");
}

}  // namespace
}  // namespace temper::peers
