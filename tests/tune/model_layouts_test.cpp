// Which layouts of a model are raced, how their times are stored, and which ones are used afterwards.
#include "temper/tune/model_layouts.h"

#include <gtest/gtest.h>

#include "sample_task.h"
#include "temper/store/sqlite_store.h"
#include "temper/tune/verdict.h"

namespace temper::tune {
namespace {

using graph::Layouts;
using ops::Layout;
using testing::sample_target;

/// x[1,32,64,64] → 3x3 convolution, once for each of `channels`: 32 are full vectors in both layouts, 1 is not.
graph::Graph convolutions(const std::vector<std::int64_t>& channels) {
  graph::Graph g;
  g.opset = 17;
  const auto value = [&](const std::string& name, const graph::Sizes& sizes) {
    const graph::ValueId id = g.add_value(graph::Value{name, ir::DType::F32, {}, {}});
    g.set_type(id, ir::DType::F32, sizes);
    return id;
  };
  const graph::ValueId x = value("x", {1, 32, 64, 64});
  g.inputs = {x};
  for (const std::int64_t each : channels) {
    const std::string name = "y" + std::to_string(g.nodes.size());
    const ops::TensorType type{ir::DType::F32, {each, 32, 3, 3}};
    const std::vector<double> zeros(static_cast<std::size_t>(each * 32 * 9), 0.0);
    const graph::ValueId w = g.add_constant("w" + name, ops::TensorValue::from_numbers(type, zeros));
    const graph::ValueId y = value(name, {1, each, 64, 64});
    graph::Node node{"Conv", 17, "conv." + name, {x, w}, {y}, {}, Layout::Nchw};
    node.attributes.set("pads", std::vector<std::int64_t>(4, 1));
    g.nodes.push_back(std::move(node));
    g.outputs.push_back(y);
    g.output_names.push_back(name);
  }
  return g;
}

record::Measurement taking(double seconds) {
  record::Measurement m;
  m.min_seconds = m.median_seconds = seconds;
  m.repeats = 5;
  m.number = 1;
  return m;
}

class ModelLayoutsTest : public ::testing::Test {
 protected:
  void store(const ModelLayouts& layouts, const std::vector<double>& seconds) {
    const std::vector<LayoutAssignment> candidates = layouts.candidates();
    ASSERT_EQ(candidates.size(), seconds.size());
    std::vector<record::Record> records;
    for (std::size_t i = 0; i < seconds.size(); ++i)
      records.push_back(layouts.record_of(candidates[i], taking(seconds[i]), sample_target()));
    store_->append(records, store::OnConflict::Replace);
  }
  Layouts known(const ModelLayouts& layouts) { return layouts.best_known(store_.get(), sample_target()); }

  std::unique_ptr<store::Store> store_ = store::open_in_memory();
};

TEST_F(ModelLayoutsTest, CandidatesAreTheEstimatedOneEachRivalAloneAndAllOfThem) {
  const ModelLayouts layouts(convolutions({32, 1, 32}), {}, 1);
  ASSERT_TRUE(layouts.has_rivals());
  const std::vector<LayoutAssignment> candidates = layouts.candidates();
  ASSERT_EQ(candidates.size(), 4U);
  EXPECT_EQ(candidates[0].candidate.text(), "layouts{c0.nchw=0,c2.nchw=0}");
  EXPECT_EQ(candidates[0].layouts, (Layouts{Layout::Nhwc, Layout::Nchw, Layout::Nhwc}));
  EXPECT_EQ(candidates[1].candidate.text(), "layouts{c0.nchw=1,c2.nchw=0}");
  EXPECT_EQ(candidates[1].layouts, (Layouts{Layout::Nchw, Layout::Nchw, Layout::Nhwc}));
  EXPECT_EQ(candidates[2].candidate.text(), "layouts{c0.nchw=0,c2.nchw=1}");
  EXPECT_EQ(candidates[3].layouts, (Layouts{Layout::Nchw, Layout::Nchw, Layout::Nchw}));
}

TEST_F(ModelLayoutsTest, WithoutRivalsThereIsOneCandidateAndNothingIsLookedUp) {
  const ModelLayouts layouts(convolutions({1}), {}, 1);
  EXPECT_FALSE(layouts.has_rivals());
  EXPECT_EQ(layouts.candidates().size(), 1U);
  EXPECT_EQ(layouts.candidates()[0].layouts, Layouts{Layout::Nchw});
  EXPECT_FALSE(layouts.best(*store_, sample_target()).has_value());
  const ModelLayouts disabled(convolutions({32}), {"layout"}, 1);
  EXPECT_FALSE(disabled.has_rivals());
  EXPECT_TRUE(disabled.candidates()[0].layouts.empty());
}

TEST_F(ModelLayoutsTest, TheBestRecordDecides) {
  const ModelLayouts layouts(convolutions({32, 1, 32}), {}, 1);
  const Layouts estimated = layouts.candidates()[0].layouts;
  EXPECT_EQ(known(layouts), estimated) << "nothing is measured";
  store(layouts, {2e-3, 1.5e-3, 2.1e-3, 1.6e-3});
  EXPECT_EQ(known(layouts), layouts.candidates()[1].layouts);
  EXPECT_EQ(layouts.best_known(nullptr, sample_target()), estimated);
  store(layouts, {1e-3, 1.5e-3, 2.1e-3, 1.6e-3});
  EXPECT_EQ(known(layouts), estimated) << "measured again";
}

TEST_F(ModelLayoutsTest, TheEstimatedOneWinsAgainstWhatIsOnlyLuckier) {
  const ModelLayouts layouts(convolutions({32}), {}, 1);
  store(layouts, {1e-3, 0.995e-3});
  EXPECT_EQ(known(layouts), layouts.candidates()[0].layouts);
  EXPECT_EQ(layouts.best(*store_, sample_target())->record.strategy, kDefaultOrigin);
  store(layouts, {1e-3, 0.9e-3});
  EXPECT_EQ(known(layouts), layouts.candidates()[1].layouts);
}

TEST_F(ModelLayoutsTest, OtherModelsThreadsPassesAndTargetsHaveTheirOwn) {
  const ModelLayouts layouts(convolutions({32}), {}, 1);
  store(layouts, {2e-3, 1e-3});
  EXPECT_TRUE(ModelLayouts(convolutions({32}), {}, 1).best(*store_, sample_target()).has_value());
  EXPECT_FALSE(ModelLayouts(convolutions({48}), {}, 1).best(*store_, sample_target()).has_value());
  EXPECT_FALSE(ModelLayouts(convolutions({32}), {}, 2).best(*store_, sample_target()).has_value());
  EXPECT_FALSE(ModelLayouts(convolutions({32}), {"fusion"}, 1).best(*store_, sample_target()).has_value());
  target::Target other = sample_target();
  other.l2_bytes *= 2;
  EXPECT_FALSE(layouts.best(*store_, other).has_value());
}

TEST_F(ModelLayoutsTest, ARecordOfOtherRivalsIsNotUsed) {
  const ModelLayouts layouts(convolutions({32}), {}, 1);
  record::Record stranger = layouts.record_of(layouts.candidates()[1], taking(1e-3), sample_target());
  stranger.candidate.knobs[0].first = "c7.nchw";
  store_->append(std::span(&stranger, 1));
  EXPECT_EQ(known(layouts), layouts.candidates()[0].layouts);
}

}  // namespace
}  // namespace temper::tune
