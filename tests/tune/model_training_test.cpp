#include "temper/tune/model_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sample_task.h"
#include "temper/support/error.h"
#include "temper/support/random.h"

namespace temper::tune {
namespace {

using ::testing::HasSubstr;

/// A task whose times follow one rule in all tasks, up to a factor of its own.
TaskRows task(const std::string& key, std::uint64_t seed, double scale) {
  RandomStream random(seed);
  TaskRows rows;
  rows.key = key;
  rows.columns = {"fact.size", "program.a", "program.b", "knob." + key.substr(0, 1)};
  rows.features = cost::FeatureMatrix(rows.columns.size());
  for (int i = 0; i < 80; ++i) {
    const auto a = static_cast<float>(random.uniform_real()), b = static_cast<float>(random.uniform_real());
    rows.features.append(std::vector<float>{static_cast<float>(scale), a, b, 1});
    rows.seconds.push_back(scale * std::exp(2 * a - b));
    rows.analytic.push_back(1);
  }
  return rows;
}

std::vector<TaskRows> tasks() {
  std::vector<TaskRows> result;
  for (int i = 0; i < 6; ++i) {
    result.push_back(task((i % 2 == 0 ? "x(n=" : "y(n=") + std::to_string(i) + ")", static_cast<std::uint64_t>(i) + 1,
                          std::pow(10.0, -i)));
  }
  return result;
}

TEST(ModelTraining, RanksATaskThatItHasNotSeen) {
  for (const std::string_view name : training_recipes()) {
    const cost::PretrainedModel model = train(tasks(), testing::sample_target(), training_recipe(name));
    const TaskRows unseen = task("z(n=1)", 99, 3);
    const cost::RankingQuality quality = cost::ranking_quality(unseen.key, predict(model, unseen), unseen.seconds);
    EXPECT_GT(quality.pairwise, 0.88) << name;
    EXPECT_EQ(model.card().rows, 480U);
    EXPECT_EQ(model.card().vector_bytes, testing::sample_target().vector_bytes);
    EXPECT_THAT(model.card().columns,
                ::testing::ElementsAre("fact.size", "program.a", "program.b", "knob.x", "knob.y"));
  }
}

TEST(ModelTraining, NeverJudgesByWhatItLearnedFrom) {
  const std::vector<TaskRows> all = tasks();
  const auto message = [](const auto& work) -> std::string {
    try {
      work();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
      return error.what();
    }
    return "nothing was thrown";
  };
  const std::vector<std::string> held_out{"w(n=1)", all[3].key};
  EXPECT_THAT(message([&] { train(all, testing::sample_target(), training_recipe("mlp"), held_out); }),
              HasSubstr(all[3].key));
  const cost::PretrainedModel model = train(all, testing::sample_target(), training_recipe("xgboost"));
  EXPECT_THAT(message([&] { predict(model, all[2]); }), HasSubstr(all[2].key));
  EXPECT_THAT(message([&] { training_recipe("oracle"); }), HasSubstr("xgboost"));
}

}  // namespace
}  // namespace temper::tune
