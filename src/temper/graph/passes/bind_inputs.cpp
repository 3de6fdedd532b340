#include "temper/graph/passes/bind_inputs.h"

#include <algorithm>

#include "temper/support/error.h"

namespace temper::graph {
namespace {

bool fits(const Value& value, const ops::TensorType& type) {
  if (value.dtype != type.dtype) return false;
  if (!value.shape) return true;
  return std::equal(value.shape->begin(), value.shape->end(), type.shape.begin(), type.shape.end(),
                    [](const Dimension& d, std::int64_t size) { return !d.size || *d.size == size; });
}

std::string declared(const Value& value) {
  return std::string(ir::to_string(value.dtype)) + (value.shape ? to_string(*value.shape) : "[...]");
}

}  // namespace

void bind_inputs(Graph& graph, const BoundInputs& values) {
  for (const auto& [name, data] : values) {
    const auto input = std::find_if(graph.inputs.begin(), graph.inputs.end(),
                                    [&](ValueId id) { return graph.value(id).name == name; });
    if (input == graph.inputs.end()) {
      std::string known;
      for (const ValueId id : graph.inputs) known += (known.empty() ? "" : ", ") + graph.value(id).name;
      throw Error(ErrorCode::InvalidArgument, "the model has no input called '" + name + "'", "--constant " + name,
                  "its inputs are " + known);
    }
    if (!fits(graph.value(*input), data.type)) {
      throw Error(ErrorCode::InvalidArgument,
                  "input '" + name + "' is " + declared(graph.value(*input)) + ", the constant is " + data.type.text(),
                  "--constant " + name, "convert the array, or give the sizes that the model declares");
    }
    graph.set_type(*input, data.type.dtype, data.type.shape);
    graph.value(*input).data = data;
    graph.inputs.erase(input);
  }
}

}  // namespace temper::graph
