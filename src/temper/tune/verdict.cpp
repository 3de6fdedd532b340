#include "temper/tune/verdict.h"

namespace temper::tune {

std::size_t preferred(std::span<const record::Measurement* const> fastest_first) {
  std::size_t chosen = 0;
  bool found = false;
  for (std::size_t i = 0; i < fastest_first.size(); ++i) {
    const record::Measurement& m = *fastest_first[i];
    if (m.min_seconds > fastest_first.front()->min_seconds * (1 + kTie)) break;
    if (m.repeats < kSettledRepeats) continue;
    if (!found || m.median_seconds < fastest_first[chosen]->median_seconds) chosen = i;
    found = true;
  }
  return chosen;
}

}  // namespace temper::tune
