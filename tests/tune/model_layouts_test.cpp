// Which layouts of a model are raced, how their times are stored, and which ones are used afterwards.
#include "temper/tune/model_layouts.h"

#include <gtest/gtest.h>

#include "sample_task.h"
#include "temper/store/sqlite_store.h"
#include "temper/support/error.h"
#include "temper/tune/verdict.h"

namespace temper::tune {
namespace {

using graph::Layouts;
using ops::Layout;
using testing::sample_target;

/// x[1,32,64,64] → convolution, once for each of `channels`: 32 are full vectors in both layouts, 1 is not.
graph::Graph convolutions(const std::vector<std::int64_t>& channels, std::int64_t kernel = 3, std::int64_t groups = 1) {
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
    const ops::TensorType type{ir::DType::F32, {each, 32 / groups, kernel, kernel}};
    const std::vector<double> zeros(static_cast<std::size_t>(type.elements()), 0.0);
    const graph::ValueId w = g.add_constant("w" + name, ops::TensorValue::from_numbers(type, zeros));
    const graph::ValueId y = value(name, {1, each, 64, 64});
    graph::Node node{"Conv", 17, "conv." + name, {x, w}, {y}, {}, Layout::Nchw};
    node.attributes.set("pads", std::vector<std::int64_t>(4, kernel / 2));
    node.attributes.set("group", groups);
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

TEST_F(ModelLayoutsTest, BlocksAreTheThirdValueOfAKnob) {
  const ModelLayouts layouts(convolutions({32}, 13, 32), {}, 1, Layout::Nchw8c);
  const std::vector<LayoutAssignment> candidates = layouts.candidates();
  ASSERT_EQ(candidates.size(), 3U);
  EXPECT_EQ(candidates[0].candidate.text(), "layouts{c0.nchw=0}");
  EXPECT_EQ(candidates[1].candidate.text(), "layouts{c0.nchw=1}");
  EXPECT_EQ(candidates[2].candidate.text(), "layouts{c0.nchw=2}");
  EXPECT_EQ(candidates[2].layouts, Layouts{Layout::Nchw8c});
  store(layouts, {2e-3, 1.5e-3, 1e-3});
  EXPECT_EQ(known(layouts), Layouts{Layout::Nchw8c});
  EXPECT_EQ(known(ModelLayouts(convolutions({32}, 13, 32), {}, 1, Layout::Nchw16c)), Layouts{Layout::Nchw16c})
      << "which blocks is up to the target, which records name anyway";
}

TEST_F(ModelLayoutsTest, ARecordOfTwoLayoutsIsUsedWhereThereAreThree) {
  const ModelLayouts layouts(convolutions({32}, 13, 32), {}, 1);
  const record::Record older = layouts.record_of(layouts.candidates()[1], taking(1e-3), sample_target());
  ASSERT_EQ(older.candidate.text(), "layouts{c0.nchw=1}") << "as it always was";
  store_->append(std::span(&older, 1));
  EXPECT_EQ(known(layouts), Layouts{Layout::Nchw});
}

TEST_F(ModelLayoutsTest, ARuleLeavesNothingToMeasure) {
  const graph::Graph model = convolutions({32, 1});
  store(ModelLayouts(model, {}, 1), {2e-3, 1e-3});
  const auto of = [&](LayoutRule rule) {
    const ModelLayouts layouts(model, {}, 1, Layout::Nchw8c, rule);
    EXPECT_EQ(layouts.candidates().size(), rule == LayoutRule::Measured ? 2U : 1U);
    return known(layouts);
  };
  EXPECT_EQ(of(LayoutRule::Measured), (Layouts{Layout::Nchw, Layout::Nchw}));
  EXPECT_EQ(of(LayoutRule::Estimated), (Layouts{Layout::Nhwc, Layout::Nchw}));
  EXPECT_EQ(of(LayoutRule::Nhwc), (Layouts{Layout::Nhwc, Layout::Nhwc}));
  EXPECT_EQ(of(LayoutRule::Nchw), (Layouts{Layout::Nchw, Layout::Nchw}));
  EXPECT_EQ(of(LayoutRule::Blocks), (Layouts{Layout::Nchw8c, Layout::Nchw8c}));
}

TEST_F(ModelLayoutsTest, BlocksThatAChainCannotHaveAreRefused) {
  const graph::Graph model = convolutions({16}, 3, 4);
  EXPECT_EQ(ModelLayouts(model, {}, 1, Layout::Nchw8c, LayoutRule::Nhwc).candidates().size(), 1U);
  EXPECT_NO_THROW(ModelLayouts(convolutions({16}, 3, 2), {}, 1, Layout::Nchw8c, LayoutRule::Blocks));
  try {
    ModelLayouts(model, {}, 1, Layout::Nchw8c, LayoutRule::Blocks);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Unsupported);
    EXPECT_NE(error.message().find("chain c0"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("conv.y0"), std::string::npos) << error.message();
  }
}

TEST_F(ModelLayoutsTest, NamesOfRules) {
  EXPECT_EQ(parse_layout_rule("blocked"), LayoutRule::Blocks);
  EXPECT_FALSE(parse_layout_rule("nchw16c").has_value());
  EXPECT_EQ(layout_rule_names(), "measured, estimated, nhwc, nchw, blocked");
  target::Target target = sample_target();
  target.vector_bytes = 64;
  EXPECT_EQ(blocks_of(target), Layout::Nchw16c);
  target.vector_bytes = 32;
  EXPECT_EQ(blocks_of(target), Layout::Nchw8c);
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
