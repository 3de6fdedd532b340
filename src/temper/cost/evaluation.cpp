#include "temper/cost/evaluation.h"

#include <cmath>
#include <utility>

#include "temper/cost/metrics.h"
#include "temper/support/error.h"

namespace temper::cost {

RankingQuality ranking_quality(std::string task, std::span<const double> scores, std::span<const double> seconds) {
  if (seconds.empty()) {
    throw Error(ErrorCode::InvalidArgument, "no candidate has a time", task, "nothing can be said about a ranking");
  }
  std::vector<double> speeds;
  for (const double time : seconds) speeds.push_back(1 / time);
  RankingQuality quality;
  quality.task = std::move(task);
  quality.candidates = seconds.size();
  quality.pairwise = pairwise_accuracy(scores, speeds);
  quality.top1 = top_k_score(scores, speeds, 1);
  quality.top5 = top_k_score(scores, speeds, 5);
  quality.recall30 = recall_at_k(scores, speeds, 30);
  quality.regret = 1 / quality.top1 - 1;
  quality.top12 = top_k_score(scores, speeds, static_cast<int>(std::ceil(0.12 * static_cast<double>(seconds.size()))));
  return quality;
}

RankingQuality mean(std::span<const RankingQuality> tasks) {
  TEMPER_CHECK(!tasks.empty(), "the mean of no tasks");
  RankingQuality sum;
  for (const RankingQuality& task : tasks) {
    sum.candidates += task.candidates;
    sum.pairwise += task.pairwise, sum.top1 += task.top1, sum.top5 += task.top5;
    sum.recall30 += task.recall30, sum.regret += task.regret, sum.top12 += task.top12;
  }
  const auto count = static_cast<double>(tasks.size());
  for (double* value : {&sum.pairwise, &sum.top1, &sum.top5, &sum.recall30, &sum.regret, &sum.top12}) *value /= count;
  sum.task = "mean";
  return sum;
}

}  // namespace temper::cost
