// A comparison of strategies as a table, as JSON, as CSV and as curves.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "temper/search/comparison.h"

namespace temper::app {

/// For people: each space with its strategies, the best first; the means over the spaces; the rank tests.
std::string comparison_table(const search::Comparison& comparison, const search::ComparisonOptions& options);

/// Everything, with the curves; times in seconds.
nlohmann::json comparison_json(const search::Comparison& comparison, const search::ComparisonOptions& options);

/// The curves, one point a line: space,strategy,axis,x,mean_seconds,low_seconds,high_seconds. `axis` is "evaluations"
/// or "seconds"; the strategy "random (expected)" is the exact expectation of random search.
std::string comparison_csv(const search::Comparison& comparison);

/// Best time over the optimum, over evaluations (left) and over simulated time (right, where the recording has it).
std::string comparison_svg(const search::Comparison& comparison, const search::ComparisonOptions& options);

}  // namespace temper::app
