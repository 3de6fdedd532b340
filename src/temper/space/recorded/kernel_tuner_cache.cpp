// Caches of Kernel Tuner: an object of entries, keyed by the values of the parameters joined by commas.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "temper/space/recorded/entries.h"
#include "temper/support/error.h"

namespace temper::space::recorded {
namespace {

constexpr double kMillisecond = 1e-3;
constexpr std::array kSpentTimes{"compile_time", "verification_time", "benchmark_time", "framework_time"};

std::vector<std::string> parameter_names(const Json& root, const std::string& where) {
  std::vector<std::string> names;
  if (const auto keys = root.find("tune_params_keys"); keys != root.end() && keys->is_array()) {
    for (const Json& key : *keys) {
      if (key.is_string()) names.push_back(key.get<std::string>());
    }
  }
  if (names.empty()) {
    throw Error(ErrorCode::InvalidArgument, "the cache has no list 'tune_params_keys'", where,
                "the file is no cache of Kernel Tuner");
  }
  return names;
}

/// The listed value of a parameter that is written like `text`; caches without the parameters in their entries have
/// them in the keys alone.
std::optional<Value> value_in_key(const Json& root, const std::string& name, const std::string& text) {
  const auto parameters = root.find("tune_params");
  if (parameters == root.end() || !parameters->is_object() || !parameters->contains(name)) return std::nullopt;
  for (const Json& listed : parameters->at(name)) {
    const bool equal = listed.is_string() ? listed.get<std::string>() == text : listed.dump() == text;
    if (equal) return to_value(listed);
  }
  return std::nullopt;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace

RawRecording read_kernel_tuner_cache(const Json& root, const std::string& where) {
  RawRecording raw;
  raw.parameter_names = parameter_names(root, where);
  std::string objective = "time";
  if (const auto named = root.find("objective"); named != root.end() && named->is_string()) {
    objective = named->get<std::string>();
  }
  require_time(objective, where);
  const Json& cache = root.at("cache");
  if (!cache.is_object()) {
    throw Error(ErrorCode::InvalidArgument, "'cache' is no object", where, "the file is no cache of Kernel Tuner");
  }
  Oddities oddities;
  for (const auto& [key, json] : cache.items()) {
    const std::string place = "key \"" + key + "\"";
    if (!json.is_object()) {
      oddities.add("that are no object skipped", place);
      continue;
    }
    RawEntry entry;
    const std::vector<std::string> parts = split(key);
    for (std::size_t i = 0; i < raw.parameter_names.size(); ++i) {
      const std::string& name = raw.parameter_names[i];
      std::optional<Value> value;
      if (const auto own = json.find(name); own != json.end()) value = to_value(*own);
      if (!value && parts.size() == raw.parameter_names.size()) value = value_in_key(root, name, parts[i]);
      if (!value) {
        oddities.add("without a value of '" + name + "' skipped", place);
        break;
      }
      entry.values.push_back(*value);
    }
    if (entry.values.size() < raw.parameter_names.size()) continue;
    if (const auto error = json.find("__error__"); error != json.end()) {
      set_time(entry.entry, error->is_string() ? *error : Json("RuntimeFailedConfig"), kMillisecond);
    } else {
      const auto time = json.find(objective);
      set_time(entry.entry, time != json.end() ? *time : Json(), kMillisecond);
    }
    for (const char* name : kSpentTimes) {
      if (const auto spent = json.find(name); spent != json.end()) {
        entry.entry.spent_seconds += sum_of(*spent) * kMillisecond;
      }
    }
    const auto times = json.find("times");
    if (!json.contains("benchmark_time") && times != json.end())
      entry.entry.spent_seconds += sum_of(*times) * kMillisecond;
    raw.entries.push_back(std::move(entry));
  }
  oddities.append_to(raw.notes);
  return raw;
}

}  // namespace temper::space::recorded
