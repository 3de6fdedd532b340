#include "temper/cost/mlp_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "temper/cost/metrics.h"
#include "temper/support/error.h"
#include "temper/support/random.h"

namespace temper::cost {
namespace {

/// Rows of four numbers in groups that are not comparable with each other; one column is sometimes missing, one never
/// changes.
TrainingSet landscape(std::uint64_t seed, std::size_t rows, int groups) {
  RandomStream random(seed);
  TrainingSet set{FeatureMatrix(4), {}, {}, {}};
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<float> row;
    for (int k = 0; k < 3; ++k) row.push_back(static_cast<float>(random.uniform_real(-1, 1)));
    row.push_back(7);
    const double score = -std::abs(row[0] + row[1]) + 0.5 * row[2];
    if (random.chance(0.05)) row[2] = kMissing;
    const int group = static_cast<int>(random.below(static_cast<std::uint64_t>(groups)));
    set.features.append(row);
    set.groups.push_back(group);
    set.scores.push_back(score - 50.0 * group);
  }
  return set;
}

std::unique_ptr<CostModel> trained(const TrainingSet& set, std::uint64_t seed) {
  auto model = make_cost_model("mlp", {.seed = seed, .options = {{"epochs", 40}, {"hidden", 24}}});
  model->update(set);
  return model;
}

TEST(MlpModel, LearnsTheOrderAndTheScaleWithinGroups) {
  const TrainingSet test = landscape(2, 300, 1);
  const std::vector<double> scores = trained(landscape(1, 800, 4), 1)->predict(test.features);
  EXPECT_GT(pairwise_accuracy(scores, test.scores), 0.9);
  // Differences of scores are those that were learned, not only their order.
  double predicted = 0, actual = 0;
  for (std::size_t i = 1; i < scores.size(); ++i) {
    const double sign = test.scores[i] > test.scores[0] ? 1 : -1;
    predicted += sign * (scores[i] - scores[0]), actual += sign * (test.scores[i] - test.scores[0]);
  }
  EXPECT_GT(predicted / actual, 0.6);
  EXPECT_LT(predicted / actual, 2.5);
}

TEST(MlpModel, SameSeedSameModel) {
  const TrainingSet train = landscape(1, 200, 2), test = landscape(2, 50, 1);
  EXPECT_EQ(trained(train, 3)->predict(test.features), trained(train, 3)->predict(test.features));
  EXPECT_NE(trained(train, 3)->predict(test.features), trained(train, 4)->predict(test.features));
}

TEST(MlpModel, BytesBringItBack) {
  const TrainingSet test = landscape(2, 300, 1);
  const std::unique_ptr<CostModel> model = trained(landscape(1, 200, 2), 1);
  const std::string bytes = model->serialise();
  EXPECT_EQ(cost_model_info("mlp").load(bytes)->predict(test.features), model->predict(test.features));
  for (const std::size_t size : {std::size_t{0}, std::size_t{5}, bytes.size() / 2, bytes.size() - 1}) {
    try {
      cost_model_info("mlp").load(std::string_view(bytes).substr(0, size));
      ADD_FAILURE() << size << " bytes of " << bytes.size() << " were taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Corrupt);
    }
  }
  EXPECT_THROW(cost_model_info("mlp").load(bytes + "x"), Error);
}

TEST(MlpModel, ARowFarFromWhatItLearnedFromStaysFinite) {
  const std::unique_ptr<CostModel> model = trained(landscape(1, 200, 2), 1);
  FeatureMatrix rows(4);
  rows.append(std::vector<float>{1e30F, -1e30F, kMissing, 1e30F});
  EXPECT_TRUE(std::isfinite(model->predict(rows).front()));
}

}  // namespace
}  // namespace temper::cost
