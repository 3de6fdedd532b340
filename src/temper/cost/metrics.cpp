#include "temper/cost/metrics.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "temper/support/error.h"

namespace temper::cost {
namespace {

void check_sizes(std::span<const double> predicted, std::span<const double> actual) {
  if (predicted.size() != actual.size()) {
    throw Error(ErrorCode::InvalidArgument, "a metric got another number of predictions than of actual scores");
  }
}

/// Positions of the `k` highest scores, best first; of equal ones the first.
std::vector<std::size_t> best(std::span<const double> scores, int k) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  order.resize(std::min(order.size(), static_cast<std::size_t>(std::max(k, 0))));
  return order;
}

}  // namespace

double pairwise_accuracy(std::span<const double> predicted, std::span<const double> actual) {
  check_sizes(predicted, actual);
  double right = 0, pairs = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    for (std::size_t j = i + 1; j < actual.size(); ++j) {
      if (actual[i] == actual[j]) continue;
      pairs += 1;
      if (predicted[i] == predicted[j]) {
        right += 0.5;
      } else if ((predicted[i] < predicted[j]) == (actual[i] < actual[j])) {
        right += 1;
      }
    }
  }
  return pairs == 0 ? 1 : right / pairs;
}

double top_k_score(std::span<const double> predicted, std::span<const double> actual, int k) {
  check_sizes(predicted, actual);
  if (actual.empty() || k <= 0) return 0;
  double found = 0;
  for (const std::size_t i : best(predicted, k)) found = std::max(found, actual[i]);
  return found / *std::max_element(actual.begin(), actual.end());
}

double recall_at_k(std::span<const double> predicted, std::span<const double> actual, int k) {
  check_sizes(predicted, actual);
  if (k <= 0 || static_cast<std::size_t>(k) >= actual.size()) return 1;
  std::vector<std::size_t> a = best(predicted, k), b = best(actual, k), both;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return static_cast<double>(both.size()) / k;
}

}  // namespace temper::cost
