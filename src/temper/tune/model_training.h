// Training cost models on datasets, and judging them by others.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "temper/cost/evaluation.h"
#include "temper/cost/pretrained.h"
#include "temper/search/options.h"
#include "temper/target/cpu.h"
#include "temper/tune/dataset_features.h"

namespace temper::tune {

/// One model of an ensemble: a name of `cost::cost_models()` and options of its.
struct MemberRecipe {
  std::string kind;
  double weight = 1;
  search::OptionValues options;
};

struct TrainingRecipe {
  std::vector<MemberRecipe> members;
  std::uint64_t seed = 0;
  int threads = 1;
  double floor = 4;       ///< slower than the best by more than this natural logarithm counts as this much
  double emphasis = 0.5;  ///< a candidate's weight is its speed over the best, to this power
};

/// The members that `temper model train --model NAME` trains. Throws Error{InvalidArgument} that lists the names.
TrainingRecipe training_recipe(std::string_view name);
std::vector<std::string_view> training_recipes();

/// Learns the order of the candidates within each task. `held_out`: keys of tasks that must not be among `tasks`:
/// Error{InvalidArgument} names the first that is.
cost::PretrainedModel train(std::span<const TaskRows> tasks, const target::Target& target, const TrainingRecipe& recipe,
                            std::span<const std::string> held_out = {});

/// Scores for each row of a task. Throws as `cost::ColumnMap`, and Error{InvalidArgument} when the model learned from
/// this task.
std::vector<double> predict(const cost::PretrainedModel& model, const TaskRows& task);

}  // namespace temper::tune
