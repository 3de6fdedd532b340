// Options of a component, declared once: the command line, help, JSON and checks are made from the declaration.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace temper::search {

struct Option {
  std::string name;
  double default_value = 0, min = 0, max = 0;  ///< both bounds are allowed
  std::string doc;
  bool integer = false;  ///< only whole numbers are allowed
};

using OptionValues = std::map<std::string, double>;

/// A value for every declared option: the default, or what `overrides` says. `owner` is for messages: "strategy
/// 'grid'". Throws Error{InvalidArgument} when an override is unknown, out of bounds or not whole, and says what is
/// allowed.
OptionValues complete_options(std::string_view owner, std::span<const Option> declared, const OptionValues& overrides);

}  // namespace temper::search
