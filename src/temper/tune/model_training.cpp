#include "temper/tune/model_training.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "temper/support/error.h"

namespace temper::tune {
namespace {

struct NamedRecipe {
  std::string_view name;
  std::vector<MemberRecipe> members;
};

const std::vector<NamedRecipe>& recipes() {
  static const search::OptionValues trees{{"rank", 1},   {"rounds", 400},          {"depth", 6},          {"eta", 0.07},
                                          {"lambda", 1}, {"columns", 0.3},         {"most_columns", 1e6}, {"rows", 0.8},
                                          {"bins", 64},  {"min_child_weight", 0.5}};
  static const search::OptionValues network{{"hidden", 96}, {"layers", 2},  {"epochs", 60},
                                            {"batch", 60},  {"rate", 2e-3}, {"decay", 0.03}};
  static const std::vector<NamedRecipe> table{
      {"xgboost", {{"xgboost", 1, trees}}},
      {"mlp", {{"mlp", 1, network}}},
      {"ensemble", {{"xgboost", 0.5, trees}, {"mlp", 0.5, network}}},
  };
  return table;
}

/// Every column that any task has, in order of first appearance.
std::vector<std::string> all_columns(std::span<const TaskRows> tasks) {
  std::vector<std::string> columns;
  std::set<std::string> known;
  for (const TaskRows& task : tasks) {
    for (const std::string& column : task.columns) {
      if (known.insert(column).second) columns.push_back(column);
    }
  }
  return columns;
}

}  // namespace

std::vector<std::string_view> training_recipes() {
  std::vector<std::string_view> names;
  for (const NamedRecipe& recipe : recipes()) names.push_back(recipe.name);
  return names;
}

TrainingRecipe training_recipe(std::string_view name) {
  const auto found = std::ranges::find(recipes(), name, &NamedRecipe::name);
  if (found == recipes().end()) {
    std::string known;
    for (const std::string_view recipe : training_recipes()) known += (known.empty() ? "" : ", ") + std::string(recipe);
    throw Error(ErrorCode::InvalidArgument, "there is no model '" + std::string(name) + "' to train", "--model",
                "choose one of: " + known);
  }
  TrainingRecipe recipe;
  recipe.members = found->members;
  return recipe;
}

cost::PretrainedModel train(std::span<const TaskRows> tasks, const target::Target& target, const TrainingRecipe& recipe,
                            std::span<const std::string> held_out) {
  const std::set<std::string> forbidden(held_out.begin(), held_out.end());
  cost::PretrainedModel::Card card;
  card.target = target::fingerprint(target);
  card.vector_bytes = target.vector_bytes;
  card.columns = all_columns(tasks);
  cost::TrainingSet samples{cost::FeatureMatrix(card.columns.size()), {}, {}, {}};
  int group = 0;
  for (const TaskRows& task : tasks) {
    if (forbidden.contains(task.key)) {
      throw Error(ErrorCode::InvalidArgument, "a task to learn from is held out: " + task.key, "temper model train",
                  "a model is judged by tasks that it has not seen; take the task out of one of the two");
    }
    if (task.seconds.empty()) continue;
    const cost::ColumnMap columns(card.columns, task.columns);
    const double best = *std::ranges::min_element(task.seconds);
    for (std::size_t row = 0; row < task.seconds.size(); ++row) {
      columns.append(task.features.row(row), samples.features);
      const double score = std::max(-recipe.floor, std::log(best / task.seconds[row]));
      samples.scores.push_back(score);
      samples.weights.push_back(std::exp(recipe.emphasis * score));
      samples.groups.push_back(group);
    }
    card.tasks.push_back(cost::task_hash(task.key));
    ++group;
  }
  card.rows = samples.features.rows();
  std::vector<cost::PretrainedModel::Member> members;
  for (const MemberRecipe& member : recipe.members) {
    std::unique_ptr<cost::CostModel> model =
        cost::make_cost_model(member.kind, {recipe.seed, recipe.threads, member.options});
    model->update(samples);
    members.push_back({member.kind, member.weight, std::move(model)});
  }
  return cost::PretrainedModel(std::move(card), std::move(members));
}

std::vector<double> predict(const cost::PretrainedModel& model, const TaskRows& task) {
  if (model.knows(cost::task_hash(task.key))) {
    throw Error(ErrorCode::InvalidArgument, "the model learned from this task: " + task.key, "temper model eval",
                "a model is judged by tasks that it has not seen");
  }
  const cost::ColumnMap columns(model.card().columns, task.columns);
  cost::FeatureMatrix rows(model.card().columns.size());
  for (std::size_t row = 0; row < task.seconds.size(); ++row) columns.append(task.features.row(row), rows);
  return model.predict(rows);
}

}  // namespace temper::tune
