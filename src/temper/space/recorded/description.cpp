#include "temper/space/recorded/description.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "temper/support/error.h"

namespace temper::space::recorded {
namespace {

[[noreturn]] void fail(const std::string& what, const std::string& where,
                       const std::string& hint = "the file is no valid T1 description; compare it with its schema") {
  throw Error(ErrorCode::InvalidArgument, what, where, hint);
}

const Json& field(const Json& object, const char* name, const std::string& where) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (!object.is_object() || found == object.end()) fail(fmt::format("the field '{}' is missing", name), where);
  return *found;
}

std::string text_field(const Json& object, const char* name, const std::string& where) {
  const Json& value = field(object, name, where);
  if (!value.is_string()) fail(fmt::format("the field '{}' is no text", name), where);
  return value.get<std::string>();
}

Expression read_expression(const std::string& text, const std::string& where) {
  try {
    return Expression(text);
  } catch (const Error& error) {
    throw Error(error.code(), error.message(), where + ", " + error.where(), error.hint());
  }
}

/// The values of a parameter: a JSON list, or an expression that gives a list.
std::vector<Value> read_values(const Json& json, const std::string& where) {
  std::vector<Value> values;
  if (json.is_array()) {
    for (const Json& item : json) {
      const std::optional<Value> value = to_value(item);
      if (!value) fail("a value is neither a number nor a text", where);
      values.push_back(*value);
    }
    return values;
  }
  if (!json.is_string()) fail("'Values' is neither a list nor an expression", where);
  const Expression expression = read_expression(json.get<std::string>(), where);
  if (!expression.names().empty()) {
    fail("'Values' names '" + expression.names().front() + "', which it cannot know", where, "write the values out");
  }
  const Value result = expression.evaluate({});
  if (!result.is_list()) fail("'Values' is no list", where, "write it as [1, 2, 4]");
  for (const Value& value : result.list()) {
    if (value.is_list()) fail("a value is a list", where, "give numbers or texts");
    values.push_back(value);
  }
  return values;
}

Parameter read_parameter(const Json& json, const std::string& where, std::vector<std::string>& notes) {
  Parameter parameter;
  parameter.name = text_field(json, "Name", where);
  const std::string place = where + ", parameter '" + parameter.name + "'";
  std::size_t repeated = 0;
  for (Value& value : read_values(field(json, "Values", place), place)) {
    if (std::find(parameter.values.begin(), parameter.values.end(), value) != parameter.values.end()) {
      ++repeated;
    } else {
      parameter.values.push_back(std::move(value));
    }
  }
  if (parameter.values.empty()) fail("the parameter has no values", place, "list at least one");
  if (repeated > 0) notes.push_back(fmt::format("parameter '{}' lists {} values twice", parameter.name, repeated));
  if (const auto found = json.find("Default"); found != json.end()) {
    // Some files put the default into a list of its own.
    const Json& chosen = found->is_array() && found->size() == 1 ? found->front() : *found;
    const std::optional<Value> value = to_value(chosen);
    const int at = value ? value_index(parameter, *value) : -1;
    if (at < 0) {
      notes.push_back(fmt::format("the default of parameter '{}' is none of its values", parameter.name));
    } else {
      parameter.default_value = parameter.values[static_cast<std::size_t>(at)];
    }
  }
  return parameter;
}

bool has_whole_values(const Parameter& parameter) {
  return std::all_of(parameter.values.begin(), parameter.values.end(), [](const Value& v) { return v.is_integer(); });
}

}  // namespace

int parameter_index(const std::vector<Parameter>& parameters, std::string_view name) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

