#include "temper/cost/pairwise_loss.h"

#include <map>
#include <utility>

namespace temper::cost {

std::vector<std::vector<std::size_t>> rows_by_group(const TrainingSet& samples) {
  std::map<int, std::vector<std::size_t>> groups;
  for (std::size_t row = 0; row < samples.features.rows(); ++row)
    groups[samples.groups.empty() ? 0 : samples.groups[row]].push_back(row);
  std::vector<std::vector<std::size_t>> result;
  for (auto& [group, rows] : groups) result.push_back(std::move(rows));
  return result;
}

}  // namespace temper::cost
