#include "temper/tune/default_model.h"

#include <utility>

#include "temper/measure/worker.h"

namespace temper::tune {
namespace {

constexpr const char* kFile = "default.model";

}  // namespace

ChosenModel default_model(const target::Target& target, const std::filesystem::path& programs) {
  const std::filesystem::path folder =
      programs.empty() ? measure::find_program("temper-runner").parent_path() : programs;
  const std::filesystem::path file = folder.parent_path() / "share" / "temper" / "models" / kFile;
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return {nullptr, "there is no " + file.string()};
  auto model = std::make_shared<const cost::PretrainedModel>(cost::PretrainedModel::load(file));
  if (model->card().vector_bytes != target.vector_bytes) {
    return {nullptr, file.string() + " was trained with vectors of " + std::to_string(model->card().vector_bytes) +
                         " bytes, this target has " + std::to_string(target.vector_bytes)};
  }
  return {std::move(model), file.string()};
}

ChosenModel choose_model(const std::string& name, const target::Target& target, const std::filesystem::path& programs) {
  if (name == "auto") return default_model(target, programs);
  if (name == "none") return {nullptr, "none was wanted"};
  return {std::make_shared<const cost::PretrainedModel>(cost::PretrainedModel::load(name)), name};
}

}  // namespace temper::tune
