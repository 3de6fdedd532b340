#include "temper/app/model.h"

#include <set>

#include "temper/compile/compile.h"
#include "temper/graph/onnx_import.h"
#include "temper/graph/pipeline.h"
#include "temper/runtime/artifact_image.h"
#include "temper/store/sqlite_store.h"
#include "temper/support/error.h"
#include "temper/tune/version.h"

namespace temper::app {

graph::Program load_program(const ModelOptions& options) {
  graph::ShapeFixes fixes;
  for (const std::string& text : options.shapes) {
    auto [name, sizes] = graph::parse_shape_fix(text);
    fixes[name] = std::move(sizes);
  }
  const std::set<std::string> disabled(options.disabled_passes.begin(), options.disabled_passes.end());
  return graph::make_program(graph::import_onnx(options.model), fixes, disabled);
}

std::unique_ptr<store::Store> open_store(const std::string& path, bool create) {
  if (!create && !std::filesystem::exists(path)) return nullptr;
  return store::open_sqlite(path, create ? store::OpenMode::Create : store::OpenMode::ReadOnly);
}

BuiltModel build_model(const graph::Program& program, const store::Store* store, const target::Target& target,
                       int threads, tune::Mode mode) {
  BuiltModel out;
  for (tune::Task& task : tune::tasks_from_model(program, threads)) out.choices.push_back({std::move(task), {}, {}});
  const auto artifact_of = [&](const graph::Task& task) {
    const auto index = static_cast<std::size_t>(&task - program.tasks.data());
    TEMPER_CHECK(index < out.choices.size(), "a task of another program");
    TaskChoice& choice = out.choices[index];
    tune::Built built = tune::artifact_for(store, choice.task, target, mode);
    choice.record = std::move(built.record);
    choice.note = std::move(built.note);
    return runtime::Bytes::copy_of(built.artifact.bytes);
  };
  graph::PlanOptions options;
  options.cpu_features = target.features;  // code generation may use all of them
  options.metadata["temper"] = std::string(tune::version());
  options.metadata["target"] = target::fingerprint(target);
  out.plan = graph::build_plan(program, artifact_of, options);
  return out;
}

}  // namespace temper::app
