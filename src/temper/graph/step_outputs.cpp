#include "temper/graph/step_outputs.h"

#include <algorithm>
#include <utility>

namespace temper::graph {
namespace {

/// Place of the output whose storage is `id`; a new output when there is none.
std::size_t output_of(Program& program, ValueId id, std::size_t step) {
  std::vector<ValueId>& outputs = program.graph.outputs;
  const auto found = std::find_if(outputs.begin(), outputs.end(), [&](ValueId output) {
    return storage_of(program, output) == storage_of(program, id);
  });
  if (found != outputs.end()) return static_cast<std::size_t>(found - outputs.begin());
  outputs.push_back(id);
  program.graph.output_names.push_back("step " + std::to_string(step) + ": " + program.graph.value(id).name);
  return outputs.size() - 1;
}

}  // namespace

std::vector<StepOutput> expose_steps(Program& program) {
  std::vector<StepOutput> found;
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    for (const ValueId id : program.steps[s].outputs) {
      const Value& value = program.graph.value(id);
      StepOutput output{s, value.source, program.graph.sizes(id), value.order, 0};
      output.output = output_of(program, id, s);
      found.push_back(std::move(output));
    }
  }
  return found;
}

}  // namespace temper::graph
