// From a model to a bundle to numbers: by the command, and by a C program that links the runtime library alone.
#include <gmock/gmock.h>

#include <cstring>

#include "e2e/command.h"
#include "e2e/sample_model.h"
#include "paths.h"
#include "temper/runtime/npy.h"

namespace temper::e2e {
namespace {

using store::testing::write_file;
using ::testing::HasSubstr;

class Bundles : public Programs {
 protected:
  void SetUp() override {
    if (!can_run_generated_code()) GTEST_SKIP() << "code is generated for AVX2 and FMA";
    write_file(file("sample.onnx"), sample_model().model.SerializeAsString());
  }
  void write_input(const std::string& name, float value, std::int64_t channels = 2) const {
    const std::vector<float> values(static_cast<std::size_t>(16 * channels), value);
    runtime::write_npy(file(name), TEMPER_F32, std::vector<std::int64_t>{1, channels, 4, 4},
                       std::as_bytes(std::span(values)));
  }
  std::vector<float> read(const std::string& name) const {
    const runtime::NpyArray array = runtime::read_npy(file(name));
    std::vector<float> values(array.data.size() / sizeof(float));
    std::memcpy(values.data(), array.data.data(), array.data.size());
    return values;
  }
};

TEST_F(Bundles, BuildRunAndRunFromC) {
  const nlohmann::json built = json({"build", "sample.onnx", "-o", "sample.temper"});
  EXPECT_EQ(built["bundle"], "sample.temper");
  EXPECT_GT(built["bytes"], 1000);
  EXPECT_FALSE(fs::exists(file("temper.db")));

  write_input("x.npy", 0.5F);
  for (const char* model : {"sample.onnx", "sample.temper"}) {
    const Outcome outcome = temper({"run", model, "--input", "x=x.npy", "--output-dir", "out"});
    EXPECT_EQ(outcome.code, 0) << outcome;
    EXPECT_THAT(outcome.out, HasSubstr("y/out:0 -> out/y%2Fout%3A0.npy")) << "the mapping of names is printed";
    EXPECT_THAT(read("out/y%2Fout%3A0.npy"), ::testing::ElementsAre(::testing::FloatNear(1.25F, 1e-6F), 0.0F, 0.0F));
    fs::remove_all(file("out"));
  }

  const Outcome from_c = program(TEMPER_RUN_BUNDLE, {"sample.temper"});
  EXPECT_EQ(from_c.code, 0) << from_c;
  EXPECT_EQ(from_c.out, "y/out:0 1.2500\n");
  const Outcome libraries = program("/usr/bin/ldd", {TEMPER_RUN_BUNDLE});
  ASSERT_EQ(libraries.code, 0) << libraries;
  EXPECT_THAT(libraries.out, HasSubstr("libtemper_runtime"));
  for (const char* heavy : {"LLVM", "protobuf", "xgboost", "sqlite", "hwloc"})
    EXPECT_THAT(libraries.out, ::testing::Not(HasSubstr(heavy)));
}

TEST_F(Bundles, TheRunnerHoldsNoCompiler) {
  const Outcome libraries = program("/usr/bin/ldd", {(kBin / "temper-runner").string()});
  ASSERT_EQ(libraries.code, 0) << libraries;
  EXPECT_THAT(libraries.out, ::testing::Not(HasSubstr("LLVM")));
}

TEST_F(Bundles, InputsAreChecked) {
  write_input("x.npy", 0.5F);
  write_input("wide.npy", 0.5F, 3);
  expect_error_with({"run", "sample.onnx", "--input", "z=x.npy"}, 2, {"the model has no input 'z'", "inputs: x"});
  expect_error_with({"run", "sample.onnx", "--input", "x=wide.npy"}, 2,
                    {"input 'x' is f32[1,2,4,4], the file holds f32[1,3,4,4]", "wide.npy"});
  expect_error_with({"run", "sample.onnx", "--input", "x"}, 2, {"'x' is not NAME=FILE.npy"});
  expect_error_with({"run", "sample.onnx", "--input", "x=none.npy"}, 1, {"none.npy"});
  write_file(file("bad.npy"), "no array");
  expect_error_with({"run", "sample.onnx", "--input", "x=bad.npy"}, 2, {"bad.npy"});
}

TEST_F(Bundles, DamagedBundlesAreRefused) {
  ASSERT_EQ(temper({"build", "sample.onnx", "-o", "sample.temper"}).code, 0);
  const std::string whole = store::testing::read_file(file("sample.temper"));
  write_file(file("cut.temper"), whole.substr(0, whole.size() / 2));
  expect_error_with({"run", "cut.temper"}, 1, {"cut.temper"});
  std::string flipped = whole;
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 1);
  write_file(file("flipped.temper"), flipped);
  expect_error_with({"run", "flipped.temper"}, 1, {"flipped.temper"});
  write_file(file("text.temper"), "no bundle");
  expect_error_with({"run", "text.temper"}, 1, {"text.temper"});
  expect_error_with({"build", "sample.onnx", "-o", "no/such/folder/a.temper"}, 1, {"no/such/folder/a.temper"});
}

TEST_F(Bundles, ExplainNamesTheCodeOfEveryNode) {
  const nlohmann::json explained = json({"explain", "sample.onnx"});
  std::set<std::string> nodes;
  for (const auto& step : explained["steps"]) {
    EXPECT_EQ(step["code"], "default");
    for (const auto& node : step["nodes"]) nodes.insert(node.get<std::string>());
  }
  for (const char* node : {"Conv_c", "Relu_r", "GlobalAveragePool_g"}) EXPECT_TRUE(nodes.contains(node)) << node;
}

TEST_F(Bundles, EqualsOnnxRuntime) {
  const fs::path venv = fs::path(paths::source()) / "build" / "venv";
  if (!fs::exists(venv / "bin" / "python3")) GTEST_SKIP() << "no ONNX Runtime: scripts/fetch_peers.sh installs it";
  const Outcome outcome = Running(kBin / "temper", {"run", "sample.onnx", "--check", "onnxruntime", "--json"}, folder(),
                                  {"TEMPER_PEERS_VENV=" + venv.string()})
                              .wait();
  ASSERT_EQ(outcome.code, 0) << outcome;
  const nlohmann::json check = nlohmann::json::parse(outcome.out)["check"];
  EXPECT_EQ(check["equal"], true);
  EXPECT_LE(check["max_error"], 1e-4);
}

TEST_F(Bundles, AModelIsTunedAndBuiltWithItsRecords) {
  // One trial for each task: its default, which is its best then.
  const std::size_t tasks = json({"explain", "sample.onnx"})["tasks"].size();
  ASSERT_GE(tasks, 2U);
  const nlohmann::json tuned =
      tune_calmly({"tune", "sample.onnx", "--trials", std::to_string(tasks), "--no-peer"}, "temper.db");
  EXPECT_EQ(tuned["tasks"].size(), tasks);
  EXPECT_TRUE(tuned["whole_model"].contains("default"));
  EXPECT_TRUE(tuned["whole_model"].contains("tuned"));
  EXPECT_EQ(json({"build", "sample.onnx", "-o", "sample.temper"})["tuned"], tasks);
  const Outcome from_c = program(TEMPER_RUN_BUNDLE, {"sample.temper"});
  EXPECT_EQ(from_c.out, "y/out:0 1.2500\n") << from_c;

  // Every node is explained by a record, also those that no SPEC can name.
  const nlohmann::json model = json({"explain", "sample.onnx"});
  for (const auto& step : model["steps"]) EXPECT_THAT(step["code"].get<std::string>(), HasSubstr("record "));
  for (const auto& task : model["tasks"]) {
    const nlohmann::json record = json({"explain", "--record", task["record"].dump()});
    EXPECT_EQ(record["name"], task["key"]);
    store::testing::write_file(file("task.trace"), record["trace"]);
    EXPECT_EQ(json({"replay", "task.trace"})["artifact_hash"], record["artifact_hash"]);
  }
}

TEST_F(Bundles, HoldsWhateverIsFasterAsAWhole) {
  // Exhaustive enough that some task has a winner other than its default.
  json({"tune", "sample.onnx", "--trials", "40", "--no-peer"});
  const nlohmann::json built = json({"build", "sample.onnx", "-o", "raced.temper"});
  if (built.contains("race")) {
    const double tuned = built["race"]["tuned"]["min_seconds"], untuned = built["race"]["default"]["min_seconds"];
    EXPECT_GT(tuned, 0);
    EXPECT_GT(untuned, 0);
    if (untuned >= tuned) {
      EXPECT_GT(built["tuned"], 0) << built;
    }
  } else {
    EXPECT_EQ(json({"build", "sample.onnx", "-o", "plain.temper", "--no-race"})["bytes"], built["bytes"])
        << "nothing to race: every winner is its default";
  }
  EXPECT_FALSE(json({"build", "sample.onnx", "-o", "sample.temper", "--no-race"}).contains("race"));
  for (const char* bundle : {"raced.temper", "sample.temper"}) {
    const Outcome from_c = program(TEMPER_RUN_BUNDLE, {bundle});
    EXPECT_EQ(from_c.out, "y/out:0 1.2500\n") << from_c;
  }
}

TEST_F(Bundles, NoInputIsOverwritten) {
  const std::string before = store::testing::read_file(file("sample.onnx"));
  fs::create_symlink("sample.onnx", file("link"));
  for (const char* output : {"sample.onnx", "./sample.onnx", "link"})
    expect_error_with({"build", "sample.onnx", "-o", output}, 2, {"would overwrite the input", output, "hint:"});
  EXPECT_EQ(store::testing::read_file(file("sample.onnx")), before);
  write_file(file("temper.db"), "");
  expect_error_with({"build", "sample.onnx", "-o", "temper.db"}, 2, {"would overwrite the input"});
  write_input("x.npy", 0.5F);
  fs::create_directory(file("out"));
  fs::create_symlink("../x.npy", file("out/y%2Fout%3A0.npy"));
  fs::remove(file("temper.db"));
  expect_error_with({"run", "sample.onnx", "--input", "x=x.npy", "--output-dir", "out"}, 2,
                    {"would overwrite the input"});
  EXPECT_EQ(temper({"build", "sample.onnx", "-o", "/dev/null"}).code, 0);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(Bundles, AreKnownByTheirFirstBytes) {
  ASSERT_EQ(temper({"build", "sample.onnx", "-o", "sample.bundle"}).code, 0);
  EXPECT_EQ(temper({"run", "sample.bundle"}).code, 0);
  expect_error_with({"bench", "sample.bundle"}, 2, {"the file is a bundle", "sample.bundle", "hint:"});
}

TEST_F(Bundles, InputsAreSplitAtTheNameOfTheModel) {
  write_input("a=b.npy", 0.5F);
  EXPECT_EQ(temper({"run", "sample.onnx", "--input", "x=a=b.npy"}).code, 0);
  expect_error_with({"run", "sample.onnx", "--input", "x=a=b.npy", "--input", "x=a=b.npy"}, 2,
                    {"input 'x' is given twice"});
}

TEST_F(Bundles, AFullDiskIsNamedAndLeavesNoHalfFiles) {
  fs::create_directory(file("small"));
  store::testing::SmallDisk disk(file("small"), "64k");
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a small disk";
  store::testing::SmallDisk::fill(file("small/ballast"));
  expect_error_with({"build", "sample.onnx", "-o", "small/a.temper"}, 1, {"small/a.temper", "hint: free some space"});
  expect_error_with({"run", "sample.onnx", "--output-dir", "small"}, 1, {"small/", "hint: free some space"});
  EXPECT_EQ(std::distance(fs::directory_iterator(file("small")), fs::directory_iterator()), 1);
}

TEST_F(Bundles, ALongNameOfAnOutputIsCut) {
  graph::testing::ModelBuilder sample = sample_model();
  const std::string name(300, 'n');
  auto* graph = sample.model.mutable_graph();
  const std::string before = graph->output(0).name();
  graph->mutable_output(0)->set_name(name);
  for (auto& node : *graph->mutable_node()) {
    for (auto& output : *node.mutable_output()) output = output == before ? name : output;
  }
  write_file(file("long.onnx"), sample.model.SerializeAsString());
  EXPECT_EQ(temper({"run", "long.onnx", "--output-dir", "out"}).code, 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(file("out")), fs::directory_iterator()), 1);
}

TEST_F(Bundles, BenchWithoutAPeerChecksNothing) {
  const nlohmann::json work = json({"bench", "sample.onnx", "--rounds", "5"})["workloads"][0];
  EXPECT_TRUE(work["max_error"].is_null());
}

}  // namespace
}  // namespace temper::e2e
