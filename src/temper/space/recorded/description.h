// A search space as a T1 file describes it: parameters with their values, and conditions on them.
//
// T1 is the input format of the auto-tuning benchmark suites ("Towards a benchmarking suite for kernel tuners", Tørring
// et al., 2023): ConfigurationSpace.TuningParameters[] with Name, Type, Values, Default, and
// ConfigurationSpace.Conditions[] with Expression. Values are a JSON list or an expression; what belongs to a kernel's
// source and its launch is not read.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "temper/search/space.h"
#include "temper/space/recorded/expression.h"
#include "temper/space/recorded/json_file.h"

namespace temper::space::recorded {

struct Parameter {
  std::string name;
  std::vector<Value> values;                ///< distinct
  std::optional<Value> default_value = {};  ///< one of `values`
};

struct Description {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<Expression> conditions;
  std::vector<std::string> notes;  ///< what was found wrong in the file and how it was read
};

/// Position of the parameter of that name; -1 when there is none.
int parameter_index(const std::vector<Parameter>& parameters, std::string_view name);
/// Position of an equal value; -1 when there is none. A text that is written like a number equals that number.
int value_index(const Parameter& parameter, const Value& value);
/// What a JSON scalar is as a value; nothing for null, lists and objects.
std::optional<Value> to_value(const Json& json);

bool is_description(const Json& root);
/// Throws Error{InvalidArgument} when a field is missing or malformed, an expression names an unknown parameter or
/// cannot be read, and Error{Unsupported} for expressions that are not supported; `where` is the file's name.
Description read_description(const Json& root, const std::string& where);

/// The space of a description. Its one design has a knob for each parameter: with the parameter's own values when they
/// are whole numbers, and with 0, 1, 2, ... for the values in their order when they are not. Conditions fall apart into
/// their conjuncts.
class DescribedSpace final : public search::Space {
 public:
  explicit DescribedSpace(const Description& description);
  const std::vector<search::Design>& designs() const override { return designs_; }

 private:
  std::vector<search::Design> designs_;
};

/// The knob of a parameter, as in `DescribedSpace`.
search::Knob to_knob(const Parameter& parameter);

}  // namespace temper::space::recorded
