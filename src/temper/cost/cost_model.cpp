#include "temper/cost/cost_model.h"

#include <algorithm>
#include <cmath>

#include "temper/cost/mlp_model.h"
#include "temper/cost/xgboost_model.h"
#include "temper/support/error.h"

namespace temper::cost {

void check_training_set(const TrainingSet& samples) {
  const std::size_t rows = samples.features.rows();
  const auto fits = [&](std::size_t size, bool may_be_empty) { return size == rows || (may_be_empty && size == 0); };
  if (rows == 0 || !fits(samples.scores.size(), false) || !fits(samples.weights.size(), true) ||
      !fits(samples.groups.size(), true)) {
    throw Error(ErrorCode::InvalidArgument, "scores, weights and groups do not match the rows of features",
                "cost model", "give one score for each of at least one row; weights and groups may be empty");
  }
  const auto finite = [](double value) { return std::isfinite(value); };
  if (!std::all_of(samples.scores.begin(), samples.scores.end(), finite) ||
      !std::all_of(samples.weights.begin(), samples.weights.end(),
                   [](double w) { return std::isfinite(w) && w >= 0; })) {
    throw Error(ErrorCode::InvalidArgument, "a score or weight to learn from is not a finite number", "cost model",
                "give failed candidates a low score instead of an infinite one");
  }
}

std::string CostModel::serialise() const {
  throw Error(ErrorCode::Unsupported, "this kind of cost model cannot be kept in a file", "cost model",
              "override CostModel::serialise");
}

std::span<const CostModelInfo> cost_models() {
  static const std::vector<CostModelInfo> table{xgboost_model(), mlp_model()};
  return table;
}

const CostModelInfo& cost_model_info(std::string_view name) {
  const std::span<const CostModelInfo> table = cost_models();
  const auto info = std::find_if(table.begin(), table.end(), [&](const CostModelInfo& m) { return m.name == name; });
  if (info == table.end()) {
    std::string known;
    for (const CostModelInfo& model : table) known += (known.empty() ? "" : ", ") + model.name;
    throw Error(ErrorCode::InvalidArgument, "there is no cost model '" + std::string(name) + "'", "cost model",
                "choose one of: " + known);
  }
  return *info;
}

std::unique_ptr<CostModel> make_cost_model(std::string_view name, const CostModelContext& context) {
  const CostModelInfo& info = cost_model_info(name);
  CostModelContext complete = context;
  complete.options = search::complete_options("cost model '" + info.name + "'", info.options, context.options);
  return info.make(complete);
}

}  // namespace temper::cost
