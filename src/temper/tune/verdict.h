// Which of the fastest candidates is the winner, and when it counts as faster than the default.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <vector>

#include "temper/record/record.h"

namespace temper::tune {

/// Gains below this share are noise.
inline constexpr double kNoise = 0.01;

/// Whether `candidate` is faster than `incumbent` beyond noise, in its minimum as well as in its median. Decided from
/// what records hold, so that every process that reads them comes to the same verdict. Both must be successes.
inline bool beats(const record::Measurement& candidate, const record::Measurement& incumbent) {
  return candidate.min_seconds < incumbent.min_seconds * (1 - kNoise) &&
         candidate.median_seconds < incumbent.median_seconds * (1 - kNoise);
}

/// Minima closer together than this share do not tell kernels apart: what a call takes at best hides how often it takes
/// more, and of kernels whose data live in a cache that others share, minima agree where medians differ by a tenth.
inline constexpr double kTie = 0.03;
/// From this many samples on a median is worth comparing; trials take fewer, finals more.
inline constexpr int kSettledRepeats = 16;

/// Racers are loaded anew after so many rounds, a block: the addresses that code happens to get decide on up to a
/// quarter of a small kernel's time.
inline constexpr int kBlockRounds = 2;

/// Which of `fastest_first` (successes, least minimum first) to use: the least median of those that were timed
/// `kSettledRepeats` times and whose minimum is within `kTie` of the least; the first where there is none such.
std::size_t preferred(std::span<const record::Measurement* const> fastest_first);

/// Moves the preferred of [first, last) to its front; the others stay fastest first. `measurement_of` gives a
/// reference.
template <class Iterator, class MeasurementOf>
void lead_with_preferred(Iterator first, Iterator last, MeasurementOf measurement_of) {
  std::vector<const record::Measurement*> times;
  for (Iterator i = first; i != last; ++i) times.push_back(&measurement_of(*i));
  if (times.empty()) return;
  const Iterator chosen = std::next(first, static_cast<std::ptrdiff_t>(preferred(times)));
  std::rotate(first, chosen, std::next(chosen));
}

/// What `Record::strategy` says for the default schedule and for uniformly drawn samples; otherwise it names the
/// strategy that proposed the candidate.
inline constexpr const char* kDefaultOrigin = "default";
inline constexpr const char* kSampleOrigin = "sample";

}  // namespace temper::tune
