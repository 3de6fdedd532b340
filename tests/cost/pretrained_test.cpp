#include "temper/cost/pretrained.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "temper/support/error.h"
#include "temper/support/random.h"

namespace temper::cost {
namespace {

using ::testing::HasSubstr;

FeatureMatrix rows(std::uint64_t seed, std::size_t count) {
  RandomStream random(seed);
  FeatureMatrix matrix(3);
  for (std::size_t i = 0; i < count; ++i) {
    matrix.append(std::vector<float>{static_cast<float>(random.uniform_real()),
                                     static_cast<float>(random.uniform_real()), random.chance(0.2) ? kMissing : 1.0F});
  }
  return matrix;
}

PretrainedModel sample_model() {
  TrainingSet set{rows(1, 120), {}, {}, {}};
  for (std::size_t i = 0; i < set.features.rows(); ++i)
    set.scores.push_back(set.features.row(i)[0] - 2 * set.features.row(i)[1]);
  std::vector<PretrainedModel::Member> members;
  for (const auto& [kind, weight, options] :
       {std::tuple<std::string, double, search::OptionValues>{"xgboost", 0.75, {{"rounds", 20}}},
        std::tuple<std::string, double, search::OptionValues>{"mlp", 0.25, {{"epochs", 5}, {"hidden", 8}}}}) {
    std::shared_ptr<CostModel> model = make_cost_model(kind, {1, 1, options});
    model->update(set);
    members.push_back({kind, weight, model});
  }
  PretrainedModel::Card card;
  card.target = "some-target";
  card.vector_bytes = 32;
  card.rows = 120;
  card.tasks = {task_hash("b(x=2)"), task_hash("a(x=1)")};
  card.columns = {"fact.flops", "program.block", "knob.tile"};
  return PretrainedModel(card, members);
}

template <class Work>
Error error_of(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(ErrorCode::Internal, "");
}

TEST(Pretrained, AFileBringsItBack) {
  const PretrainedModel model = sample_model();
  const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / "pretrained_test.model";
  model.save(file);
  const PretrainedModel loaded = PretrainedModel::load(file);
  EXPECT_EQ(loaded.card(), model.card());
  EXPECT_EQ(loaded.predict(rows(2, 50)), model.predict(rows(2, 50)));
  EXPECT_TRUE(loaded.knows(task_hash("a(x=1)")));
  EXPECT_TRUE(loaded.knows(task_hash("b(x=2)")));
  EXPECT_FALSE(loaded.knows(task_hash("c(x=1)")));
  std::filesystem::remove(file);
  EXPECT_EQ(error_of([&] { PretrainedModel::load(file); }).code(), ErrorCode::NotFound);
}

TEST(Pretrained, AnyDamageIsSeen) {
  const std::string bytes = sample_model().serialise();
  for (std::size_t at = 0; at < bytes.size(); at += bytes.size() / 61) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x15);
    const Error error = error_of([&] { PretrainedModel::parse(damaged, "m.model"); });
    EXPECT_TRUE(error.code() == ErrorCode::Corrupt || error.code() == ErrorCode::Version) << at;
    EXPECT_EQ(error.where(), "m.model") << at;
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{30}, bytes.size() - 1}) {
    EXPECT_EQ(error_of([&] { PretrainedModel::parse(std::string_view(bytes).substr(0, size), "m"); }).code(),
              ErrorCode::Corrupt);
  }
}

TEST(Pretrained, AnotherSchemaIsRefused) {
  std::string bytes = sample_model().serialise();
  bytes.replace(bytes.find(" 1\n"), 3, " 2\n");
  const Error error = error_of([&] { PretrainedModel::parse(bytes, "m"); });
  EXPECT_EQ(error.code(), ErrorCode::Version);
  EXPECT_THAT(error.what(), HasSubstr("schema 2"));
}

TEST(ColumnMap, FindsColumnsByNameAndMissesOnlyThoseOfDesigns) {
  const std::vector<std::string> wanted{"program.block", "knob.tile", "fact.flops"};
  const ColumnMap map(wanted, std::vector<std::string>{"fact.flops", "extra", "program.block"});
  FeatureMatrix picked(3);
  map.append(std::vector<float>{1, 2, 3}, picked);
  EXPECT_EQ(picked.row(0)[0], 3);
  EXPECT_TRUE(std::isnan(picked.row(0)[1]));
  EXPECT_EQ(picked.row(0)[2], 1);
  const Error error = error_of([&] { ColumnMap(wanted, std::vector<std::string>{"fact.flops"}); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_THAT(error.what(), HasSubstr("'program.block'"));
}

}  // namespace
}  // namespace temper::cost