int value_index(const Parameter& parameter, const Value& value) {
  const auto equal = std::find(parameter.values.begin(), parameter.values.end(), value);
  if (equal != parameter.values.end()) return static_cast<int>(equal - parameter.values.begin());
  const auto as_number = [](const Value& v) {
    return v.is_text() ? number_in(v.text()) : v.is_number() ? std::optional<double>(v.real()) : std::nullopt;
  };
  const std::optional<double> wanted = as_number(value);
  if (!wanted) return -1;
  for (std::size_t i = 0; i < parameter.values.size(); ++i) {
    if (value.is_text() != parameter.values[i].is_text() && as_number(parameter.values[i]) == wanted) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

std::optional<Value> to_value(const Json& json) {
  if (json.is_boolean()) return Value(json.get<bool>());
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) {
    return Value(json.get<double>());
  }
  if (json.is_number_integer()) return Value(json.get<std::int64_t>());
  if (json.is_number()) return Value(json.get<double>());
  if (json.is_string()) return Value(json.get<std::string>());
  return std::nullopt;
}

bool is_description(const Json& root) { return root.is_object() && root.contains("ConfigurationSpace"); }

Description read_description(const Json& root, const std::string& where) {
  Description description;
  if (const auto general = root.find("General"); general != root.end() && general->is_object()) {
    if (const auto name = general->find("BenchmarkName"); name != general->end() && name->is_string()) {
      description.name = name->get<std::string>();
    }
  }
  const Json& space = field(root, "ConfigurationSpace", where);
  const Json& parameters = field(space, "TuningParameters", where);
  if (!parameters.is_array() || parameters.empty()) fail("'TuningParameters' is no list of parameters", where);
  for (const Json& json : parameters) {
    Parameter parameter = read_parameter(json, where, description.notes);
    if (parameter_index(description.parameters, parameter.name) >= 0) {
      fail("two parameters are named '" + parameter.name + "'", where, "rename one of them");
    }
    description.parameters.push_back(std::move(parameter));
  }
  const auto conditions = space.find("Conditions");
  if (conditions == space.end()) {
    description.notes.emplace_back("there is no list 'Conditions': every combination counts as valid");
    return description;
  }
  if (!conditions->is_array()) fail("'Conditions' is no list", where);
  for (const Json& json : *conditions) {
    const std::string text = json.is_string() ? json.get<std::string>() : text_field(json, "Expression", where);
    Expression expression = read_expression(text, where);
    for (const std::string& name : expression.names()) {
      if (parameter_index(description.parameters, name) >= 0) continue;
      std::string known;
      for (const Parameter& p : description.parameters) known += (known.empty() ? "" : ", ") + p.name;
      fail("the condition \"" + text + "\" names '" + name + "', which is no parameter", where,
           "the parameters are: " + known);
    }
    description.conditions.push_back(std::move(expression));
  }
  return description;
}

search::Knob to_knob(const Parameter& parameter) {
  const bool whole = has_whole_values(parameter);
  search::Knob knob{parameter.name, {}};
  for (std::size_t i = 0; i < parameter.values.size(); ++i) {
    knob.values.push_back(whole ? *parameter.values[i].whole() : static_cast<std::int64_t>(i));
  }
  return knob;
}

DescribedSpace::DescribedSpace(const Description& description) {
  search::Design design{description.name, {}, {}};
  for (const Parameter& parameter : description.parameters) design.knobs.push_back(to_knob(parameter));
  for (const Expression& condition : description.conditions) {
    for (const Expression& part : condition.conjuncts()) {
      // For knobs that number their values: knob value → the parameter's value.
      auto meanings = std::make_shared<std::vector<std::vector<Value>>>();
      for (const std::string& name : part.names()) {
        const Parameter& parameter =
            description.parameters[static_cast<std::size_t>(parameter_index(description.parameters, name))];
        meanings->push_back(has_whole_values(parameter) ? std::vector<Value>{} : parameter.values);
      }
      design.constraints.push_back(
          {part.text(), part.names(), [part, meanings](std::span<const std::int64_t> values) {
             constexpr std::size_t kFew = 12;
             std::array<Value, kFew> few;
             std::vector<Value> many(values.size() > kFew ? values.size() : 0);
             const std::span<Value> arguments =
                 values.size() > kFew ? std::span<Value>(many) : std::span<Value>(few.data(), values.size());
             for (std::size_t i = 0; i < values.size(); ++i) {
               const std::vector<Value>& meaning = (*meanings)[i];
               arguments[i] = meaning.empty() ? Value(values[i]) : meaning[static_cast<std::size_t>(values[i])];
             }
             return part.evaluate(arguments).truth();
           }});
      const bool numbers = std::all_of(meanings->begin(), meanings->end(), [](const auto& m) { return m.empty(); });
      if (numbers && part.names().size() > 1) {
        design.constraints.back().may_hold = [part](std::span<const search::Bounds> bounds) {
          return part.may_hold(bounds);
        };
      }
    }
  }
  designs_.push_back(std::move(design));
}

}  // namespace temper::space::recorded
