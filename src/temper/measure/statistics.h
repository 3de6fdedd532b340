// Statistics of repeated timings. Noise only ever adds time, so the minimum says what the code can do and the median
// what it does; the mean says how busy the machine was and is never used.
#pragma once

#include <span>
#include <vector>

namespace temper::measure {

/// All requires at least one sample.
double minimum(std::span<const double> samples);
/// Of an even number of samples: the mean of the two in the middle.
double median(std::span<const double> samples);
/// Median of the absolute distances from the median.
double median_absolute_deviation(std::span<const double> samples);

/// For each sample whether it lies too far above the median to belong: more than `limit` robust standard deviations,
/// the modified z-score of Iglewicz and Hoaglin, "How to detect and handle outliers" (1993). With a deviation of zero:
/// more than `limit` percent above the median. Samples below the median are never outliers: nothing runs faster than it
/// can.
std::vector<bool> slow_outliers(std::span<const double> samples, double limit = 3.5);

/// Whether the minimum can be trusted: a second sample came within `tolerance` (0.5: 50%) of it. One sample alone is
/// trusted.
bool is_stable(std::span<const double> samples, double tolerance);

}  // namespace temper::measure
