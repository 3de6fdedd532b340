// Comparing strategies without hardware: a space whose times are all known, some of them failures, stands in for the
// machine; each strategy searches it with many seeds and is scored against what random search would reach.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

#include "kernel.h"
#include "known_space.h"

int main() try {
  using namespace temper;
  const example::KnownSpace known;
  const search::SpaceIndex index(known);
  std::vector<search::Outcome> outcomes;
  for (std::uint64_t number = 0; number < index.size(); ++number) outcomes.push_back(known.outcome(index.at(number)));
  const std::vector<search::ReplayedSpace> spaces{{"tiles", &known, &index, outcomes}};

  search::ComparisonOptions options;
  options.repeats = 20;
  const std::vector<search::ComparedStrategy> strategies{{"random", {}}, {"genetic", {}}, {"grey_wolf", {{"pack", 8}}}};
  const search::Comparison comparison = search::compare_strategies(spaces, strategies, options);
  const search::SpaceComparison& space = comparison.spaces.front();
  std::printf("%d of %d candidates ran, the best in %.2f ms; a budget of %d evaluations\n",
              static_cast<int>(space.valid), static_cast<int>(space.candidates), space.optimum_seconds * 1e3,
              static_cast<int>(space.budget));
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    const search::Estimate& score = comparison.scores[i];
    std::printf("%10s  score %6.3f (%.3f .. %.3f)\n", comparison.strategies[i].c_str(), score.mean, score.low,
                score.high);
  }
  for (const search::PairTest& pair : comparison.pairs) {
    std::printf("%s against %s: p = %.4f\n", comparison.strategies[pair.first].c_str(),
                comparison.strategies[pair.second].c_str(), pair.corrected_p_value);
  }
  return comparison.scores[1].low > comparison.scores[0].high ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return EXIT_FAILURE;
}
