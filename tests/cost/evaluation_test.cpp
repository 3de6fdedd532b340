#include "temper/cost/evaluation.h"

#include <gtest/gtest.h>

#include "temper/support/error.h"

namespace temper::cost {
namespace {

TEST(Evaluation, TellsWhatARankingIsWorth) {
  // The third is the fastest; the first is predicted best.
  const std::vector<double> seconds{2, 4, 1, 8}, scores{9, 1, 5, 0};
  const RankingQuality quality = ranking_quality("t", scores, seconds);
  EXPECT_EQ(quality.candidates, 4U);
  EXPECT_DOUBLE_EQ(quality.pairwise, 5.0 / 6);
  EXPECT_DOUBLE_EQ(quality.top1, 0.5);
  EXPECT_DOUBLE_EQ(quality.top5, 1);
  EXPECT_DOUBLE_EQ(quality.regret, 1);
  EXPECT_DOUBLE_EQ(quality.top12, 0.5);  // 12% of four candidates are one
  EXPECT_THROW(ranking_quality("t", {}, {}), Error);
}

TEST(Evaluation, EachTaskCountsTheSame) {
  const RankingQuality perfect = ranking_quality("a", std::vector<double>{2, 1}, std::vector<double>{1, 2});
  const RankingQuality wrong = ranking_quality("b", std::vector<double>{1, 2, 3}, std::vector<double>{1, 2, 3});
  const RankingQuality both = mean(std::vector<RankingQuality>{perfect, wrong});
  EXPECT_DOUBLE_EQ(both.pairwise, 0.5);
  EXPECT_DOUBLE_EQ(both.regret, 1);
  EXPECT_EQ(both.candidates, 5U);
}

}  // namespace
}  // namespace temper::cost
