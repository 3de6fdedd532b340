// Searching a space whose measurements are all known: a strategy asks, the recording answers. This makes strategies
// testable without hardware, hundreds of thousands of evaluations a second.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "temper/search/strategy.h"

namespace temper::search {

/// What is known of one candidate.
struct Outcome {
  bool ok = false;
  double seconds = 0;        ///< its time; meaningful when `ok`
  double spent_seconds = 0;  ///< what a tuner spends to find out: compiling, checking, timing
};

/// A space and the outcome of every valid candidate. The pointers are borrowed.
struct ReplayedSpace {
  std::string name;
  const Space* space = nullptr;
  const SpaceIndex* index = nullptr;
  std::span<const Outcome> outcomes;   ///< by the candidate's number in `index`
  std::span<const double> prior = {};  ///< what is believed of them, see `Prior::log_seconds`; empty: nothing
};

/// One search, step by step. Each entry belongs to one evaluation of a candidate that was not evaluated before;
/// failures count as evaluations.
struct ReplayedRun {
  std::vector<double> best_seconds;     ///< best time so far; infinity while nothing has succeeded
  std::vector<double> elapsed_seconds;  ///< simulated time at the end of the evaluation
};

/// When a search ends: after the last of the two, or with the space.
struct ReplayLimits {
  std::uint64_t evaluations = 0;
  double elapsed_seconds = 0;
  int batch = 1;  ///< candidates asked for at once
};

/// Runs a fresh strategy of that name. `context.space` and `context.index` are set from `replayed`. The strategy is
/// told the share of `limits.evaluations` that is spent. Throws what `make_strategy` throws.
ReplayedRun replay(std::string_view strategy, StrategyContext context, const ReplayedSpace& replayed,
                   const ReplayLimits& limits);

}  // namespace temper::search
