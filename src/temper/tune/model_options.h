// Which cost models guide a search.
#pragma once

#include <memory>
#include <string>

#include "temper/cost/pretrained.h"

namespace temper::tune {

struct ModelOptions {
  /// Ranks candidates of which nothing is known; null: the analytic model does.
  std::shared_ptr<const cost::PretrainedModel> pretrained;
  std::string learner = "xgboost";  ///< what learns from the measurements of a run: a name of `cost::cost_models()`
};

}  // namespace temper::tune
