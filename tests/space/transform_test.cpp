// The template for products between transforms: every valid candidate builds, is verified and means the reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "temper/ir/oracle.h"
#include "temper/nest/build.h"
#include "temper/nest/interpreter.h"
#include "temper/ops/spec.h"
#include "temper/search/enumeration.h"
#include "temper/space/template.h"
#include "temper/space/transform_template.h"
#include "temper/support/random.h"

namespace temper::space {
namespace {

target::Target target_of(int vector_bytes, int registers) {
  target::Target target;
  target.vector_bytes = vector_bytes;
  target.vector_registers = registers;
  return target;
}

/// Shapes whose rows, columns and channels do not divide by tiles and vectors, with images and operands of their own,
/// and one whose channels can be cut into blocks.
std::vector<ops::Workload> workloads() {
  std::vector<ops::Workload> out;
  for (const char* shape :
       {"n=1,ic=8,h=7,w=7,oc=8", "n=2,ic=9,h=5,w=11,oc=19", "n=1,ic=17,h=10,w=3,oc=33", "n=1,ic=8,h=6,w=9,oc=32"}) {
    for (const char* rest :
         {"layout=nhwc", "layout=nchw", "layout=nhwc,epilogue=bias+relu", "layout=nchw,epilogue=bias+add+hardswish"})
      out.push_back(ops::parse_spec(std::string("conv2d(") + shape + ",kh=3,kw=3,pad=1," + rest + ")"));
  }
  return out;
}

TEST(Transformed, EveryValidCandidateIsAccepted) {
  RandomStream random(7);
  for (const ops::Workload& workload : workloads()) {
    ASSERT_FALSE(workload.alternatives.empty()) << workload.text();
    for (const ops::Alternative& alternative : workload.alternatives) {
      for (const target::Target& target : {target_of(32, 16), target_of(64, 32)}) {
        const ScheduleSpace space(alternative.compute, target);
        ASSERT_EQ(space.designs()[0].name, "tiles") << workload.text();
        EXPECT_EQ(space.default_candidate().design, 0);
        const search::SpaceIndex index(space);
        ASSERT_GT(index.size(0), 20U) << workload.text();
        for (int i = 0; i < 12; ++i) {
          const search::Candidate candidate = index.at(random.below(index.size(0)));
          const schedule::Schedule schedule = space.materialise(candidate);
          EXPECT_NO_THROW(nest::verify(nest::build(schedule), schedule))
              << workload.text() << " " << search::to_record(space, candidate).text();
        }
      }
    }
  }
}

std::vector<std::byte> uniform(const ir::Stage& stage, RandomStream random) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : stage.shape()) elements *= extent;
  std::vector<std::byte> bytes(static_cast<std::size_t>(elements) * sizeof(float));
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(float)) {
    const auto value = static_cast<float>(random.uniform_real(-1, 1));
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
  return bytes;
}

TEST(Transformed, TheLoopsMeanTheReference) {
  const RandomStream random(3);
  const std::vector<ops::Workload> all = workloads();
  // Every shape and every layout with and without an epilogue, not each with each.
  for (std::size_t w = 0; w < all.size(); w += 3) {
    const ops::Workload& workload = all[w];
    std::map<std::string, std::vector<std::byte>> data;
    ir::Inputs inputs;
    for (const ir::StagePtr& stage : workload.compute.stages) {
      if (stage->kind != ir::StageKind::Placeholder) continue;
      data[stage->name] = uniform(*stage, random.fork(stage->name));
      inputs[stage->name] = data[stage->name];
    }
    const std::vector<double> wanted = ir::Oracle(workload.compute, inputs).all(*workload.compute.outputs[0]);
    for (const ops::Alternative& alternative : workload.alternatives) {
      const ScheduleSpace space(alternative.compute, target_of(32, 16));
      const search::SpaceIndex index(space);
      RandomStream draw = random.fork(workload.text() + alternative.algorithm);
      for (const search::Candidate& candidate : {space.default_candidate(), index.at(draw.below(index.size(0)))}) {
        const nest::Interpretation got = nest::interpret(nest::build(space.materialise(candidate)), inputs);
        const std::vector<double>& values = got.outputs[0][0];
        ASSERT_EQ(values.size(), wanted.size());
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          ASSERT_NEAR(values[i], wanted[i], 1e-4) << workload.text() << " " << alternative.algorithm << " "
                                                  << search::to_record(space, candidate).text() << " element " << i;
        }
      }
    }
  }
}

/// Knobs of the only design, by name.
std::int64_t knob(const ScheduleSpace& space, const search::Candidate& candidate, const std::string& name) {
  for (const auto& [key, value] : search::to_record(space, candidate).knobs) {
    if (key == name) return value;
  }
  ADD_FAILURE() << "there is no knob " << name;
  return 0;
}

TEST(Transformed, BlocksOfChannelsAreEqualAndShareOneTransformOfTheData) {
  const ops::Workload workload = ops::parse_spec("conv2d(ic=64,h=7,w=7,oc=96,kh=3,kw=3,pad=1,layout=nhwc)");
  for (const ops::Alternative& alternative : workload.alternatives) {
    const ScheduleSpace space(alternative.compute, target_of(64, 32));
    const search::SpaceIndex index(space);
    std::set<std::int64_t> seen;
    for (std::uint64_t i = 0; i < index.size(0); ++i) {
      const search::Candidate candidate = index.at(i);
      const std::int64_t blocks = knob(space, candidate, "channel_blocks");
      seen.insert(blocks);
      if (blocks == 1) continue;
      EXPECT_EQ(96 % (blocks * knob(space, candidate, "vectors") * knob(space, candidate, "vector")), 0);
      EXPECT_EQ(knob(space, candidate, "whole"), 1);
    }
    EXPECT_EQ(seen, (std::set<std::int64_t>{1, 2})) << "96 are two times three vectors of 16";
    EXPECT_EQ(knob(space, space.default_candidate(), "channel_blocks"), 1);
  }
}

TEST(Transformed, OtherDefinitionsAreNotOfThatForm) {
  for (const char* spec : {"matmul(m=8,n=8,k=8)", "conv2d(ic=16,h=8,w=8,oc=16,kh=3,kw=3,pad=1)",
                           "softmax(rows=4,cols=8)", "layernorm(rows=4,cols=8)"})
    EXPECT_FALSE(transformed_product(ops::parse_spec(spec).compute).has_value()) << spec;
}

}  // namespace
}  // namespace temper::space
