// Runs one pass on a small model.
#pragma once

#include <set>
#include <string>

#include "graph/model_builder.h"
#include "graph/numbers.h"
#include "temper/graph/passes/dead_code.h"
#include "temper/graph/passes/infer.h"
#include "temper/graph/passes/layout.h"
#include "temper/graph/pipeline.h"

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

/// All chains of convolutions in NHWC, whatever is estimated.
inline void assign_nhwc(Graph& graph) { assign_layouts(graph, Layouts(find_chains(graph).size(), ops::Layout::Nhwc)); }

/// `make_program` with all chains in NHWC.
inline Program nhwc_program(const ModelBuilder& b, const std::set<std::string>& disabled = {}) {
  Graph open = optimise_before_layouts(b.import(), {}, disabled);
  const std::size_t chains = find_chains(open).size();
  return program_with_layouts(std::move(open), Layouts(chains, ops::Layout::Nhwc), disabled);
}

}  // namespace temper::graph::testing
