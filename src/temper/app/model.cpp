#include "temper/app/model.h"

#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "temper/app/exclusive.h"
#include "temper/compile/compile.h"
#include "temper/graph/onnx_import.h"
#include "temper/graph/passes/bind_inputs.h"
#include "temper/graph/pipeline.h"
#include "temper/peers/onnx_writer.h"
#include "temper/runtime/artifact_image.h"
#include "temper/runtime/bundle.h"
#include "temper/runtime/npy.h"
#include "temper/store/sqlite_store.h"
#include "temper/support/error.h"
#include "temper/tune/on_demand.h"
#include "temper/tune/version.h"

namespace temper::app {

void require_model(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw Error(ErrorCode::InvalidArgument, "there is no such model", path, "check the path");
}

namespace {

/// The arrays of --constant, by name.
std::map<std::string, runtime::NpyArray> read_constants(const ModelOptions& options) {
  std::map<std::string, runtime::NpyArray> arrays;
  for (const std::string& text : options.constants) {
    const std::size_t at = text.rfind('=');
    if (at == std::string::npos || at == 0)
      throw Error(ErrorCode::InvalidArgument, "'" + text + "' is not NAME=FILE.npy", "--constant",
                  "--constant shape=shape.npy");
    arrays[text.substr(0, at)] = runtime::read_npy(text.substr(at + 1));
  }
  return arrays;
}

}  // namespace

Model load_model(const ModelOptions& options) {
  graph::ShapeFixes fixes;
  for (const std::string& text : options.shapes) {
    auto [name, sizes] = graph::parse_shape_fix(text);
    if (!fixes.emplace(name, std::move(sizes)).second)
      throw Error(ErrorCode::InvalidArgument, "the shape of '" + name + "' is given twice", "--shape",
                  "leave out one of them");
  }
  Model model;
  model.disabled_passes = std::set<std::string>(options.disabled_passes.begin(), options.disabled_passes.end());
  const auto rule = tune::parse_layout_rule(options.layouts);
  TEMPER_CHECK(rule.has_value(), "the command line takes known rules alone");
  if (rule != tune::LayoutRule::Measured && model.disabled_passes.contains("layout"))
    throw Error(ErrorCode::InvalidArgument, "without the pass layout there are no layouts to choose", "--layouts",
                "leave out --disable-pass layout");
  require_model(options.model);
  if (runtime::is_bundle(options.model))
    throw Error(ErrorCode::InvalidArgument, "the file is a bundle, which only `temper run` takes", options.model,
                "give the ONNX model that it was built from");
  graph::Graph graph = graph::import_onnx(options.model);
  graph::BoundInputs constants;
  for (const auto& [name, array] : read_constants(options)) {
    constants[name] = {{static_cast<ir::DType>(array.dtype), array.shape},
                       std::make_shared<const std::vector<std::byte>>(array.data)};
  }
  graph::bind_inputs(graph, constants);
  model.graph = graph::optimise_before_layouts(std::move(graph), fixes, model.disabled_passes);
  model.layouts =
      tune::ModelLayouts(model.graph, model.disabled_passes, options.threads, tune::blocks_of(target::detect()), *rule);
  return model;
}

graph::Program Model::program(const graph::Layouts& chosen) const {
  return graph::program_with_layouts(graph, chosen, disabled_passes);
}

peers::PeerWork peer_work(const ModelOptions& options) {
  peers::PeerWork work;
  work.op = "model";
  if (options.constants.empty()) {
    work.model_path = options.model;
    return work;
  }
  std::ifstream stream(options.model, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  if (!stream && !stream.eof())
    throw Error(ErrorCode::Io, "cannot read the model", options.model, "check its permissions");
  std::vector<peers::Tensor> tensors;
  for (auto& [name, array] : read_constants(options)) {
    peers::Tensor tensor;
    tensor.name = name;
    tensor.dtype = runtime::dtype_name(array.dtype);
    tensor.dims = array.shape;
    tensor.data = std::move(array.data);
    tensors.push_back(std::move(tensor));
  }
  work.model = peers::with_initializers(bytes, tensors);
  return work;
}

std::unique_ptr<store::Store> open_store(const std::string& path, bool create) {
  if (!create && !std::filesystem::exists(path)) return nullptr;
  return store::open_sqlite(path, create ? store::OpenMode::Create : store::OpenMode::ReadOnly);
}

Records::Records(const std::string& path, double max_error, CancellationToken cancellation)
    : mode_(tune::mode_from_environment()), max_error_(max_error), cancellation_(std::move(cancellation)) {
  if (mode_ == tune::Mode::Off) {
    note_ = "TEMPER_TUNE is off: default schedules";
    return;
  }
  store_ = open_store(path, mode_ == tune::Mode::On);
  if (store_ == nullptr) note_ = "no database " + path + ": default schedules";
}

tune::Built Records::artifact(const tune::Task& task, const target::Target& target) const {
  tune::Options options;
  options.store = store_.get();
  options.target = target;
  options.max_error = max_error_;
  options.cancellation = cancellation_;
  const tune::Mode mode = store_ == nullptr ? tune::Mode::Off : mode_;
  const auto build = [&] { return tune::artifact_on_demand(task, mode, options); };
  // A search times, and takes its turns itself.
  tune::Built built = mode == tune::Mode::On ? build() : build_between_timings(cancellation_, build);
  cancellation_.throw_if_requested();
  return built;
}

BuiltModel build_model(const graph::Program& program, const target::Target& target, int threads,
                       const Records& records) {
  return build_model(program, target, threads, [&](const tune::Task& task) { return records.artifact(task, target); });
}

BuiltModel build_model(const graph::Program& program, const target::Target& target, int threads,
                       const std::function<tune::Built(const tune::Task&)>& artifact_of) {
  BuiltModel out;
  for (tune::Task& task : tune::tasks_from_model(program, threads, target))
    out.choices.push_back({std::move(task), {}, {}});
  const auto kernel_of = [&](const graph::Task& task) {
    const auto index = static_cast<std::size_t>(&task - program.tasks.data());
    TEMPER_CHECK(index < out.choices.size(), "a task of another program");
    TaskChoice& choice = out.choices[index];
    tune::Built built = artifact_of(choice.task);
    choice.record = std::move(built.record);
    choice.note = std::move(built.note);
    return runtime::Bytes::copy_of(built.artifact.bytes);
  };
  graph::PlanOptions options;
  options.cpu_features = target.features;  // code generation may use all of them
  options.metadata["temper"] = std::string(tune::version());
  options.metadata["target"] = target::fingerprint(target);
  out.plan = graph::build_plan(program, kernel_of, options);
  return out;
}

}  // namespace temper::app
