#include "temper/tune/task_features.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "temper/ir/dtype.h"
#include "temper/support/error.h"

namespace temper::tune {
namespace {

double elements(const ir::Stage& stage) {
  double product = 1;
  for (const std::int64_t extent : stage.shape()) product *= static_cast<double>(extent);
  return product;
}

double bytes(const ir::Stage& stage) {
  double sum = 0;
  for (const ir::DType dtype : stage.dtypes) sum += elements(stage) * ir::bytes(dtype);
  return sum;
}

}  // namespace

std::vector<cost::Fact> task_facts(const Task& task, const target::Target& target) {
  std::vector<cost::Fact> facts = cost::target_facts(target, task.threads);
  double inputs = 0, constants = 0, outputs = 0, results = 0;
  for (const ir::StagePtr& stage : task.compute.stages) {
    if (stage->kind == ir::StageKind::Placeholder) (stage->constant ? constants : inputs) += bytes(*stage);
  }
  for (const ir::StagePtr& output : task.compute.outputs) outputs += bytes(*output), results += elements(*output);
  facts.emplace_back("flops", task.flops);
  facts.emplace_back("input_bytes", inputs);
  facts.emplace_back("constant_bytes", constants);
  facts.emplace_back("output_bytes", outputs);
  facts.emplace_back("flops_per_output", task.flops / std::max(1.0, results));
  facts.emplace_back("flops_per_byte", task.flops / std::max(1.0, inputs + constants + outputs));
  return facts;
}

cost::Analyse task_analysis(const TaskSpace& space, const target::Target& target, int threads) {
  cost::Analyse analyse = cost::schedule_analysis(
      [&space](const search::Candidate& candidate) { return space.materialise(candidate); }, target, threads);
  return [analyse = std::move(analyse)](const search::Candidate& candidate) {
    try {
      return analyse(candidate);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Internal) throw;
      cost::Analysis unknown;
      unknown.features.assign(cost::analytic_features().size(), std::numeric_limits<double>::quiet_NaN());
      return unknown;
    }
  };
}

cost::FeatureExtractor task_extractor(const TaskSpace& space, const Task& task, const target::Target& target) {
  const cost::Analysis reference = task_analysis(space, target, task.threads)(space.default_candidate());
  return cost::FeatureExtractor(space, task_facts(task, target), cost::analytic_features(), reference);
}

}  // namespace temper::tune
