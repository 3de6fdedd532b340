// `temper model` on datasets that no hardware measured: times follow the knobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "temper/app/session.h"
#include "temper/target/cpu.h"
#include "temper/tune/dataset.h"
#include "temper/tune/task_space.h"

namespace temper::app {
namespace {

using ::testing::HasSubstr;

struct Result {
  int code;
  std::string out, err;
};

Result call(const std::vector<std::string>& arguments) {
  std::vector<const char*> pointers{"temper"};
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  std::ostringstream out, err;
  const int code = run(static_cast<int>(pointers.size()), pointers.data(), out, err);
  return {code, out.str(), err.str()};
}

tune::DatasetTask measured(const std::string& spec) {
  tune::DatasetTask task;
  task.task = tune::task_from_spec(spec, 1);
  const tune::TaskSpace space(task.task, target::detect(), space::builtin_templates());
  const search::SpaceIndex index(space);
  for (const search::Design& design : space.designs()) {
    tune::DatasetDesign& named = task.designs.emplace_back();
    named.name = design.name;
    for (const search::Knob& knob : design.knobs) named.knobs.push_back(knob.name);
  }
  for (const search::Candidate& candidate : tune::draw_sample(index, 60, task.task, 1)) {
    tune::DatasetRow row{static_cast<std::size_t>(candidate.design), search::values(space, candidate),
                         record::FailureKind::None, 1e-6};
    for (std::size_t k = 0; k < row.values.size(); ++k) {
      if (task.designs[row.design].knobs[k] == "vector") row.seconds = 1e-4 / static_cast<double>(row.values[k]);
    }
    task.rows.push_back(std::move(row));
  }
  return task;
}

class ModelCommand : public ::testing::Test {
 protected:
  ModelCommand() {
    std::filesystem::create_directories(folder_);
    tune::Dataset train{"a-target", {measured("matmul(m=8,n=64,k=8)"), measured("matmul(m=16,n=48,k=24)")}};
    tune::Dataset test{"a-target", {measured("matmul(m=24,n=32,k=16)")}};
    tune::save(train, train_);
    tune::save(test, test_);
  }
  ~ModelCommand() override { std::filesystem::remove_all(folder_); }

  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / ("model_command_test-" + std::to_string(getpid()));
  const std::string train_ = folder_ / "train.dataset", test_ = folder_ / "test.dataset", model_ = folder_ / "m.model";
};

TEST_F(ModelCommand, TrainsAndJudgesByOtherTasks) {
  const Result trained =
      call({"model", "train", "--data", train_, "--model", "xgboost", "--out", model_, "--held-out", test_, "--json"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(nlohmann::json::parse(trained.out)["rows"], 120);
  const Result judged = call({"model", "eval", "--data", test_, "--model", model_, "--json"});
  ASSERT_EQ(judged.code, 0) << judged.err;
  const nlohmann::json mean = nlohmann::json::parse(judged.out)["mean"];
  EXPECT_EQ(mean["candidates"], 60);
  EXPECT_GT(mean["pairwise"], 0.8);
  EXPECT_EQ(mean, nlohmann::json::parse(trained.out)["held_out"]["mean"]);
  EXPECT_THAT(call({"model", "eval", "--data", test_, "--model", model_}).out, HasSubstr("recall@30"));
}

TEST_F(ModelCommand, TheAnalyticModelNeedsNoFile) {
  const Result judged = call({"model", "eval", "--data", test_, "--data", train_, "--model", "analytic", "--json"});
  ASSERT_EQ(judged.code, 0) << judged.err;
  EXPECT_EQ(nlohmann::json::parse(judged.out)["tasks"].size(), 3U);
}

TEST_F(ModelCommand, RefusesToJudgeByWhatWasLearned) {
  ASSERT_EQ(call({"model", "train", "--data", train_, "--model", "mlp", "--out", model_}).code, 0);
  const Result judged = call({"model", "eval", "--data", train_, "--model", model_});
  EXPECT_EQ(judged.code, 2);
  EXPECT_THAT(judged.err, HasSubstr("the model learned from this task"));
  const Result trained =
      call({"model", "train", "--data", train_, "--model", "mlp", "--out", model_, "--held-out", train_});
  EXPECT_EQ(trained.code, 2);
  EXPECT_THAT(trained.err, HasSubstr("held out"));
}

TEST_F(ModelCommand, WrongFilesAreSaid) {
  EXPECT_EQ(call({"model", "eval", "--data", folder_ / "none", "--model", "analytic"}).code, 1);
  EXPECT_EQ(call({"model", "eval", "--data", test_, "--model", folder_ / "none"}).code, 1);
  EXPECT_THAT(call({"model", "eval", "--data", test_, "--model", test_}).err, HasSubstr("no cost model"));
  EXPECT_THAT(call({"model", "train", "--data", test_, "--model", "oracle", "--out", model_}).err,
              HasSubstr("xgboost, mlp"));
}

TEST_F(ModelCommand, WritesFeaturesAsATable) {
  const std::string table = folder_ / "features.tsv";
  const Result written = call({"model", "features", "--data", test_, "--out", table, "--json"});
  ASSERT_EQ(written.code, 0) << written.err;
  EXPECT_EQ(nlohmann::json::parse(written.out)["rows"], 60);
  EXPECT_GT(std::filesystem::file_size(table), 1000U);
}

TEST(DatasetCommand, SaysWhatIsMissing) {
  EXPECT_EQ(call({"dataset", "collect"}).code, 2);
  EXPECT_EQ(call({"dataset", "collect", "--specs", "no-such-file"}).code, 1);
  EXPECT_EQ(call({"dataset", "export", "--op", "softmax(rows=4,cols=8)", "--db", "none.db", "--out", "x"}).code, 1);
  EXPECT_THAT(call({"dataset", "export", "--op", "softmax(rows=4,cols=8)", "--only", "zzz", "--out", "x"}).err,
              HasSubstr("no key contains 'zzz'"));
}

}  // namespace
}  // namespace temper::app
