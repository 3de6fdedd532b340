// Gradient-boosted trees (Chen and Guestrin, "XGBoost: a scalable tree boosting system", KDD 2016), the online model of
// AutoTVM and Ansor. Either squared error on the score, or LambdaMART's pairwise ranking within a group.
#pragma once

#include "temper/cost/cost_model.h"

namespace temper::cost {

/// Its line in the table of models. `update` and `predict` throw Error{Internal} with XGBoost's own message when it
/// fails.
CostModelInfo xgboost_model();

}  // namespace temper::cost
