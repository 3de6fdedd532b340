#include "temper/ops/gather.h"

#include "temper/ops/indexing.h"

namespace temper::ops {

using ir::Axis;
using ir::Expr;
using ir::Tensor;

std::vector<Tensor> build_gather(const Node& node) {
  const Tensor &in = node.input(0), &indices = node.input(1);
  const std::vector<std::int64_t> from = in.shape(), index_shape = indices.shape();
  const auto axis = static_cast<std::size_t>(normalise_axis(node, node.attributes->integer("axis", 0), from.size()));
  const std::int64_t size = from[axis];
  std::vector<std::int64_t> known;
  if (node.inputs[1].value != nullptr) known = node.inputs[1].value->integers();
  for (std::int64_t& index : known) {
    if (index < -size || index >= size)
      invalid(node, "index " + std::to_string(index) + " is outside axis " + std::to_string(axis) + " of size " +
                        std::to_string(size));
    if (index < 0) index += size;
  }
  bool progression = !known.empty() && index_shape.size() <= 1;
  for (std::size_t i = 2; i < known.size(); ++i) progression &= known[i] - known[i - 1] == known[1] - known[0];

  std::vector<std::int64_t> shape(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.end(), index_shape.begin(), index_shape.end());
  shape.insert(shape.end(), from.begin() + static_cast<std::ptrdiff_t>(axis) + 1, from.end());
  return {ir::compute(node.name, extents(shape), [&](std::span<const Axis> axes) {
    const std::vector<Expr> all = as_exprs(axes);
    const std::size_t after = axis + index_shape.size();
    Expr chosen;
    if (progression) {
      const std::int64_t step = known.size() > 1 ? known[1] - known[0] : 0;
      chosen = index_shape.empty() || step == 0 ? Expr(known[0]) : all[axis] * Expr(step) + Expr(known[0]);
    } else {
      const std::vector<Expr> place(all.begin() + static_cast<std::ptrdiff_t>(axis),
                                    all.begin() + static_cast<std::ptrdiff_t>(after));
      const Expr raw = ir::cast(indices.at(place), ir::DType::I64);
      chosen = ir::min(ir::max(ir::select(raw < 0, raw + Expr(size), raw), 0), Expr(size - 1));
    }
    std::vector<Expr> index(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(axis));
    index.push_back(chosen);
    index.insert(index.end(), all.begin() + static_cast<std::ptrdiff_t>(after), all.end());
    return ir::Definition(in.at(index));
  })};
}

}  // namespace temper::ops
