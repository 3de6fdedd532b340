#include "temper/search/strategy.h"

#include <algorithm>
#include <cmath>

#include "temper/search/strategies/all.h"
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

std::span<const StrategyInfo> strategies() {
  static const std::vector<StrategyInfo> table{evolutionary_strategy(), annealing_strategy(), genetic_strategy(),
                                               random_strategy(), grid_strategy()};
  return table;
}

std::unique_ptr<Strategy> make_strategy(std::string_view name, const StrategyContext& context) {
  const std::span<const StrategyInfo> table = strategies();
  const auto info = std::find_if(table.begin(), table.end(), [&](const StrategyInfo& s) { return s.name == name; });
  if (info == table.end()) {
    std::string known;
    for (const StrategyInfo& strategy : table) known += (known.empty() ? "" : ", ") + strategy.name;
    throw Error(ErrorCode::InvalidArgument, "there is no search strategy '" + std::string(name) + "'", "strategy",
                "choose one of: " + known);
  }
  TEMPER_CHECK(context.space != nullptr, "a strategy needs a space");
  StrategyContext complete = context;
  complete.options.clear();
  for (const Option& option : info->options) complete.options[option.name] = option.default_value;
  for (const auto& [key, value] : context.options) {
    const auto option =
        std::find_if(info->options.begin(), info->options.end(), [&](const Option& o) { return o.name == key; });
    if (option == info->options.end()) {
      std::string known;
      for (const Option& o : info->options) known += (known.empty() ? "" : ", ") + o.name;
      throw Error(ErrorCode::InvalidArgument, "strategy '" + info->name + "' has no option '" + key + "'",
                  "strategy options", known.empty() ? "it has no options" : "its options: " + known);
    }
    if (!(value >= option->min && value <= option->max)) {
      throw Error(ErrorCode::InvalidArgument,
                  "option '" + key + "' of strategy '" + info->name + "' is out of bounds: " + number_text(value),
                  "strategy options",
                  "give a value from " + number_text(option->min) + " to " + number_text(option->max));
    }
    if (option->integer && value != std::floor(value)) {
      throw Error(ErrorCode::InvalidArgument,
                  "option '" + key + "' of strategy '" + info->name + "' must be a whole number: " + number_text(value),
                  "strategy options");
    }
    complete.options[key] = value;
  }
  return info->make(complete);
}

}  // namespace temper::search
