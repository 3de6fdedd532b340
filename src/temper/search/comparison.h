// Strategies compared on recorded spaces: many seeds each, scored fairly, with curves and what chance alone explains.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "temper/search/fair_score.h"
#include "temper/search/rank_test.h"
#include "temper/search/replay.h"
#include "temper/support/cancellation.h"

namespace temper::search {

struct ComparisonOptions {
  int repeats = 100;  ///< seeds of each strategy on each space
  std::uint64_t seed = 1;
  double cutoff = 0.95;                   ///< the budget is what random search needs to come that near the optimum
  std::uint64_t most_evaluations = 1000;  ///< ... and at most so many
  int batch = 1;                          ///< candidates that a strategy is asked for at once
  int time_points = 200;                  ///< points of curves over time
  int resamples = 400;                    ///< of the bootstrap
  double confidence = 0.95;               ///< of bands and intervals
  int threads = 1;                        ///< that share the runs of a strategy on a space; results do not depend on it
};

/// A strategy and the options that it gets instead of its defaults.
struct ComparedStrategy {
  std::string name;
  OptionValues options = {};
};

/// A mean and an interval that holds it with the asked confidence (percentile bootstrap over whole runs).
struct Estimate {
  double mean = 0, low = 0, high = 0;
};

/// Best time so far, mean over the runs, at rising `x`.
struct Curve {
  std::vector<double> x;  ///< evaluations, or seconds of simulated time
  std::vector<Estimate> best_seconds;
};

/// One strategy on one space.
struct StrategyOnSpace {
  std::vector<double> scores;  ///< of each run, by seed
  Estimate score;
  double final_seconds = 0;  ///< best time at the end of the budget, mean over runs
  double reached = 0;        ///< share of runs whose best came within the target in the budget
  Curve over_evaluations, over_time;
  double evaluations_per_second = 0;  ///< of replaying, of one thread; real time
};

struct SpaceComparison {
  std::string name;
  std::uint64_t candidates = 0, valid = 0;
  double optimum_seconds = 0, median_seconds = 0, target_seconds = 0;
  std::uint64_t budget = 0;             ///< evaluations
  double budget_seconds = 0;            ///< simulated time that so many random evaluations take
  std::vector<double> expected_random;  ///< best time after each evaluation of the budget; exact
  double random_score = 0;              ///< score of that expectation
  std::vector<StrategyOnSpace> strategies;
};

/// Two strategies compared over all spaces.
struct PairTest {
  std::size_t first = 0, second = 0;  ///< positions of the strategies
  RankTest test;
  double corrected_p_value = 1;  ///< for the number of pairs
};

struct Comparison {
  std::vector<std::string> strategies;
  std::vector<SpaceComparison> spaces;
  std::vector<Estimate> scores;  ///< of each strategy: mean over the spaces
  double random_score = 0;       ///< mean over the spaces of the exact expectation
  std::vector<PairTest> pairs;
};

/// How far a comparison is.
struct ComparisonStatus {
  std::string space, strategy;   ///< of the run that ended last
  int runs = 0;                  ///< of this strategy on this space that have ended
  int runs_in_all = 0, all = 0;  ///< of all strategies and spaces that have ended, and that there are
  double score = 0;              ///< mean of `runs`
};

/// Told after each run, by one thread at a time.
using ComparisonProgress = std::function<void(const ComparisonStatus&)>;

/// Deterministic, apart from `evaluations_per_second`: run r of every strategy has the same seed on a space, and an
/// added strategy or space changes no result of the others. Throws what `make_strategy` and `FairBaseline` throw (with
/// the space's name), and Error{Cancelled} on request. Requires spaces and strategies.
Comparison compare_strategies(std::span<const ReplayedSpace> spaces, std::span<const ComparedStrategy> strategies,
                              const ComparisonOptions& options, const CancellationToken& cancellation = {},
                              const ComparisonProgress& progress = {});

}  // namespace temper::search
