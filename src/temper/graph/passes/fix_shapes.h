// Gives every graph input a static shape, as `--shape NAME=1,3,224,224` asks.
#pragma once

#include <map>
#include <string>

#include "temper/graph/graph.h"

namespace temper::graph {

/// Input name → sizes.
using ShapeFixes = std::map<std::string, Sizes>;

/// Reads "NAME=1,3,224,224"; the name may hold '='. Throws Error{InvalidArgument} that says what was expected.
std::pair<std::string, Sizes> parse_shape_fix(const std::string& text);

/// Replaces symbolic and unknown dimensions of the inputs. A symbol that the fixes give one size everywhere also takes
/// that size in inputs that are not named. Throws Error{InvalidArgument} for a name that is no input, a wrong rank, a
/// size below 1 or one that contradicts the model; Error{InvalidArgument} that lists what is still open when a
/// dimension stays unknown.
void fix_shapes(Graph& graph, const ShapeFixes& fixes);

}  // namespace temper::graph
