// Runs one pass on a small model.
#pragma once

#include "graph/model_builder.h"
#include "graph/numbers.h"
#include "temper/graph/passes/dead_code.h"
#include "temper/graph/passes/infer.h"

namespace temper::graph::testing {

inline Graph prepared(const ModelBuilder& b) {
  Graph g = b.import();
  remove_dead_code(g);
  infer(g);
  return g;
}

/// Runs one pass and checks that it left a valid graph that computes the same.
inline Graph after(void (*pass)(Graph&), const ModelBuilder& b) {
  const Graph before = prepared(b);
  Graph g = before;
  pass(g);
  verify(g);
  const NamedTensors inputs = random_inputs(before, 7);
  expect_close(evaluate(g, inputs), evaluate(before, inputs));
  return g;
}

}  // namespace temper::graph::testing
