// The passes between import and task extraction, in one table.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "temper/graph/graph.h"
#include "temper/graph/passes/fix_shapes.h"

namespace temper::graph {

struct Pass {
  std::string_view name;  ///< as `--disable-pass` takes it
  std::string_view summary;
  void (*run)(Graph& graph);
  bool required;  ///< cannot be disabled: what follows relies on it
};

/// In order of execution.
std::span<const Pass> passes();

/// Fixes the input shapes and runs every pass that is not disabled; the graph is verified after each.
/// Throws Error{InvalidArgument} for a name that is no pass or one that is required, and what the passes throw.
Graph optimise(Graph graph, const ShapeFixes& fixes, const std::set<std::string>& disabled = {});

}  // namespace temper::graph
