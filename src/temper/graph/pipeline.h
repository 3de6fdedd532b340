// From an imported model to a program: the passes in one table, and fusion at their end.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "temper/graph/graph.h"
#include "temper/graph/passes/fix_shapes.h"
#include "temper/graph/passes/layout.h"
#include "temper/graph/tasks.h"

namespace temper::graph {

struct Pass {
  std::string_view name;  ///< as `--disable-pass` takes it
  std::string_view summary;
  void (*run)(Graph& graph);  ///< null for "fusion" and "parts", which `make_program` asks of `extract_tasks`
  bool required;              ///< cannot be disabled: what follows relies on it
};

/// In order of execution.
std::span<const Pass> passes();

/// Fixes the input shapes and runs every pass that is not disabled; the graph is verified after each.
/// Throws Error{InvalidArgument} for a name that is no pass or one that is required, and what the passes throw.
Graph optimise(Graph graph, const ShapeFixes& fixes, const std::set<std::string>& disabled = {});

/// `optimise`, then `extract_tasks`, fused unless "fusion" is disabled, with parts unless "parts" is. Throws as both.
Program make_program(Graph graph, const ShapeFixes& fixes, const std::set<std::string>& disabled = {});

/// The first part of `optimise`: all passes before "layout". Throws as `optimise`.
Graph optimise_before_layouts(Graph graph, const ShapeFixes& fixes, const std::set<std::string>& disabled = {});

/// The rest of `make_program` for a graph that `optimise_before_layouts` returned, with these layouts for its chains;
/// they are not looked at when "layout" is disabled.
Program program_with_layouts(Graph graph, const Layouts& layouts, const std::set<std::string>& disabled = {});

}  // namespace temper::graph
