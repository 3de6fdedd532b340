#include "temper/cost/cost_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "temper/cost/metrics.h"
#include "temper/support/random.h"

namespace temper::cost {
namespace {

/// Rows of six numbers, one of them noise and now and then one missing; scores depend on them with an interaction.
TrainingSet landscape(std::uint64_t seed, std::size_t rows, int groups = 1) {
  RandomStream random(seed);
  TrainingSet set{FeatureMatrix(6), {}, {}, {}};
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<float> row;
    for (int k = 0; k < 6; ++k) row.push_back(static_cast<float>(random.uniform_real(0, 8)));
    const double score = -std::abs(row[0] + row[1] - 6) - 0.3 * std::abs(row[2] - 3) + (row[3] > 4 ? 0.5 : 0);
    if (random.chance(0.05)) row[5] = kMissing;
    const int group = static_cast<int>(random.below(static_cast<std::uint64_t>(groups)));
    set.features.append(row);
    set.groups.push_back(group);
    set.scores.push_back(score + 100.0 * group);  // groups are not comparable with each other
  }
  return set;
}

TEST(CostModel, LearnsToRank) {
  const TrainingSet train = landscape(1, 300), test = landscape(2, 300);
  const std::unique_ptr<CostModel> model = make_cost_model("xgboost", {.seed = 1});
  EXPECT_FALSE(model->trained());
  model->update(train);
  EXPECT_TRUE(model->trained());
  const std::vector<double> predicted = model->predict(test.features);
  EXPECT_GT(pairwise_accuracy(predicted, test.scores), 0.88);
  EXPECT_GT(recall_at_k(predicted, test.scores, 30), 0.6);
}

TEST(CostModel, LearnsToRankWithinGroups) {
  const TrainingSet train = landscape(1, 600, 3), test = landscape(2, 300);
  const std::unique_ptr<CostModel> model = make_cost_model("xgboost", {.seed = 1, .options = {{"rank", 1}}});
  model->update(train);
  EXPECT_GT(pairwise_accuracy(model->predict(test.features), test.scores), 0.85);
}

TEST(CostModel, SameSeedSameModelWhateverTheThreads) {
  const TrainingSet train = landscape(1, 200), test = landscape(2, 100);
  const auto predict = [&](std::uint64_t seed, int threads, double rank) {
    const std::unique_ptr<CostModel> model =
        make_cost_model("xgboost", {.seed = seed, .threads = threads, .options = {{"rank", rank}, {"rounds", 5}}});
    model->update(train);
    return model->predict(test.features);
  };
  for (const double rank : {0, 1}) {
    const std::vector<double> first = predict(7, 1, rank);
    EXPECT_EQ(first, predict(7, 1, rank));
    EXPECT_EQ(first, predict(7, 2, rank));
    EXPECT_NE(first, predict(8, 1, rank));
  }
}

TEST(CostModel, UpdateForgetsWhatWasGivenBefore) {
  const TrainingSet a = landscape(1, 200), b = landscape(3, 200), test = landscape(2, 50);
  const std::unique_ptr<CostModel> both = make_cost_model("xgboost", {}), one = make_cost_model("xgboost", {});
  both->update(a);
  both->update(b);
  one->update(b);
  EXPECT_EQ(both->predict(test.features), one->predict(test.features));
}

TEST(CostModel, WeightsDecideWhatIsFitted) {
  // Equal features, two scores: the prediction goes to the heavier one.
  TrainingSet set{FeatureMatrix(1), {0, 1}, {1, 99}, {}};
  const std::vector<float> row{1};
  set.features.append(row);
  set.features.append(row);
  const std::unique_ptr<CostModel> model = make_cost_model("xgboost", {.options = {{"lambda", 0}, {"rounds", 200}}});
  model->update(set);
  FeatureMatrix ask(1);
  ask.append(row);
  EXPECT_NEAR(model->predict(ask)[0], 0.99, 0.01);
}

TEST(CostModel, WrongInputIsExplained) {
  const auto message = [](const TrainingSet& set) -> std::string {
    try {
      make_cost_model("xgboost", {})->update(set);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
      return error.what();
    }
    return "accepted";
  };
  TrainingSet set = landscape(1, 10);
  set.scores.pop_back();
  EXPECT_THAT(message(set), ::testing::HasSubstr("do not match the rows"));
  set = landscape(1, 10);
  set.groups.pop_back();
  EXPECT_THAT(message(set), ::testing::HasSubstr("do not match the rows"));
  set = landscape(1, 10);
  set.scores[3] = -std::numeric_limits<double>::infinity();
  EXPECT_THAT(message(set), ::testing::HasSubstr("not a finite number"));
  EXPECT_THAT(message(TrainingSet{}), ::testing::HasSubstr("do not match the rows"));
  const std::unique_ptr<CostModel> model = make_cost_model("xgboost", {});
  EXPECT_THROW(model->predict(landscape(1, 10).features), Error);  // not trained
  model->update(landscape(1, 10));
  FeatureMatrix narrow(5);
  narrow.append(std::vector<float>(5));
  EXPECT_THROW(model->predict(narrow), Error);
  EXPECT_TRUE(model->predict(FeatureMatrix(6)).empty());
}

TEST(CostModel, WrongNamesAndOptionsAreExplained) {
  const auto message = [](std::string_view name, const search::OptionValues& options) -> std::string {
    try {
      make_cost_model(name, {.options = options});
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(message("xgbost", {}), ::testing::HasSubstr("choose one of: xgboost"));
  EXPECT_THAT(message("xgboost", {{"depht", 3}}), ::testing::HasSubstr("cost model 'xgboost' has no option 'depht'"));
  EXPECT_THAT(message("xgboost", {{"depth", 99}}), ::testing::HasSubstr("from 1 to 30"));
}

}  // namespace
}  // namespace temper::cost
