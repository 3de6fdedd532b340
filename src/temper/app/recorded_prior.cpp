#include "temper/app/recorded_prior.h"

#include <algorithm>
#include <cmath>

#include "temper/cost/cost_model.h"
#include "temper/support/error.h"

namespace temper::app {
namespace {

namespace recorded = space::recorded;

/// Numbers as they are; texts by their place among the values of `parameter`, which the model is asked about.
float feature(const recorded::Value& value, const recorded::Parameter& parameter) {
  if (value.is_number()) return static_cast<float>(value.real());
  const int place = recorded::value_index(parameter, value);
  return place < 0 ? cost::kMissing : static_cast<float>(place);
}

std::vector<recorded::Parameter> varying(const recorded::Recording& recording) {
  std::vector<recorded::Parameter> result;
  for (const recorded::Parameter& parameter : recording.parameters) {
    if (parameter.values.size() > 1) result.push_back(parameter);
  }
  return result;
}

/// Features of an entry, a column for each of `columns`; missing where the recording lacks the parameter.
std::vector<float> row(const recorded::Recording& recording, const std::vector<std::int32_t>& choice,
                       const std::vector<recorded::Parameter>& columns) {
  std::vector<float> result;
  for (const recorded::Parameter& column : columns) {
    const int place = recorded::parameter_index(recording.parameters, column.name);
    if (place < 0) {
      result.push_back(cost::kMissing);
      continue;
    }
    const auto at = static_cast<std::size_t>(place);
    result.push_back(feature(recording.parameters[at].values[static_cast<std::size_t>(choice[at])], column));
  }
  return result;
}

/// Log seconds of each entry about their median; failures as slow as the slowest.
std::vector<double> targets(const recorded::Recording& recording) {
  std::vector<double> known;
  for (const recorded::Entry& entry : recording.entries) {
    if (entry.failure == record::FailureKind::None) known.push_back(std::log(entry.seconds));
  }
  TEMPER_CHECK(!known.empty(), "a recording without a success was to be learned from");
  std::sort(known.begin(), known.end());
  const double median = known[known.size() / 2], slowest = known.back();
  std::vector<double> result;
  for (const recorded::Entry& entry : recording.entries) {
    const double log_seconds = entry.failure == record::FailureKind::None ? std::log(entry.seconds) : slowest;
    result.push_back(log_seconds - median);
  }
  return result;
}

}  // namespace

bool same_parameters(const recorded::Recording& a, const recorded::Recording& b) {
  const auto within = [](const recorded::Recording& one, const recorded::Recording& other) {
    const std::vector<recorded::Parameter> own = varying(one);
    return std::all_of(own.begin(), own.end(), [&](const recorded::Parameter& parameter) {
      return recorded::parameter_index(other.parameters, parameter.name) >= 0;
    });
  };
  return within(a, b) && within(b, a);
}

std::vector<double> learned_prior(std::span<const recorded::Recording* const> sources,
                                  const recorded::RecordedSpace& target) {
  const std::vector<recorded::Parameter> columns = varying(target.recording());
  cost::TrainingSet samples{cost::FeatureMatrix(columns.size()), {}, {}, {}};
  for (const recorded::Recording* source : sources) {
    TEMPER_CHECK(same_parameters(*source, target.recording()), "a recording has other parameters than the space");
    const std::vector<double> log_seconds = targets(*source);
    for (std::size_t i = 0; i < log_seconds.size(); ++i) {
      samples.features.append(row(*source, source->entries[i].choice, columns));
      samples.scores.push_back(log_seconds[i]);
    }
  }
  // Every configuration was measured once: trees deep enough to keep what is particular to each.
  const std::unique_ptr<cost::CostModel> model =
      cost::make_cost_model("xgboost", {.options = {{"rounds", 300}, {"depth", 12}, {"min_child_weight", 0}}});
  model->update(samples);
  cost::FeatureMatrix wanted(columns.size());
  for (std::uint64_t i = 0; i < target.index().size(); ++i)
    wanted.append(row(target.recording(), target.index().at(i).choice, columns));
  return model->predict(wanted);
}

}  // namespace temper::app
