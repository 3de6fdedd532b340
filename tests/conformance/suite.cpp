#include "conformance/suite.h"

#include <onnx/onnx.pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <sstream>

#include "temper/app/model.h"
#include "temper/graph/onnx_import.h"
#include "temper/graph/onnx_tensor.h"
#include "temper/graph/passes/bind_inputs.h"
#include "temper/graph/pipeline.h"
#include "temper/runtime/executor.h"
#include "temper/support/error.h"

namespace temper::conformance {
namespace {

namespace fs = std::filesystem;

constexpr std::array kGroups{"node", "pytorch-converted", "pytorch-operator", "simple"};
/// The suite's own tolerance is relative, 1e-3; the absolute one lets results near zero be.
constexpr double kRelative = 1e-3, kAbsolute = 1e-5;

std::string read_file(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// Why a case is not considered; empty when it is.
std::string apart(const onnx::ModelProto& model) {
  static const std::set<int> kTypes{onnx::TensorProto::FLOAT, onnx::TensorProto::INT8,  onnx::TensorProto::UINT8,
                                    onnx::TensorProto::INT32, onnx::TensorProto::INT64, onnx::TensorProto::BOOL};
  for (const auto& set : model.opset_import()) {
    if (!set.domain().empty() && set.domain() != "ai.onnx") return "domain " + set.domain();
    if (set.version() < graph::kOldestOpset || set.version() > graph::kNewestOpset)
      return "operator set " + std::to_string(set.version());
  }
  for (const auto* values : {&model.graph().input(), &model.graph().output()}) {
    for (const onnx::ValueInfoProto& value : *values) {
      if (value.type().value_case() != onnx::TypeProto::kTensorType) return "sequences, maps and optionals";
      if (!kTypes.contains(value.type().tensor_type().elem_type()))
        return "element type " + std::to_string(value.type().tensor_type().elem_type());
    }
  }
  return {};
}

/// The tensors input_0.pb, input_1.pb, … of a data set.
std::vector<ops::TensorValue> read_tensors(const fs::path& folder, const std::string& prefix) {
  std::vector<ops::TensorValue> tensors;
  for (int i = 0;; ++i) {
    const fs::path file = folder / (prefix + std::to_string(i) + ".pb");
    if (!fs::exists(file)) return tensors;
    onnx::TensorProto proto;
    if (!proto.ParseFromString(read_file(file)))
      throw Error(ErrorCode::Corrupt, "not a readable tensor", file.string());
    tensors.push_back(graph::tensor_from_onnx(proto, folder, file.string()));
  }
}

struct DataSet {
  std::vector<ops::TensorValue> inputs, outputs;
};

std::vector<DataSet> read_data(const fs::path& folder) {
  std::vector<DataSet> sets;
  for (int i = 0;; ++i) {
    const fs::path data = folder / ("test_data_set_" + std::to_string(i));
    if (!fs::exists(data)) return sets;
    sets.push_back({read_tensors(data, "input_"), read_tensors(data, "output_")});
  }
}

/// "Op: message" of a refusal, without what is special to one model.
std::string reason_of(const Error& error) {
  const std::string& message = error.message();
  if (const auto line = message.find("\n    "); line != std::string::npos) {
    // The list of unknown operators, a line each.
    std::string operators;
    std::istringstream lines(message.substr(line + 1));
    for (std::string text; std::getline(lines, text);) {
      text = text.substr(4, text.rfind(": ") - 4);
      operators += (operators.empty() ? "" : ", ") + text;
    }
    return "operator " + operators;
  }
  std::string op;
  const std::string& where = error.where();
  if (const auto open = where.find("' ("); where.starts_with("node '") && open != std::string::npos)
    op = where.substr(open + 3, where.find(')', open) - open - 3) + ": ";
  return op + message;
}

/// What of the inputs is bound: nothing; what may be a shape, axes or indices; also vectors of floats (scales).
enum class Binding { Nothing, SmallIntegers, Small };

graph::BoundInputs bound_inputs(const graph::Graph& graph, const DataSet& data, Binding binding) {
  graph::BoundInputs bound;
  for (std::size_t i = 0; i < std::min(graph.inputs.size(), data.inputs.size()); ++i) {
    const ops::TensorValue& value = data.inputs[i];
    const bool is_small = value.type.shape.size() <= 1;
    const bool wanted =
        binding == Binding::Small || (binding == Binding::SmallIntegers && !ir::is_float(value.type.dtype));
    if (is_small && wanted) bound[graph.value(graph.inputs[i]).name] = value;
  }
  return bound;
}

/// A value that is open in the model has the sizes of the data.
graph::ShapeFixes open_shapes(const graph::Graph& graph, const DataSet& data, const graph::BoundInputs& bound) {
  graph::ShapeFixes fixes;
  for (std::size_t i = 0; i < std::min(graph.inputs.size(), data.inputs.size()); ++i) {
    const std::string& name = graph.value(graph.inputs[i]).name;
    if (!graph.has_known_shape(graph.inputs[i]) && !bound.contains(name)) fixes[name] = data.inputs[i].type.shape;
  }
  return fixes;
}

graph::Program program_of(const fs::path& model, const DataSet& data, Binding binding, int* bound_count) {
  graph::Graph graph = graph::import_onnx(model);
  const graph::BoundInputs bound = bound_inputs(graph, data, binding);
  const graph::ShapeFixes fixes = open_shapes(graph, data, bound);
  graph::bind_inputs(graph, bound);
  *bound_count = static_cast<int>(bound.size());
  return graph::make_program(std::move(graph), fixes);
}

/// Binds as little as possible.
graph::Program import_case(const fs::path& model, const DataSet& data, int* bound_count) {
  for (const Binding binding : {Binding::Nothing, Binding::SmallIntegers}) {
    try {
      return program_of(model, data, binding, bound_count);
    } catch (const Error& error) {
      if (error.message().find("must be constant") == std::string::npos) throw;
    }
  }
  return program_of(model, data, Binding::Small, bound_count);
}

struct Comparison {
  double difference = 0;
  std::string what;  ///< empty: equal
};

Comparison compare(const ops::TensorValue& got, const ops::TensorValue& wanted, const std::string& name) {
  if (got.type != wanted.type)
    return {0, "output '" + name + "' is " + got.type.text() + ", expected " + wanted.type.text()};
  Comparison result;
  if (!ir::is_float(wanted.type.dtype)) {
    const auto a = got.integers(), b = wanted.integers();
    for (std::size_t i = 0; i < a.size(); ++i)
      result.difference = std::max(result.difference, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    if (a != b) result.what = "output '" + name + "' differs by " + std::to_string(result.difference);
    return result;
  }
  const std::vector<double> a = got.numbers(), b = wanted.numbers();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if ((std::isnan(a[i]) && std::isnan(b[i])) || a[i] == b[i]) continue;
    const double difference = std::abs(a[i] - b[i]);
    if (difference <= kAbsolute + kRelative * std::abs(b[i])) continue;
    result.difference = std::isnan(difference) ? HUGE_VAL : std::max(result.difference, difference);
    result.what = "output '" + name + "' differs by " + std::to_string(result.difference) + ", as at element " +
                  std::to_string(i) + ": " + std::to_string(a[i]) + ", expected " + std::to_string(b[i]);
  }
  return result;
}

/// Memory of the alignment that lets the executor use it in place.
struct Memory {
  std::vector<std::byte> bytes;
  std::byte* data;
  explicit Memory(std::size_t size) : bytes(size + 64) {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
    data = bytes.data() + (64 - address % 64) % 64;
  }
};

std::vector<ops::TensorValue> execute(runtime::Executor& executor, const graph::BoundInputs& inputs) {
  const runtime::Plan& plan = executor.plan();
  std::vector<Memory> memory;
  std::vector<const void*> in;
  std::vector<void*> out;
  memory.reserve(plan.inputs.size() + plan.outputs.size());
  for (const std::int32_t t : plan.inputs) {
    const auto& bytes = *inputs.at(plan.tensors[static_cast<std::size_t>(t)].name).bytes;
    memory.emplace_back(bytes.size());
    std::copy(bytes.begin(), bytes.end(), memory.back().data);
    in.push_back(memory.back().data);
  }
  for (const std::int32_t t : plan.outputs) {
    memory.emplace_back(static_cast<std::size_t>(plan.tensors[static_cast<std::size_t>(t)].bytes));
    out.push_back(memory.back().data);
  }
  executor.run(in, out);
  std::vector<ops::TensorValue> results;
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const runtime::PlanTensor& tensor = plan.tensors[static_cast<std::size_t>(plan.outputs[i])];
    const auto* bytes = static_cast<const std::byte*>(out[i]);
    results.push_back({{static_cast<ir::DType>(tensor.dtype), tensor.shape},
                       std::make_shared<const std::vector<std::byte>>(bytes, bytes + tensor.bytes)});
  }
  return results;
}

const target::Target& this_machine() {
  static const target::Target target = target::detect();
  return target;
}

Result run_data(const fs::path& model, const DataSet& data, const std::vector<std::string>& input_names) {
  Result result;
  std::optional<graph::Program> program;
  try {
    program = import_case(model, data, &result.bound);
  } catch (const Error& error) {
    const bool refused = error.code() == ErrorCode::Unsupported || error.code() == ErrorCode::InvalidModel;
    result.outcome = refused ? Outcome::Refused : Outcome::Failed;
    result.reason = reason_of(error);
    result.detail = error.what();
    return result;
  }
  result.generated = !program->steps.empty();
  result.outcome = Outcome::Failed;
  try {
    app::BuiltModel built = app::build_model(*program, this_machine(), 1, [](const tune::Task& task) {
      return tune::artifact_for(nullptr, task, this_machine(), tune::Mode::Off);
    });
    runtime::Executor executor(std::make_shared<const runtime::Plan>(std::move(built.plan)));
    graph::BoundInputs inputs;
    for (std::size_t i = 0; i < std::min(input_names.size(), data.inputs.size()); ++i)
      inputs[input_names[i]] = data.inputs[i];
    const std::vector<ops::TensorValue> outputs = execute(executor, inputs);
    if (outputs.size() < data.outputs.size()) {
      result.reason = "fewer outputs than expected";
      return result;
    }
    for (std::size_t i = 0; i < data.outputs.size(); ++i) {
      const Comparison comparison = compare(outputs[i], data.outputs[i], program->graph.output_names[i]);
      if (comparison.what.empty()) continue;
      result.difference = comparison.difference;
      result.reason = "another result";
      result.detail = comparison.what;
      return result;
    }
  } catch (const Error& error) {
    result.reason = reason_of(error);
    result.detail = error.what();
    return result;
  }
  result.outcome = Outcome::Passed;
  return result;
}

}  // namespace

std::string_view to_string(Outcome outcome) {
  constexpr std::array<std::string_view, 5> kNames{"passed", "failed", "refused", "crashed", "apart"};
  return kNames[static_cast<std::size_t>(outcome)];
}

std::vector<Case> find_cases(const fs::path& root) {
  std::vector<Case> cases;
  for (const char* group : kGroups) {
    if (!fs::is_directory(root / group))
      throw Error(ErrorCode::NotFound, "the folder holds no ONNX backend suite", (root / group).string(),
                  "give the folder backend/test/data of the onnx package: scripts/conformance.sh fetches it");
    for (const auto& entry : fs::directory_iterator(root / group)) {
      if (fs::exists(entry.path() / "model.onnx"))
        cases.push_back({std::string(group) + "/" + entry.path().filename().string(), entry.path()});
    }
  }
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.name < b.name; });
  return cases;
}

Result run_case(const Case& test) {
  const fs::path file = test.folder / "model.onnx";
  onnx::ModelProto model;
  Result result;
  if (!model.ParseFromString(read_file(file))) {
    result.outcome = Outcome::Failed;
    result.reason = "the model cannot be read";
    return result;
  }
  result.reason = apart(model);
  if (!result.reason.empty()) {
    result.outcome = Outcome::Apart;
    return result;
  }
  std::set<std::string> initializers;
  for (const onnx::TensorProto& tensor : model.graph().initializer()) initializers.insert(tensor.name());
  std::vector<std::string> inputs;
  for (const onnx::ValueInfoProto& value : model.graph().input()) {
    if (!initializers.contains(value.name())) inputs.push_back(value.name());
  }
  std::vector<DataSet> sets;
  try {
    sets = read_data(test.folder);
  } catch (const Error& error) {
    result.outcome = Outcome::Apart;
    result.reason = "data: " + error.message();
    return result;
  }
  for (const DataSet& data : sets) {
    result = run_data(file, data, inputs);
    if (result.outcome != Outcome::Passed) return result;
  }
  return result;
}

}  // namespace temper::conformance
