// `run --check`: options that go together, and what is said without ONNX Runtime.
#include <gmock/gmock.h>

#include <span>

#include "e2e/command.h"
#include "e2e/sample_model.h"
#include "paths.h"
#include "temper/runtime/npy.h"

namespace temper::e2e {
namespace {

class Check : public Programs {
 protected:
  void SetUp() override { store::testing::write_file(file("m.onnx"), sample_model().model.SerializeAsString()); }
};

TEST_F(Check, OptionsThatDoNotGoTogether) {
  expect_error({"run", "m.onnx", "--check", "numpy"}, 2,
               "temper: there is no check against 'numpy'\n  at: --check\n  hint: use onnxruntime\n");
  expect_error({"run", "m.temper", "--check", "onnxruntime"}, 2,
               "temper: a bundle holds no ONNX model to check against\n  at: --check\n  hint: run the .onnx file\n");
  expect_error({"run", "m.onnx", "--every-step"}, 2,
               "temper: nothing to compare the steps with\n  at: --every-step\n  hint: add --check onnxruntime\n");
  expect_error({"run", "m.onnx", "--samples", "3"}, 2,
               "temper: nothing to check\n  at: --samples\n  hint: add --check onnxruntime\n");
  expect_error(
      {"run", "m.onnx", "--check", "onnxruntime", "--samples", "3", "--input", "x=x.npy"}, 2,
      "temper: samples are random inputs, and --input gives one\n  at: --samples\n  hint: leave out one of the "
      "two\n");
  expect_error_with({"run", "m.onnx", "--check", "onnxruntime", "--samples", "0"}, 2, {"--samples"});
}

TEST_F(Check, WithoutOnnxRuntimeSaysHowToGetIt) {
  if (!can_run_generated_code()) GTEST_SKIP() << "code is generated for AVX2 and FMA";
  const Outcome outcome = Running(kBin / "temper", {"run", "m.onnx", "--check", "onnxruntime", "--every-step"},
                                  folder(), {"TEMPER_PEERS_VENV=" + file("no-venv").string()})
                              .wait();
  EXPECT_EQ(outcome.code, 1) << outcome;
  EXPECT_THAT(outcome.err, ::testing::HasSubstr("no-venv"));
  EXPECT_THAT(outcome.err, ::testing::HasSubstr("hint: run scripts/fetch_peers.sh"));
}

class Constant : public Programs {
 protected:
  void SetUp() override {
    graph::testing::ModelBuilder b;
    b.input("x", {2, 3}).input("s", {2}, onnx::TensorProto::INT64).node("Neg", {"x"}, {"n"});
    b.node("Reshape", {"n", "s"}, {"y"}).output("y");
    store::testing::write_file(file("m.onnx"), b.model.SerializeAsString());
    const std::vector<std::int64_t> sizes{3, 2}, shape{2};
    runtime::write_npy(file("s.npy"), TEMPER_I64, shape, std::as_bytes(std::span(sizes)));
  }
};

TEST_F(Constant, AShapeThatIsAnInputMustBeBound) {
  expect_error_with({"run", "m.onnx"}, 2, {"must be constant", "node 'Reshape_y'", "--constant"});
  expect_error({"run", "m.onnx", "--constant", "s"}, 2,
               "temper: 's' is not NAME=FILE.npy\n  at: --constant\n  hint: --constant shape=shape.npy\n");
  expect_error({"run", "m.onnx", "--constant", "t=s.npy"}, 2,
               "temper: the model has no input called 't'\n  at: --constant t\n  hint: its inputs are x, s\n");
  expect_error({"explain", "--op", "softmax(rows=4,cols=4)", "--constant", "s=s.npy"}, 2,
               "temper: --constant is for models\n  at: --constant\n  hint: an operator has no such inputs\n");
  expect_error({"run", "m.temper", "--constant", "s=s.npy"}, 2,
               "temper: a bundle's constants are in it already\n  at: --constant\n  hint: give them to temper build\n");
  if (!can_run_generated_code()) GTEST_SKIP() << "code is generated for AVX2 and FMA";
  const Outcome outcome = temper({"run", "m.onnx", "--constant", "s=s.npy", "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["outputs"][0]["shape"], (std::vector<int>{3, 2}));
}

TEST_F(Constant, OnnxRuntimeGetsTheSame) {
  if (!can_run_generated_code()) GTEST_SKIP() << "code is generated for AVX2 and FMA";
  const fs::path venv = fs::path(paths::source()) / "build" / "venv";
  if (!fs::exists(venv / "bin" / "python3")) GTEST_SKIP() << "no ONNX Runtime: scripts/fetch_peers.sh installs it";
  const Outcome outcome =
      Running(kBin / "temper", {"run", "m.onnx", "--constant", "s=s.npy", "--check", "onnxruntime", "--json"}, folder(),
              {"TEMPER_PEERS_VENV=" + venv.string()})
          .wait();
  EXPECT_EQ(outcome.code, 0) << outcome;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["check"]["equal"], true);
}

}  // namespace
}  // namespace temper::e2e
