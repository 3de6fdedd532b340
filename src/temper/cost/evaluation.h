// How well a cost model ranks candidates of tasks that it has not seen.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace temper::cost {

/// Of one task; see `metrics.h`.
struct RankingQuality {
  std::string task;
  std::size_t candidates = 0;
  double pairwise = 0;
  double top1 = 0, top5 = 0;  ///< best true speed among the predicted best, over the best of all
  double recall30 = 0;
  double regret = 0;  ///< by how much longer the predicted best takes than the true best
  double top12 = 0;   ///< as `top1`, of the predicted best 12% of all candidates
};

/// `scores`: higher is predicted to be faster; `seconds`: measured, all above 0. Throws Error{InvalidArgument} when
/// there are none, or the sizes differ.
RankingQuality ranking_quality(std::string task, std::span<const double> scores, std::span<const double> seconds);

/// Means over tasks, each with the same weight; `candidates` is the sum. Requires at least one.
RankingQuality mean(std::span<const RankingQuality> tasks);

}  // namespace temper::cost
