#include "temper/search/rank_test.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace temper::search {
namespace {

struct RankSum {
  double sum = 0, mean = 0, variance = 0;  ///< of the first group's ranks: as found, and when both groups are alike
  double superiority = 0.5;
};

RankSum rank_sum(const RankedGroups& groups) {
  const double n = static_cast<double>(groups.first.size()), m = static_cast<double>(groups.second.size());
  std::vector<std::pair<double, bool>> all;
  for (const double value : groups.first) all.emplace_back(value, true);
  for (const double value : groups.second) all.emplace_back(value, false);
  std::sort(all.begin(), all.end());
  RankSum result;
  double tied = 0;
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = begin;
    while (end < all.size() && all[end].first == all[begin].first) ++end;
    const double ties = static_cast<double>(end - begin);
    const double rank = static_cast<double>(begin) + (ties + 1) / 2;  // the mean of their ranks, from 1
    for (std::size_t i = begin; i < end; ++i) result.sum += all[i].second ? rank : 0;
    tied += ties * ties * ties - ties;
    begin = end;
  }
  const double total = n + m;
  result.mean = n * (total + 1) / 2;
  result.variance = n * m / 12 * (total + 1 - tied / (total * (total - 1)));
  result.superiority = (result.sum - n * (n + 1) / 2) / (n * m);
  return result;
}

}  // namespace

RankTest rank_test(std::span<const RankedGroups> strata) {
  double difference = 0, variance = 0, superiority = 0;
  int counted = 0;
  for (const RankedGroups& groups : strata) {
    if (groups.first.empty() || groups.second.empty()) continue;
    const RankSum ranks = rank_sum(groups);
    const double weight = 1 / (static_cast<double>(groups.first.size() + groups.second.size()) + 1);
    difference += weight * (ranks.sum - ranks.mean);
    variance += weight * weight * ranks.variance;
    superiority += ranks.superiority;
    ++counted;
  }
  if (counted == 0) return {};
  RankTest result{superiority / counted, 1};
  if (variance > 0) result.p_value = std::erfc(std::abs(difference) / std::sqrt(2 * variance));
  return result;
}

std::vector<double> holm_corrected(std::span<const double> p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> corrected(p_values.size());
  double highest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double remaining = static_cast<double>(order.size() - i);
    highest = std::max(highest, std::min(1.0, p_values[order[i]] * remaining));
    corrected[order[i]] = highest;
  }
  return corrected;
}

}  // namespace temper::search
