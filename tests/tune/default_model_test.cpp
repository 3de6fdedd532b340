#include "temper/tune/default_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "paths.h"
#include "sample_task.h"
#include "temper/support/error.h"
#include "temper/tune/dataset.h"
#include "temper/tune/task_features.h"

namespace temper::tune {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

const fs::path kModels = fs::path(paths::source()) / "data" / "models";

target::Target with_vectors(int bytes) {
  target::Target target = testing::sample_target();
  target.vector_bytes = bytes;
  return target;
}

TEST(ShippedModel, KnowsTheFeaturesOfToday) {
  const cost::PretrainedModel model = cost::PretrainedModel::load(kModels / "default.model");
  EXPECT_LE(fs::file_size(kModels / "default.model"), 3U << 20);
  const target::Target target = with_vectors(model.card().vector_bytes);
  for (const char* spec : {"matmul(m=16,n=32,k=8)", "softmax(rows=8,cols=64)",
                           "conv2d(ic=16,h=8,w=8,oc=16,kh=3,kw=3,pad=1,layout=nhwc)"}) {
    const Task task = task_from_spec(spec, 1);
    const TaskSpace space(task, target, space::builtin_templates());
    const cost::FeatureExtractor extractor = task_extractor(space, task, target);
    EXPECT_NO_THROW(cost::ColumnMap(model.card().columns, extractor.columns())) << spec << ": train the model anew";
  }
}

TEST(ShippedModel, HasNotSeenWhatItIsJudgedBy) {
  const cost::PretrainedModel model = cost::PretrainedModel::load(kModels / "default.model");
  EXPECT_LE(fs::file_size(kModels / "held_out.dataset"), 2U << 20);
  const Dataset held_out = load_dataset(kModels / "held_out.dataset");
  EXPECT_EQ(held_out.target, model.card().target);
  int whole = 0;
  for (const DatasetTask& task : held_out.tasks) {
    EXPECT_FALSE(model.knows(cost::task_hash(task.task.key.text()))) << task.task.key.text();
    whole += task.rows.size() >= 500 ? 1 : 0;
  }
  EXPECT_GE(whole, 30) << "tasks with 500 candidates";
  EXPECT_GE(model.card().tasks.size(), 60U);
}

class ChooseModel : public ::testing::Test {
 protected:
  ChooseModel() {
    fs::create_directories(root_ / "share" / "temper" / "models");
    fs::create_directories(root_ / "bin");
  }
  ~ChooseModel() override { fs::remove_all(root_); }
  const fs::path root_ = fs::path(::testing::TempDir()) / ("choose_model_test-" + std::to_string(getpid()));
  const fs::path file_ = root_ / "share" / "temper" / "models" / "default.model";
};

TEST_F(ChooseModel, ByName) {
  const ChosenModel absent = choose_model("auto", with_vectors(64), root_ / "bin");
  EXPECT_EQ(absent.model, nullptr);
  EXPECT_THAT(absent.note, HasSubstr(file_.string()));
  fs::copy_file(kModels / "default.model", file_);
  EXPECT_NE(choose_model("auto", with_vectors(64), root_ / "bin").model, nullptr);
  EXPECT_EQ(choose_model("none", with_vectors(64), root_ / "bin").model, nullptr);
  EXPECT_NE(choose_model(file_, with_vectors(32)).model, nullptr);
  EXPECT_THROW(choose_model(root_ / "other.model", with_vectors(64)), Error);
}

TEST_F(ChooseModel, AnotherVectorWidthGetsNone) {
  fs::copy_file(kModels / "default.model", file_);
  const ChosenModel chosen = choose_model("auto", with_vectors(32), root_ / "bin");
  EXPECT_EQ(chosen.model, nullptr);
  EXPECT_THAT(chosen.note, HasSubstr("64 bytes"));
}

}  // namespace
}  // namespace temper::tune
