// Runs the cases of the ONNX backend suite: one model each, with inputs and the outputs that it must give. Everything a
// user's model goes through is in it: import, passes, tasks, default schedules, generated code, the executor.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace temper::conformance {

struct Case {
  std::string name;              ///< "node/test_add"
  std::filesystem::path folder;  ///< holds model.onnx and test_data_set_0
};

enum class Outcome {
  Passed,
  Failed,   ///< another result, or an error after the import had accepted the model
  Refused,  ///< at import, with the reason
  Crashed,  ///< ended by a signal, or not at all in the time given
  Apart,    ///< not considered: element types or operator sets outside what is promised
};
std::string_view to_string(Outcome outcome);

struct Result {
  Outcome outcome = Outcome::Crashed;
  std::string reason;      ///< one line that equal cases share; empty when passed
  std::string detail;      ///< the whole message
  double difference = 0;   ///< failed: largest difference to what was expected
  int bound = 0;           ///< inputs that were bound as constants, because shapes depend on them
  bool generated = false;  ///< whether a kernel ran; otherwise the outputs followed from constants
};

/// Cases below `root` (the folder backend/test/data of the `onnx` package), sorted by name.
std::vector<Case> find_cases(const std::filesystem::path& root);

/// Runs one case in this process.
Result run_case(const Case& test);

/// Runs each case in a process of its own, `jobs` at a time; one that crashes or takes longer than `seconds` costs
/// itself. `done` hears each result as it arrives.
std::vector<Result> run_isolated(std::span<const Case> cases, int jobs, int seconds,
                                 const std::function<void(const Case&, const Result&)>& done = {});

}  // namespace temper::conformance
