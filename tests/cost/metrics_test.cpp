#include "temper/cost/metrics.h"

#include <gtest/gtest.h>

#include <vector>

#include "temper/support/error.h"

namespace temper::cost {
namespace {

using Scores = std::vector<double>;

TEST(Metrics, PairwiseAccuracyCountsOrderedPairs) {
  EXPECT_DOUBLE_EQ(pairwise_accuracy(Scores{1, 2, 3}, Scores{10, 20, 30}), 1);
  EXPECT_DOUBLE_EQ(pairwise_accuracy(Scores{3, 2, 1}, Scores{10, 20, 30}), 0);
  EXPECT_DOUBLE_EQ(pairwise_accuracy(Scores{2, 1, 3}, Scores{10, 20, 30}), 2.0 / 3);
  EXPECT_DOUBLE_EQ(pairwise_accuracy(Scores{1, 1, 1}, Scores{10, 20, 30}), 0.5);
  // Pairs that tie in truth do not count.
  EXPECT_DOUBLE_EQ(pairwise_accuracy(Scores{1, 2, 3}, Scores{10, 10, 30}), 1);
  EXPECT_DOUBLE_EQ(pairwise_accuracy(Scores{1, 2}, Scores{10, 10}), 1);
  EXPECT_THROW(pairwise_accuracy(Scores{1}, Scores{1, 2}), Error);
}

TEST(Metrics, TopKScoreIsWhatMeasuringKWouldFind) {
  const Scores actual{10, 40, 20, 30};
  EXPECT_DOUBLE_EQ(top_k_score(Scores{4, 1, 3, 2}, actual, 1), 0.25);
  EXPECT_DOUBLE_EQ(top_k_score(Scores{4, 1, 3, 2}, actual, 2), 0.5);
  EXPECT_DOUBLE_EQ(top_k_score(Scores{4, 1, 3, 2}, actual, 3), 0.75);
  EXPECT_DOUBLE_EQ(top_k_score(Scores{4, 1, 3, 2}, actual, 9), 1);
  EXPECT_DOUBLE_EQ(top_k_score(Scores{4, 1, 3, 2}, actual, 0), 0);
  EXPECT_DOUBLE_EQ(top_k_score(Scores{}, Scores{}, 1), 0);
  EXPECT_THROW(top_k_score(Scores{1}, Scores{1, 2}, 1), Error);
}

TEST(Metrics, RecallIsTheShareOfTheBestThatWasFound) {
  const Scores actual{10, 40, 20, 30};
  EXPECT_DOUBLE_EQ(recall_at_k(actual, actual, 2), 1);
  EXPECT_DOUBLE_EQ(recall_at_k(Scores{9, 8, 1, 2}, actual, 2), 0.5);
  EXPECT_DOUBLE_EQ(recall_at_k(Scores{9, 1, 8, 2}, actual, 2), 0);
  EXPECT_DOUBLE_EQ(recall_at_k(Scores{9, 1, 8, 2}, actual, 4), 1);
  EXPECT_THROW(recall_at_k(Scores{1}, Scores{1, 2}, 1), Error);
}

}  // namespace
}  // namespace temper::cost
