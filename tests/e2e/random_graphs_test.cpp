// Random graphs of the supported operators, from the file to generated code by default schedules: every step and every
// output equals ONNX Runtime. TEMPER_FUZZ_GRAPHS sets how many, TEMPER_FUZZ_GRAPH_SEED where to start; one seed alone
// reproduces its graph. ONNX Runtime's Sigmoid is right to 6e-8 of 1, not of the result: a graph whose every input of
// one is below -10 differs by more than 1e-4 of what is left.
#include <gmock/gmock.h>

#include <cstdlib>
#include <map>
#include <set>

#include "e2e/command.h"
#include "graph/random_model.h"
#include "paths.h"

namespace temper::e2e {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// What the graphs of a run contain, so that a generator that stops making something is noticed.
struct Coverage {
  std::set<std::string> operators;
  int with_branches = 0, with_odd_channels = 0, several_outputs = 0;
  std::size_t steps = 0, compared = 0;

  void add(const onnx::GraphProto& graph) {
    std::map<std::string, int> readers;
    bool odd = false;
    for (const onnx::NodeProto& node : graph.node()) {
      operators.insert(node.op_type());
      for (const std::string& input : std::set<std::string>(node.input().begin(), node.input().end())) ++readers[input];
    }
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      odd = odd || (tensor.dims_size() == 4 && tensor.dims(0) % 2 == 1 && tensor.dims(0) > 1);
    }
    for (const onnx::TensorProto& tensor : graph.initializer()) readers.erase(tensor.name());
    with_branches += std::any_of(readers.begin(), readers.end(), [](const auto& r) { return r.second > 1; }) ? 1 : 0;
    with_odd_channels += odd ? 1 : 0;
    several_outputs += graph.output_size() > 1 ? 1 : 0;
  }
};

class RandomGraphs : public Programs {};

TEST_F(RandomGraphs, EqualOnnxRuntime) {
  if (!can_run_generated_code()) GTEST_SKIP() << "code is generated for AVX2 and FMA";
  const fs::path venv = fs::path(paths::source()) / "build" / "venv";
  if (!fs::exists(venv / "bin" / "python3")) GTEST_SKIP() << "no ONNX Runtime: scripts/fetch_peers.sh installs it";
  const std::uint64_t graphs = from_environment("TEMPER_FUZZ_GRAPHS", 40),
                      first = from_environment("TEMPER_FUZZ_GRAPH_SEED", 1);
  const std::vector<std::string> environment{"TEMPER_PEERS_VENV=" + venv.string(), "TEMPER_TUNE=off"};
  Coverage coverage;
  for (std::uint64_t seed = first; seed < first + graphs; ++seed) {
    SCOPED_TRACE("TEMPER_FUZZ_GRAPHS=1 TEMPER_FUZZ_GRAPH_SEED=" + std::to_string(seed));
    const graph::testing::ModelBuilder model = graph::testing::random_model(seed);
    coverage.add(model.model.graph());
    ASSERT_EQ(model.model.graph().input(0).type().tensor_type().shape().dim(0).dim_value(), 3) << "the batch";
    store::testing::write_file(file("m.onnx"), model.model.SerializeAsString());
    const Outcome outcome = Running(kBin / "temper",
                                    {"run", "m.onnx", "--check", "onnxruntime", "--every-step", "--samples", "2",
                                     "--seed", std::to_string(seed), "--json"},
                                    folder(), environment)
                                .wait();
    const nlohmann::json object = nlohmann::json::parse(outcome.out, nullptr, false);
    if (outcome.code != 0 || !object.is_object()) {
      ADD_FAILURE() << outcome;
      continue;
    }
    EXPECT_EQ(object["check"]["equal"], true);
    coverage.steps += object["check"]["steps"].size();
    coverage.compared += object["check"]["compared_steps"].get<std::size_t>();
  }
  std::cout << graphs << " graphs from seed " << first << ": " << coverage.operators.size() << " operators, "
            << coverage.steps << " steps, " << coverage.compared << " compared; " << coverage.with_branches
            << " graphs with branches, " << coverage.with_odd_channels << " with odd channels, "
            << coverage.several_outputs << " with several outputs\n";
  if (graphs < 40) return;
  EXPECT_GE(coverage.operators.size(), 30U) << ::testing::PrintToString(coverage.operators);
  EXPECT_GE(coverage.with_branches, 30);
  EXPECT_GE(coverage.with_odd_channels, 20);
  EXPECT_GE(coverage.several_outputs, 30);
  EXPECT_GE(coverage.compared * 10, coverage.steps * 9) << "nearly every step is a value of the model";
}

}  // namespace
}  // namespace temper::e2e
