#include "temper/search/surrogate/knob_columns.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "temper/support/error.h"

namespace temper::search {
namespace {

constexpr double kNowhere = std::numeric_limits<double>::quiet_NaN();

double logarithm(std::int64_t value) {
  const double number = static_cast<double>(value);
  return std::copysign(std::log2(1 + std::abs(number)), number);
}

/// Places of the values, in their order.
std::vector<double> places(std::span<const std::int64_t> values, bool rising) {
  std::vector<double> result;
  for (std::size_t i = 0; i < values.size(); ++i)
    result.push_back(rising ? logarithm(values[i]) : static_cast<double>(i));
  const double first = result.front(), range = result.back() - first;
  for (double& place : result) place = range > 0 ? (place - first) / range : 0;
  return result;
}

}  // namespace

KnobColumns::KnobColumns(const Space& space) {
  const std::vector<Design>& designs = space.designs();
  level_of_.resize(designs.size());
  knob_of_.resize(designs.size());
  if (designs.size() > 1) {
    columns_.push_back({"design", std::vector<double>(designs.size(), kNowhere), false});
    for (std::size_t d = 0; d < designs.size(); ++d) {
      level_of_[d].push_back({static_cast<std::uint16_t>(d)});
      knob_of_[d].push_back(-1);
    }
  }
  std::vector<std::string> names;
  for (const Design& design : designs) {
    for (const Knob& knob : design.knobs) {
      if (std::find(names.begin(), names.end(), knob.name) == names.end()) names.push_back(knob.name);
    }
  }
  for (const std::string& name : names) {
    std::vector<std::int64_t> values;
    bool rising = true, optional = false;
    for (const Design& design : designs) {
      const int knob = knob_index(design, name);
      optional |= knob < 0;
      if (knob < 0) continue;
      const std::vector<std::int64_t>& own = design.knobs[static_cast<std::size_t>(knob)].values;
      rising &= std::is_sorted(own.begin(), own.end());
      for (const std::int64_t value : own) {
        if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
      }
    }
    if (rising) std::sort(values.begin(), values.end());
    if (values.empty() || (values.size() < 2 && !optional)) continue;
    TEMPER_CHECK(values.size() < std::numeric_limits<std::uint16_t>::max(), "a knob has too many values for a level");
    KnobColumn column{name, places(values, rising), optional};
    if (optional) column.positions.push_back(kNowhere);
    for (std::size_t d = 0; d < designs.size(); ++d) {
      const int knob = knob_index(designs[d], name);
      knob_of_[d].push_back(knob);
      std::vector<std::uint16_t>& levels = level_of_[d].emplace_back();
      if (knob < 0) {
        levels.push_back(static_cast<std::uint16_t>(values.size()));
        continue;
      }
      for (const std::int64_t value : designs[d].knobs[static_cast<std::size_t>(knob)].values) {
        levels.push_back(static_cast<std::uint16_t>(std::find(values.begin(), values.end(), value) - values.begin()));
      }
    }
    columns_.push_back(std::move(column));
  }
}

std::vector<std::uint16_t> KnobColumns::levels(const Candidate& candidate) const {
  const std::size_t design = static_cast<std::size_t>(candidate.design);
  std::vector<std::uint16_t> result(columns_.size());
  for (std::size_t column = 0; column < result.size(); ++column) {
    const int knob = knob_of_[design][column];
    const std::size_t value = knob < 0 ? 0 : static_cast<std::size_t>(candidate.choice[static_cast<std::size_t>(knob)]);
    result[column] = level_of_[design][column][value];
  }
  return result;
}

}  // namespace temper::search
