// `run --check`: options that go together, and what is said without ONNX Runtime.
#include <gmock/gmock.h>

#include "e2e/command.h"
#include "e2e/sample_model.h"

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

}  // namespace
}  // namespace temper::e2e
