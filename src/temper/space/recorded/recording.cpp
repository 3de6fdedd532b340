#include "temper/space/recorded/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>

#include "temper/search/enumeration.h"
#include "temper/space/recorded/entries.h"
#include "temper/support/error.h"

namespace temper::space::recorded {
namespace {

/// Numbers first, rising; then texts, in the order in which they came.
void sort_values(Parameter& parameter) {
  std::stable_sort(parameter.values.begin(), parameter.values.end(), [](const Value& a, const Value& b) {
    if (a.is_number() != b.is_number()) return a.is_number();
    return a.is_number() && compare_numbers(a, b) < 0;
  });
}

/// Whole numbers that were written as texts become numbers, when all texts of a parameter are such.
void read_whole_numbers(Parameter& parameter) {
  std::vector<Value> numbers;
  for (const Value& value : parameter.values) {
    if (!value.is_text()) {
      numbers.push_back(value);
      continue;
    }
    const std::string& text = value.text();
    std::int64_t number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) return;
    if (std::find(numbers.begin(), numbers.end(), Value(number)) == numbers.end()) numbers.emplace_back(number);
  }
  parameter.values = std::move(numbers);
}

/// The parameters of the raw entries, with the values that occur, in order.
std::vector<Parameter> collect_parameters(const RawRecording& raw) {
  std::vector<Parameter> parameters;
  for (const std::string& name : raw.parameter_names) parameters.push_back({name, {}});
  for (const RawEntry& entry : raw.entries) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (value_index(parameters[i], entry.values[i]) < 0) parameters[i].values.push_back(entry.values[i]);
    }
  }
  for (Parameter& parameter : parameters) {
    read_whole_numbers(parameter);
    sort_values(parameter);
  }
  return parameters;
}

/// Old value index → new one.
void renumber(Recording& recording, std::size_t parameter, const std::vector<std::int32_t>& number) {
  for (Entry& entry : recording.entries) {
    entry.choice[parameter] = number[static_cast<std::size_t>(entry.choice[parameter])];
  }
}

/// Values in the description's order; what it does not list comes last.
void reorder_values(Recording& recording, std::size_t at, const Parameter& described) {
  Parameter& parameter = recording.parameters[at];
  std::vector<std::int32_t> order(parameter.values.size());
  std::iota(order.begin(), order.end(), 0);
  const auto rank = [&](std::int32_t value) {
    const int found = value_index(described, parameter.values[static_cast<std::size_t>(value)]);
    return found < 0 ? static_cast<int>(described.values.size()) : found;
  };
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return rank(a) < rank(b); });
  std::vector<std::int32_t> number(order.size());
  std::vector<Value> values;
  std::string unknown;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Value& value = parameter.values[static_cast<std::size_t>(order[i])];
    number[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
    values.push_back(value);
    if (rank(order[i]) == static_cast<int>(described.values.size())) {
      unknown += (unknown.empty() ? "" : ", ") + value.written();
    }
  }
  if (!unknown.empty()) {
    recording.notes.push_back(
        fmt::format("values of '{}' that the description does not list: {}", parameter.name, unknown));
  }
  parameter.values = std::move(values);
  renumber(recording, at, number);
}

