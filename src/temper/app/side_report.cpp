#include "temper/app/side_report.h"

#include <fmt/format.h>

#include "temper/app/options.h"

namespace temper::app {

nlohmann::json side_json(const peers::SideTimes& side) {
  return {{"quartile_seconds", side.quartile_seconds},
          {"median_seconds", side.median_seconds},
          {"min_seconds", side.min_seconds}};
}

std::string side_text(const peers::SideTimes& side) {
  return fmt::format("{}  median {}  min {}", seconds_text(side.quartile_seconds), seconds_text(side.median_seconds),
                     seconds_text(side.min_seconds));
}

}  // namespace temper::app
