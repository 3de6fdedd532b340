// Evaluates graphs and programs one element at a time through the oracle: slow, but right. What passes and task
// extraction are checked against.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "temper/graph/graph.h"
#include "temper/graph/tasks.h"

namespace temper::graph {

/// Contents of the graph inputs by name.
using NamedTensors = std::map<std::string, ops::TensorValue>;

/// The graph's outputs in order, computed node by node from the operators' definitions. Requires inferred shapes.
/// Throws Error{InvalidArgument} when an input is missing or has another type.
std::vector<ops::TensorValue> evaluate(const Graph& graph, const NamedTensors& inputs);

/// The program's outputs in order, computed step by step from the tasks' definitions, parts inside of their wholes.
std::vector<ops::TensorValue> evaluate(const Program& program, const NamedTensors& inputs);

}  // namespace temper::graph
