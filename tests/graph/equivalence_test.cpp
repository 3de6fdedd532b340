// Random graphs: passes, fusion and layouts change what is run, never what is computed.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "graph/numbers.h"
#include "graph/random_model.h"
#include "temper/graph/pipeline.h"
#include "temper/graph/tasks.h"

namespace temper::graph {
namespace {

using testing::random_inputs;
using testing::random_model;

const std::set<std::string> kOptional{"identities", "patterns",   "attention", "affine", "excite",
                                      "rank",       "transposed", "gemm",      "layout"};

/// Largest difference over the largest magnitude (at least 1), over all outputs.
double difference(const std::vector<ops::TensorValue>& a, const std::vector<ops::TensorValue>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    RC_ASSERT(a[i].type == b[i].type);
    const std::vector<double> x = a[i].numbers(), y = b[i].numbers();
    double largest = 1, distance = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
      largest = std::max(largest, std::abs(y[k]));
      distance = std::max(distance, std::abs(x[k] - y[k]));
    }
    worst = std::max(worst, distance / largest);
  }
  return worst;
}

std::vector<std::uint8_t> decisions() { return *rc::gen::scale(0.5, rc::gen::arbitrary<std::vector<std::uint8_t>>()); }

RC_GTEST_PROP(RandomGraphs, AllPassesTogether, ()) {
  const Graph model = random_model(decisions()).import();
  const Graph plain = optimise(model, {}, kOptional);
  const NamedTensors inputs = random_inputs(plain, 1);
  const Program program = extract_tasks(optimise(model, {}));
  // Each operator rounds to f32 once, at most 24 in a row, on values that grow little.
  RC_ASSERT(difference(evaluate(program, inputs), evaluate(plain, inputs)) < 1e-4);
}

RC_GTEST_PROP(RandomGraphs, EachPassAlone, ()) {
  const Graph model = random_model(decisions()).import();
  const Graph plain = optimise(model, {}, kOptional);
  const NamedTensors inputs = random_inputs(plain, 1);
  const auto expected = evaluate(plain, inputs);
  std::set<std::string> disabled = kOptional;
  disabled.erase(*rc::gen::elementOf(std::vector<std::string>(kOptional.begin(), kOptional.end())));
  RC_ASSERT(difference(evaluate(optimise(model, {}, disabled), inputs), expected) < 1e-4);
}

RC_GTEST_PROP(RandomGraphs, AnyLayoutsOfTheChains, ()) {
  const Graph model = random_model(decisions()).import();
  const Graph plain = optimise(model, {}, kOptional);
  const NamedTensors inputs = random_inputs(plain, 1);
  const Graph open = optimise_before_layouts(model, {});
  const ops::Layout blocks = *rc::gen::element(ops::Layout::Nchw8c, ops::Layout::Nchw16c);
  Layouts layouts;
  for (const Chain& chain : find_chains(open, blocks)) {
    layouts.push_back(chain.no_blocks.empty() ? *rc::gen::element(ops::Layout::Nhwc, ops::Layout::Nchw, blocks)
                                              : *rc::gen::element(ops::Layout::Nhwc, ops::Layout::Nchw));
  }
  RC_ASSERT(difference(evaluate(program_with_layouts(open, layouts), inputs), evaluate(plain, inputs)) < 1e-4);
}

RC_GTEST_PROP(RandomGraphs, BlocksForEveryChainThatCan, ()) {
  const Graph model = random_model(decisions()).import();
  const Graph plain = optimise(model, {}, kOptional);
  const NamedTensors inputs = random_inputs(plain, 1);
  const Graph open = optimise_before_layouts(model, {});
  Layouts layouts;
  for (const Chain& chain : find_chains(open, ops::Layout::Nchw8c))
    layouts.push_back(chain.no_blocks.empty() ? ops::Layout::Nchw8c : ops::Layout::Nchw);
  RC_ASSERT(difference(evaluate(program_with_layouts(open, layouts), inputs), evaluate(plain, inputs)) < 1e-4);
}

RC_GTEST_PROP(RandomGraphs, StepsRunEveryNodeOnceInAnOrderThatWorks, ()) {
  const Program program = extract_tasks(optimise(random_model(decisions()).import(), {}));
  std::set<ValueId> known;
  for (std::size_t i = 0; i < program.graph.values.size(); ++i) {
    if (program.graph.values[i].is_constant()) known.insert(static_cast<ValueId>(i));
  }
  known.insert(program.graph.inputs.begin(), program.graph.inputs.end());
  for (const Step& step : program.steps) {
    for (const ValueId id : step.operands) RC_ASSERT(is_there(program, id, known));
    for (const ValueId id : step.outputs) RC_ASSERT(known.insert(id).second);
  }
  for (const ValueId id : program.graph.outputs) RC_ASSERT(is_there(program, id, known));
}

}  // namespace
}  // namespace temper::graph
