// One function for each strategy; `strategy.cpp` lists them.
#pragma once

#include "temper/search/strategy.h"

namespace temper::search {

StrategyInfo random_strategy();
StrategyInfo grid_strategy();
StrategyInfo genetic_strategy();
StrategyInfo annealing_strategy();
StrategyInfo evolutionary_strategy();
StrategyInfo bayesian_strategy();
StrategyInfo tpe_strategy();
StrategyInfo grey_wolf_strategy();
StrategyInfo mcts_strategy();
StrategyInfo portfolio_strategy();

}  // namespace temper::search
