#include "temper/ops/concat.h"

#include "temper/ops/indexing.h"
#include "temper/ops/reshape.h"

namespace temper::ops {

using ir::Expr;
using ir::Tensor;

std::vector<Tensor> build_concat(const Node& node) {
  std::vector<std::int64_t> shape = node.input(0).shape();
  const std::int64_t axis = normalise_axis(node, node.attributes->integer("axis", 1), shape.size());
  const auto along = static_cast<std::size_t>(axis);
  struct Part {
    Tensor tensor;
    std::int64_t begin, size;
  };
  std::vector<Part> parts;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Tensor& tensor = node.input(i);
    std::vector<std::int64_t> other = tensor.shape();
    if (other.size() != shape.size() || tensor.dtype() != node.input(0).dtype()) {
      invalid(node, "input " + std::to_string(i) + " of type " + type_of(tensor).text() + " does not fit " +
                        type_of(node.input(0)).text());
    }
    const std::int64_t size = other[along];
    other[along] = shape[along];
    if (other != shape)
      invalid(node, "input " + std::to_string(i) + " of type " + type_of(tensor).text() + " does not fit " +
                        type_of(node.input(0)).text());
    if (size > 0) parts.push_back({tensor, total, size});
    total += size;
  }
  shape[along] = total;
  if (parts.empty()) return {reshape(node.input(0), shape, node.name)};
  return {ir::compute(node.name, extents(shape), [&](std::span<const ir::Axis> axes) {
    Expr value;
    for (std::size_t i = parts.size(); i-- > 0;) {
      const Part& part = parts[i];
      std::vector<Expr> index = as_exprs(axes);
      index[along] = index[along] - part.begin;  // inside the part where the conditions choose it
      const Expr element = part.tensor.at(index);
      value = value.get() == nullptr ? element : ir::select(axes[along] < Expr(part.begin + part.size), element, value);
    }
    return ir::Definition(value);
  })};
}

}  // namespace temper::ops
