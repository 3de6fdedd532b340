#include "temper/app/model.h"

#include <set>
#include <utility>

#include "temper/compile/compile.h"
#include "temper/graph/onnx_import.h"
#include "temper/graph/pipeline.h"
#include "temper/runtime/artifact_image.h"
#include "temper/runtime/bundle.h"
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

graph::Program load_program(const ModelOptions& options) {
  graph::ShapeFixes fixes;
  for (const std::string& text : options.shapes) {
    auto [name, sizes] = graph::parse_shape_fix(text);
    if (!fixes.emplace(name, std::move(sizes)).second)
      throw Error(ErrorCode::InvalidArgument, "the shape of '" + name + "' is given twice", "--shape",
                  "leave out one of them");
  }
  const std::set<std::string> disabled(options.disabled_passes.begin(), options.disabled_passes.end());
  require_model(options.model);
  if (runtime::is_bundle(options.model))
    throw Error(ErrorCode::InvalidArgument, "the file is a bundle, which only `temper run` takes", options.model,
                "give the ONNX model that it was built from");
  return graph::make_program(graph::import_onnx(options.model), fixes, disabled);
}

std::unique_ptr<store::Store> open_store(const std::string& path, bool create) {
  if (!create && !std::filesystem::exists(path)) return nullptr;
  return store::open_sqlite(path, create ? store::OpenMode::Create : store::OpenMode::ReadOnly);
}

Records::Records(const std::string& path, CancellationToken cancellation)
    : mode_(tune::mode_from_environment()), cancellation_(std::move(cancellation)) {
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
  options.cancellation = cancellation_;
  tune::Built built = tune::artifact_on_demand(task, store_ == nullptr ? tune::Mode::Off : mode_, options);
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
  for (tune::Task& task : tune::tasks_from_model(program, threads)) out.choices.push_back({std::move(task), {}, {}});
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
