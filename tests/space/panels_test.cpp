// Panels of an operand that is no constant: which candidates have them, and that they compute the product.
#include <gtest/gtest.h>

#include "space/against_oracle.h"
#include "temper/ops/spec.h"
#include "temper/search/enumeration.h"

namespace temper::space {
namespace {

using testing::expect_equal_to_oracle;
using testing::vectors_of;

constexpr std::int64_t kPanels = 2;

std::vector<std::int64_t> packs_of(const std::string& spec) {
  const ScheduleSpace space(ops::parse_spec(spec).compute, vectors_of(64, 32));
  const search::Design& design = space.designs().front();
  return design.knobs[static_cast<std::size_t>(search::knob_index(design, "pack"))].values;
}

std::int64_t default_pack(const std::string& spec) {
  const ScheduleSpace space(ops::parse_spec(spec).compute, vectors_of(64, 32));
  const search::Candidate candidate = space.default_candidate();
  const search::Design& design = space.designs()[static_cast<std::size_t>(candidate.design)];
  return search::values(space, candidate)[static_cast<std::size_t>(search::knob_index(design, "pack"))];
}

TEST(Panels, AreAKnobOfOperandsThatAreNoConstants) {
  using Values = std::vector<std::int64_t>;
  EXPECT_EQ(packs_of("matmul(m=64,n=64,k=64)"), (Values{0, 1}));
  EXPECT_EQ(packs_of("matmul(m=64,n=64,k=64,trans_b=1)"), (Values{1}));
  EXPECT_EQ(packs_of("matmul(m=64,n=64,k=64,const=none)"), (Values{0, 2}));
  EXPECT_EQ(packs_of("matmul(m=64,n=64,k=64,trans_b=1,const=none)"), (Values{1, 2}));
}

TEST(Panels, AreTheDefaultOfSeveralTransposedMatrices) {
  EXPECT_EQ(default_pack("matmul(batch=4,m=64,n=64,k=64,trans_b=1,const=none)"), kPanels);
  EXPECT_EQ(default_pack("matmul(m=64,n=64,k=64,trans_b=1,const=none)"), 1);
  EXPECT_EQ(default_pack("matmul(batch=4,m=64,n=64,k=64,const=none)"), 0);
}

TEST(Panels, AreComputedInsideOfTheParallelLoop) {
  RandomStream random(4);
  for (const target::Target& target : {vectors_of(32, 16), vectors_of(64, 32)}) {
    for (const char* rest : {"", ",trans_b=1"}) {
      for (const char* sizes : {"batch=3,m=7,n=37,k=19", "batch=2,m=1,n=40,k=8", "m=33,n=16,k=16", "m=5,n=3,k=2"}) {
        const std::string spec = "matmul(" + std::string(sizes) + rest + ",const=none)";
        const ScheduleSpace space(ops::parse_spec(spec).compute, target);
        const search::SpaceIndex index(space);
        for (int i = 0; i < 5;) {
          const search::Candidate candidate = index.sample_by_design(random);
          const search::Design& design = space.designs()[static_cast<std::size_t>(candidate.design)];
          const int pack = search::knob_index(design, "pack");
          if (pack < 0 || search::values(space, candidate)[static_cast<std::size_t>(pack)] != kPanels) continue;
          const schedule::Schedule schedule = space.materialise(candidate);
          EXPECT_EQ(nest::build(schedule).phases.size(), 1U) << spec << ": nothing is copied ahead of the product";
          expect_equal_to_oracle(space, candidate, random, spec + " candidate " + std::to_string(i));
          ++i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace temper::space
