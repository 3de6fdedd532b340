// From a dataset to rows of features, made anew from the candidates.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "temper/cost/feature_matrix.h"
#include "temper/target/cpu.h"
#include "temper/tune/dataset.h"

namespace temper::tune {

/// The candidates of one task that have a time.
struct TaskRows {
  std::string key;
  std::vector<std::string> columns;  ///< names of the features
  cost::FeatureMatrix features;
  std::vector<double> seconds;   ///< measured
  std::vector<double> analytic;  ///< predicted by the analytic model
  std::size_t failed = 0;        ///< candidates of the dataset without a time
  std::size_t unknown = 0;       ///< candidates that today's templates do not have or refuse
};

TaskRows rows_of(const DatasetTask& task, const target::Target& target);

}  // namespace temper::tune
