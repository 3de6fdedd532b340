// How the times of one side of a comparison are shown, wherever sides are compared.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "temper/peers/interleave.h"

namespace temper::app {

/// Seconds per call: `quartile_seconds`, which ratios are of, `median_seconds` and `min_seconds`.
nlohmann::json side_json(const peers::SideTimes& side);
/// The same on a line: "1.313 ms  median 1.320 ms  min 1.276 ms".
std::string side_text(const peers::SideTimes& side);

}  // namespace temper::app