/// Parameters in the description's order.
void reorder_parameters(Recording& recording, const Description& description) {
  std::vector<std::size_t> order(recording.parameters.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto rank = [&](std::size_t i) {
    return parameter_index(description.parameters, recording.parameters[i].name);
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  std::vector<Parameter> parameters;
  for (const std::size_t from : order) parameters.push_back(std::move(recording.parameters[from]));
  recording.parameters = std::move(parameters);
  for (Entry& entry : recording.entries) {
    std::vector<std::int32_t> choice;
    for (const std::size_t from : order) choice.push_back(entry.choice[from]);
    entry.choice = std::move(choice);
  }
}

/// Says in the notes how the recorded configurations differ from those that the description allows.
void compare_with_conditions(Recording& recording, const Description& description) {
  // The description's own candidate of an entry; its other parameters have a single value.
  const DescribedSpace space(description);
  const search::SpaceIndex index(space);
  std::uint64_t allowed = 0;
  for (const Entry& entry : recording.entries) {
    search::Candidate candidate{0, {}};
    for (const Parameter& parameter : description.parameters) {
      const int at = parameter_index(recording.parameters, parameter.name);
      if (at < 0) {
        candidate.choice.push_back(0);
        continue;
      }
      const auto position = static_cast<std::size_t>(at);
      const auto value = static_cast<std::size_t>(entry.choice[position]);
      candidate.choice.push_back(value_index(parameter, recording.parameters[position].values[value]));
    }
    allowed += index.contains(candidate) ? 1 : 0;
  }
  const std::uint64_t outside = recording.entries.size() - allowed;
  if (outside > 0) {
    recording.notes.push_back(fmt::format("outside of what the description allows are {} of {} recorded configurations",
                                          outside, recording.entries.size()));
  }
  if (index.size() > allowed) {
    recording.notes.push_back(
        fmt::format("{} of the {} configurations that the description allows were not recorded; "
                    "a search does not meet them",
                    index.size() - allowed, index.size()));
  }
}

}  // namespace

bool is_recording(const Json& root) { return root.is_object() && (root.contains("results") || root.contains("cache")); }

Recording read_recording(const Json& root, const std::string& name, const std::string& where) {
  RawRecording raw = root.contains("results") ? read_t4(root, where) : read_kernel_tuner_cache(root, where);
  if (raw.entries.empty()) {
    std::string notes;
    for (const std::string& note : raw.notes) notes += (notes.empty() ? "" : "; ") + note;
    throw Error(ErrorCode::InvalidArgument, "the recording has no usable entry" + (notes.empty() ? "" : ": " + notes),
                where, "each entry needs its configuration and a time or a failure");
  }
  Recording recording{name, collect_parameters(raw), {}, std::move(raw.notes)};
  std::map<std::vector<std::int32_t>, std::size_t> known;
  std::size_t repeated = 0;
  for (RawEntry& entry : raw.entries) {
    for (std::size_t i = 0; i < recording.parameters.size(); ++i) {
      entry.entry.choice.push_back(static_cast<std::int32_t>(value_index(recording.parameters[i], entry.values[i])));
    }
    const auto [at, inserted] = known.emplace(entry.entry.choice, recording.entries.size());
    if (inserted) {
      recording.entries.push_back(std::move(entry.entry));
      continue;
    }
    ++repeated;
    Entry& earlier = recording.entries[at->second];
    const bool ok = entry.entry.failure == record::FailureKind::None;
    if (ok || earlier.failure != record::FailureKind::None) earlier = std::move(entry.entry);
  }
  if (repeated > 0) {
    recording.notes.push_back(fmt::format("{} entries come again: the last time that was measured counts", repeated));
  }
  return recording;
}

bool describes(const Description& description, const Recording& recording) {
  for (const Parameter& parameter : recording.parameters) {
    if (parameter_index(description.parameters, parameter.name) < 0) return false;
  }
  return std::all_of(description.parameters.begin(), description.parameters.end(), [&](const Parameter& parameter) {
    return parameter.values.size() == 1 || parameter_index(recording.parameters, parameter.name) >= 0;
  });
}

void apply_description(Recording& recording, const Description& description) {
  TEMPER_CHECK(describes(description, recording), "a recording got the description of another space");
  for (std::size_t i = 0; i < recording.parameters.size(); ++i) {
    const int at = parameter_index(description.parameters, recording.parameters[i].name);
    reorder_values(recording, i, description.parameters[static_cast<std::size_t>(at)]);
  }
  reorder_parameters(recording, description);
  compare_with_conditions(recording, description);
}

}  // namespace temper::space::recorded
