// Candidates of a space, run by the interpreter of loop programs on random inputs and held to the oracle.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <span>
#include <string>
#include <vector>

#include "temper/ir/oracle.h"
#include "temper/nest/build.h"
#include "temper/nest/interpreter.h"
#include "temper/space/template.h"
#include "temper/support/random.h"

namespace temper::space::testing {

inline target::Target vectors_of(int bytes, int registers) {
  target::Target target;
  target.vector_bytes = bytes;
  target.vector_registers = registers;
  target.l2_bytes = 1 << 20;
  return target;
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

inline void expect_equal_to_oracle(const ScheduleSpace& space, const search::Candidate& candidate, RandomStream& random,
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

}  // namespace temper::space::testing
