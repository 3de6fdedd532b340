#include "temper/search/strategy.h"

#include <algorithm>

#include "temper/search/strategies/all.h"
#include "temper/support/error.h"

namespace temper::search {

std::span<const StrategyInfo> strategies() {
  static const std::vector<StrategyInfo> table{
      evolutionary_strategy(), annealing_strategy(), genetic_strategy(),   bayesian_strategy(), tpe_strategy(),
      grey_wolf_strategy(),    mcts_strategy(),      portfolio_strategy(), random_strategy(),   grid_strategy()};
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
  complete.options = complete_options("strategy '" + info->name + "'", info->options, context.options);
  return info->make(complete);
}

}  // namespace temper::search
