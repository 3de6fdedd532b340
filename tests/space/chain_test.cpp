// The template of two products in a row: which definitions it takes, and that its candidates compute them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "space/against_oracle.h"
#include "temper/ops/spec.h"
#include "temper/search/enumeration.h"
#include "temper/space/structure.h"

namespace temper::space {
namespace {

using testing::expect_equal_to_oracle;
using testing::vectors_of;

int chain_design(const ScheduleSpace& space) {
  for (std::size_t i = 0; i < space.designs().size(); ++i) {
    if (space.designs()[i].name == "chain") return static_cast<int>(i);
  }
  return -1;
}

const char* const kShapes[] = {
    "heads=2,queries=16,keys=24,depth=8",
    "heads=1,queries=1,keys=1,depth=1",
    "heads=3,queries=19,keys=7,depth=5",
    "heads=2,queries=37,keys=33,depth=17,value_depth=3,mask=1:1:1:33",
    "batch=2,heads=2,queries=9,keys=10,depth=6,value_depth=21,mask=2:1:9:10,layout=blhd",
    "heads=4,key_heads=2,queries=21,keys=9,depth=4,mask=1:4:1:9,layout=blhd",
};

TEST(ChainTemplate, DefaultsComputeAttention) {
  RandomStream random(1);
  for (const char* shape : kShapes) {
    const std::string spec = "attention(" + std::string(shape) + ")";
    for (const target::Target& target : {vectors_of(32, 16), vectors_of(64, 32)}) {
      const ScheduleSpace space(ops::parse_spec(spec).compute, target);
      const search::Candidate candidate = space.default_candidate();
      EXPECT_EQ(candidate.design, chain_design(space)) << spec;
      expect_equal_to_oracle(space, candidate, random, spec);
    }
  }
}

/// A random candidate of that design.
search::Candidate sample_of(const search::SpaceIndex& index, int design, RandomStream& random) {
  search::Candidate candidate = index.sample_by_design(random);
  while (candidate.design != design) candidate = index.sample_by_design(random);
  return candidate;
}

// What its constraints admit, `nest` accepts.
TEST(ChainTemplate, ValidCandidatesComputeAttention) {
  RandomStream random(2);
  for (const char* shape : kShapes) {
    const std::string spec = "attention(" + std::string(shape) + ")";
    const ScheduleSpace space(ops::parse_spec(spec).compute, vectors_of(32, 16));
    const search::SpaceIndex index(space);
    const int design = chain_design(space);
    ASSERT_GE(design, 0) << spec;
    for (int i = 0; i < 12; ++i) {
      const search::Candidate candidate = sample_of(index, design, random);
      expect_equal_to_oracle(space, candidate, random, spec + " candidate " + std::to_string(i));
    }
  }
}

// Where the maximum follows each tile of scores, they are computed inside of its loop over the keys.
TEST(ChainTemplate, JoinedScoresComputeAttention) {
  RandomStream random(3);
  for (const char* shape : kShapes) {
    const std::string spec = "attention(" + std::string(shape) + ")";
    const ScheduleSpace space(ops::parse_spec(spec).compute, vectors_of(32, 16));
    const search::SpaceIndex index(space);
    const int design = chain_design(space);
    ASSERT_GE(design, 0) << spec;
    const int join = search::knob_index(space.designs()[static_cast<std::size_t>(design)], "join");
    ASSERT_GE(join, 0);
    for (int i = 0; i < 6;) {
      const search::Candidate candidate = sample_of(index, design, random);
      if (search::values(space, candidate)[static_cast<std::size_t>(join)] == 0) continue;
      const schedule::Schedule schedule = space.materialise(candidate);
      EXPECT_EQ(schedule[schedule.stage("out_scores")].compute.loop.stage, schedule.stage("out_weights_max_local"));
      expect_equal_to_oracle(space, candidate, random, spec + " candidate " + std::to_string(i));
      ++i;
    }
  }
}

TEST(ChainTemplate, TheStructureNamesTheStages) {
  const auto chain = product_chain(ops::parse_spec("attention(heads=2,queries=3,keys=4,depth=5,layout=blhd)").compute);
  ASSERT_TRUE(chain);
  EXPECT_EQ(chain->first->name, "out_product");
  EXPECT_EQ(chain->scores->name, "out_scores");
  EXPECT_EQ(chain->weights->name, "out_weights_exp");
  EXPECT_EQ(chain->second->name, "out_values");
  EXPECT_EQ(chain->queries->name, "out_queries");
  EXPECT_EQ(chain->scaled, "out_queries");
  EXPECT_EQ(chain->keys->name, "K");
  EXPECT_EQ(chain->values->name, "V");
  EXPECT_EQ(chain->scorer, "out_weights_max");
  EXPECT_EQ(chain->sharer, "out_weights_sum");
  EXPECT_EQ(chain->output_axes, (std::vector<int>{0, 2, 1, 3}));
  EXPECT_THAT(chain->rows, ::testing::ElementsAre("out_weights_max", "out_weights_sum", "out_weights_scale"));
}

TEST(ChainTemplate, OtherDefinitionsAreNotTaken) {
  EXPECT_FALSE(product_chain(ops::parse_spec("matmul(m=8,n=8,k=8)").compute));
  EXPECT_FALSE(product_chain(ops::parse_spec("softmax(rows=8,cols=8)").compute));
  // Scaled are the queries alone, and once.
  const auto chain_of = [](bool scale_keys, bool scale_twice) {
    const ir::Tensor q = ir::placeholder("q", {4, 5}), k = ir::placeholder("k", {6, 5}),
                     v = ir::placeholder("v", {6, 3});
    const auto scaled = [](const ir::Tensor& in, const std::string& name) {
      return ir::define(name, {in.shape()[0], 5}, [&](ir::Axis i, ir::Axis d) { return ir::Definition(in(i, d) * 2); });
    };
    const ir::Tensor once = scaled(q, "once"), queries = scale_twice ? scaled(once, "twice") : once,
                     keys = scale_keys ? scaled(k, "keys") : k;
    const ir::Tensor first = ir::define("first", {4, 6}, [&](ir::Axis i, ir::Axis j) {
      const ir::Axis d = ir::reduce("d", 5);
      return ir::sum(queries(i, d) * keys(j, d), {d});
    });
    const ir::Tensor scores =
        ir::define("scores", {4, 6}, [&](ir::Axis i, ir::Axis j) { return ir::Definition(first(i, j)); });
    const ir::Tensor total = ir::define("total", {4}, [&](ir::Axis i) {
      const ir::Axis j = ir::reduce("j", 6);
      return ir::sum(scores(i, j), {j});
    });
    const ir::Tensor weights =
        ir::define("weights", {4, 6}, [&](ir::Axis i, ir::Axis j) { return ir::Definition(scores(i, j) / total(i)); });
    const ir::Tensor second = ir::define("second", {4, 3}, [&](ir::Axis i, ir::Axis d) {
      const ir::Axis j = ir::reduce("j", 6);
      return ir::sum(weights(i, j) * v(j, d), {j});
    });
    const ir::Tensor out =
        ir::define("out", {4, 3}, [&](ir::Axis i, ir::Axis d) { return ir::Definition(second(i, d)); });
    return product_chain(ir::make_compute({out}));
  };
  EXPECT_TRUE(chain_of(false, false));
  EXPECT_FALSE(chain_of(true, false));
  EXPECT_FALSE(chain_of(false, true));
  // Two products without anything between them.
  const ir::Tensor a = ir::placeholder("a", {4, 5}), b = ir::placeholder("b", {5, 6}), c = ir::placeholder("c", {6, 7});
  const ir::Tensor first = ir::define("first", {4, 6}, [&](ir::Axis i, ir::Axis j) {
    const ir::Axis d = ir::reduce("d", 5);
    return ir::sum(a(i, d) * b(d, j), {d});
  });
  const ir::Tensor second = ir::define("second", {4, 7}, [&](ir::Axis i, ir::Axis j) {
    const ir::Axis d = ir::reduce("d", 6);
    return ir::sum(first(i, d) * c(d, j), {d});
  });
  EXPECT_FALSE(product_chain(ir::make_compute({second})));
}

}  // namespace
}  // namespace temper::space
