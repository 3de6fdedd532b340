// Inputs that the user gives once and for all: they become constants, so that what depends on them alone is computed
// ahead. An operator whose shape follows from a value (Reshape, Slice, Expand, ...) needs that.
#pragma once

#include <map>
#include <string>

#include "temper/graph/graph.h"

namespace temper::graph {

/// Contents of inputs by name.
using BoundInputs = std::map<std::string, ops::TensorValue>;

/// Makes constants of the named inputs. Throws Error{InvalidArgument} when the model has no such input, or when element
/// type or sizes differ from the declared ones.
void bind_inputs(Graph& graph, const BoundInputs& values);

}  // namespace temper::graph
