// The template of two products in a row: which definitions it takes, and that its candidates compute them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "temper/nest/build.h"
#include "temper/nest/interpreter.h"
#include "temper/ops/spec.h"
#include "temper/search/enumeration.h"
#include "temper/space/structure.h"
#include "temper/space/template.h"
#include "temper/support/random.h"

namespace temper::space {
namespace {

target::Target vectors_of(int bytes, int registers) {
  target::Target target;
  target.vector_bytes = bytes;
  target.vector_registers = registers;
  target.l2_bytes = 1 << 20;
  return target;
}

int chain_design(const ScheduleSpace& space) {
  for (std::size_t i = 0; i < space.designs().size(); ++i) {
    if (space.designs()[i].name == "chain") return static_cast<int>(i);
  }
  return -1;
}

/// Random bytes behind every placeholder.
class RandomInputs {
 public:
  RandomInputs(const ir::Compute& compute, RandomStream& random) {
    for (const ir::StagePtr& stage : compute.stages) {
      if (stage->kind != ir::StageKind::Placeholder) continue;
      std::int64_t count = 1;
      for (const std::int64_t size : stage->shape()) count *= size;
      std::vector<float>& values = values_[stage->name];
      for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(random.uniform_real(-1, 1)));
      inputs[stage->name] = std::as_bytes(std::span(values));
    }
  }
  ir::Inputs inputs;

 private:
  std::map<std::string, std::vector<float>> values_;
};

void expect_equal_to_oracle(const ScheduleSpace& space, const search::Candidate& candidate, RandomStream& random,
                            const std::string& what) {
  const schedule::Schedule schedule = space.materialise(candidate);
  const nest::Program program = nest::build(schedule);
  nest::verify(program, schedule);
  const RandomInputs random_inputs(space.compute(), random);
  const auto got = nest::interpret(program, random_inputs.inputs).outputs.at(0).at(0);
  ir::Oracle oracle(space.compute(), random_inputs.inputs);
  const std::vector<double> expected = oracle.all(*space.compute().outputs[0]);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 1e-9) << what << " at " << i;
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

// What its constraints admit, `nest` accepts.
TEST(ChainTemplate, ValidCandidatesComputeAttention) {
  RandomStream random(2);
  for (const char* shape : kShapes) {
    const std::string spec = "attention(" + std::string(shape) + ")";
    const ScheduleSpace space(ops::parse_spec(spec).compute, vectors_of(32, 16));
    const search::SpaceIndex index(space);
    const int design = chain_design(space);
    ASSERT_GE(design, 0) << spec;
    for (int i = 0; i < 12;) {
      const search::Candidate candidate = index.sample_by_design(random);
      if (candidate.design != design) continue;
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
  EXPECT_EQ(chain->queries->name, "Q");
  EXPECT_EQ(chain->keys->name, "K");
  EXPECT_EQ(chain->values->name, "V");
  EXPECT_EQ(chain->sharer, "out_weights_sum");
  EXPECT_EQ(chain->output_axes, (std::vector<int>{0, 2, 1, 3}));
  EXPECT_THAT(chain->rows, ::testing::ElementsAre("out_weights_max", "out_weights_sum", "out_weights_scale"));
}

TEST(ChainTemplate, OtherDefinitionsAreNotTaken) {
  EXPECT_FALSE(product_chain(ops::parse_spec("matmul(m=8,n=8,k=8)").compute));
  EXPECT_FALSE(product_chain(ops::parse_spec("softmax(rows=8,cols=8)").compute));
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
