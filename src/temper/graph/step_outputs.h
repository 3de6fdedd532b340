// Looking at what each step of a program computes, in the terms of the model.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "temper/graph/tasks.h"

namespace temper::graph {

/// One tensor that a step computes.
struct StepOutput {
  std::size_t step = 0;    ///< in `Program::steps`
  std::string source;      ///< the model's value of the same elements; empty: passes added it, the model has none
  Sizes sizes;             ///< as stored
  std::vector<int> order;  ///< axis i of what is stored is axis `order[i]` of the source; empty: the source's order
  std::size_t output = 0;  ///< its place among the outputs of `Program::graph`
};

/// Makes what every step computes an output of the program, behind the outputs that it has; one that is an output
/// already stays where it is. The steps, their tasks and the order of execution stay as they are.
std::vector<StepOutput> expose_steps(Program& program);

}  // namespace temper::graph
