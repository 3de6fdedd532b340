#include "temper/search/options.h"

#include <algorithm>
#include <cmath>

#include "temper/support/error.h"

namespace temper::search {
namespace {

std::string number_text(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

OptionValues complete_options(std::string_view owner, std::span<const Option> declared, const OptionValues& overrides) {
  OptionValues complete;
  for (const Option& option : declared) complete[option.name] = option.default_value;
  const std::string where = "options of " + std::string(owner);
  for (const auto& [key, value] : overrides) {
    const auto option = std::find_if(declared.begin(), declared.end(), [&](const Option& o) { return o.name == key; });
    if (option == declared.end()) {
      std::string known;
      for (const Option& o : declared) known += (known.empty() ? "" : ", ") + o.name;
      throw Error(ErrorCode::InvalidArgument, std::string(owner) + " has no option '" + key + "'", where,
                  known.empty() ? "it has no options" : "its options: " + known);
    }
    if (!(value >= option->min && value <= option->max)) {
      throw Error(ErrorCode::InvalidArgument, "option '" + key + "' is out of bounds: " + number_text(value), where,
                  "give a value from " + number_text(option->min) + " to " + number_text(option->max));
    }
    if (option->integer && value != std::floor(value)) {
      throw Error(ErrorCode::InvalidArgument, "option '" + key + "' must be a whole number: " + number_text(value),
                  where);
    }
    complete[key] = value;
  }
  return complete;
}

}  // namespace temper::search
