// When a candidate counts as faster than the default.
#pragma once

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

/// What `Record::strategy` says for the default schedule and for uniformly drawn samples; otherwise it names the
/// strategy that proposed the candidate.
inline constexpr const char* kDefaultOrigin = "default";
inline constexpr const char* kSampleOrigin = "sample";

}  // namespace temper::tune
