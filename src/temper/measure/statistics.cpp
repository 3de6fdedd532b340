#include "temper/measure/statistics.h"

#include <algorithm>
#include <cmath>

#include "temper/support/error.h"

namespace temper::measure {
namespace {

/// Makes the deviation an estimate of the standard deviation of normally distributed samples.
constexpr double kNormalConsistency = 0.6745;

std::vector<double> sorted(std::span<const double> samples) {
  TEMPER_CHECK(!samples.empty(), "statistics need a sample");
  std::vector<double> result(samples.begin(), samples.end());
  std::ranges::sort(result);
  return result;
}

}  // namespace

double minimum(std::span<const double> samples) { return sorted(samples).front(); }

double median(std::span<const double> samples) {
  const std::vector<double> values = sorted(samples);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double median_absolute_deviation(std::span<const double> samples) {
  const double center = median(samples);
  std::vector<double> distances;
  for (const double sample : samples) distances.push_back(std::fabs(sample - center));
  return median(distances);
}

std::vector<bool> slow_outliers(std::span<const double> samples, double limit) {
  const double center = median(samples), deviation = median_absolute_deviation(samples);
  const double allowed = deviation > 0 ? limit * deviation / kNormalConsistency : limit / 100 * center;
  std::vector<bool> result;
  for (const double sample : samples) result.push_back(sample - center > allowed);
  return result;
}

bool is_stable(std::span<const double> samples, double tolerance) {
  const std::vector<double> values = sorted(samples);
  if (values.front() <= 0) return false;
  return values.size() == 1 || values[1] <= values[0] * (1 + tolerance);
}

}  // namespace temper::measure
