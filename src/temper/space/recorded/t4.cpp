// T4 results: a list of entries, each with its configuration, times, invalidity and measurements.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "temper/space/recorded/entries.h"
#include "temper/support/error.h"

namespace temper::space::recorded {
namespace {

constexpr double kMillisecond = 1e-3;

/// The tuner's own search is not part of what an entry costs: the strategy that is replayed has its own.
constexpr std::array kSearchTimes{"search_algorithm", "search_algorithm_time", "search"};

struct Invalidity {
  const char* name;
  record::FailureKind kind;
};
constexpr std::array kInvalidities{Invalidity{"compile", record::FailureKind::CompileError},
                                   Invalidity{"runtime", record::FailureKind::Crash},
                                   Invalidity{"timeout", record::FailureKind::RunTimeout},
                                   Invalidity{"correctness", record::FailureKind::WrongResult}};

const Json* find(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}
std::string text_in(const Json& object, const char* name) {
  const Json* value = find(object, name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

/// The measurement that the search is about.
const Json* objective_measurement(const Json& result, const std::string& objective) {
  const Json* measurements = find(result, "measurements");
  if (measurements == nullptr || !measurements->is_array()) return nullptr;
  for (const Json& measurement : *measurements) {
    if (text_in(measurement, "name") == objective) return &measurement;
  }
  return nullptr;
}

std::string objective_of(const Json& result) {
  const Json* objectives = find(result, "objectives");
  if (objectives != nullptr && objectives->is_array() && !objectives->empty() && objectives->front().is_string()) {
    return objectives->front().get<std::string>();
  }
  return "time";
}

class T4Reader {
 public:
  T4Reader(const Json& root, const std::string& where) : where_(where) {
    const Json* metadata = find(root, "metadata");
    const std::string unit = metadata != nullptr ? text_in(*metadata, "timeunit") : "";
    unit_seconds_ = unit.empty() ? kMillisecond : seconds_of_unit(unit, where);
    if (unit.empty()) raw_.notes.emplace_back("no unit of time is given: taken for milliseconds");
  }

  RawRecording read(const Json& results) {
    if (!results.is_array()) {
      throw Error(ErrorCode::InvalidArgument, "'results' is no list", where_, "the file is no valid T4 result");
    }
    std::size_t number = 0;
    for (const Json& result : results) read_entry(result, fmt::format("entry {}", ++number));
    oddities_.append_to(raw_.notes);
    return std::move(raw_);
  }

 private:
  bool read_configuration(const Json& result, const std::string& place, std::vector<Value>& values) {
    const Json* configuration = find(result, "configuration");
    if (configuration == nullptr || !configuration->is_object()) {
      oddities_.add("without a configuration skipped", place);
      return false;
    }
    if (raw_.parameter_names.empty()) {
      for (const auto& [name, value] : configuration->items()) raw_.parameter_names.push_back(name);
    }
    for (const std::string& name : raw_.parameter_names) {
      const Json* json = find(*configuration, name.c_str());
      const std::optional<Value> value = json != nullptr ? to_value(*json) : std::nullopt;
      if (!value) {
        oddities_.add("without a value of '" + name + "' skipped", place);
        return false;
      }
      values.push_back(*value);
    }
    if (configuration->size() > raw_.parameter_names.size()) {
      oddities_.add("with parameters that the first one does not have skipped", place);
      return false;
    }
    return true;
  }

  void read_entry(const Json& result, const std::string& place) {
    RawEntry raw;
    if (!read_configuration(result, place, raw.values)) return;
    const std::string invalidity = text_in(result, "invalidity");
    if (invalidity == "constraints") {
      oddities_.add("that broke the constraints left out", place);
      return;
    }
    const std::string objective = objective_of(result);
    require_time(objective, where_ + ", " + place);
    const Json* measurement = objective_measurement(result, objective);
    const Json* value = measurement != nullptr ? find(*measurement, "value") : nullptr;
    const std::string unit = measurement != nullptr ? text_in(*measurement, "unit") : "";
    set_time(raw.entry, value != nullptr ? *value : Json(),
             unit.empty() ? unit_seconds_ : seconds_of_unit(unit, where_ + ", " + place));
    if (!invalidity.empty() && invalidity != "correct") {
      raw.entry.failure = record::FailureKind::Crash;
      for (const Invalidity& known : kInvalidities) {
        if (invalidity == known.name) raw.entry.failure = known.kind;
      }
      if (raw.entry.reason.empty()) raw.entry.reason = invalidity;
    } else if (invalidity == "correct" && raw.entry.failure != record::FailureKind::None) {
      oddities_.add("said to be correct without a time taken for failed", place);
    }
    if (const Json* times = find(result, "times"); times != nullptr && times->is_object()) {
      for (const auto& [name, time] : times->items()) {
        const bool own = std::find(kSearchTimes.begin(), kSearchTimes.end(), name) != kSearchTimes.end();
        if (!own) raw.entry.spent_seconds += sum_of(time) * unit_seconds_;
      }
    }
    raw_.entries.push_back(std::move(raw));
  }

  std::string where_;
  double unit_seconds_ = kMillisecond;
  RawRecording raw_;
  Oddities oddities_;
};

}  // namespace

RawRecording read_t4(const Json& root, const std::string& where) {
  return T4Reader(root, where).read(root.at("results"));
}

}  // namespace temper::space::recorded
