#include "temper/ops/transpose.h"

#include <numeric>

#include "temper/ops/indexing.h"

namespace temper::ops {

using ir::Tensor;

Tensor transpose(const Tensor& in, const std::vector<std::int64_t>& permutation, const std::string& name) {
  const std::vector<std::int64_t> from = in.shape();
  std::vector<std::int64_t> shape;
  for (std::int64_t axis : permutation) shape.push_back(from[static_cast<std::size_t>(axis)]);
  return ir::compute(name, extents(shape), [&](std::span<const ir::Axis> axes) {
    std::vector<ir::Expr> index(from.size());
    for (std::size_t d = 0; d < permutation.size(); ++d) index[static_cast<std::size_t>(permutation[d])] = axes[d];
    return ir::Definition(in.at(index));
  });
}

std::vector<Tensor> build_transpose(const Node& node) {
  const std::size_t rank = node.input(0).shape().size();
  std::vector<std::int64_t> reversed(rank);
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const std::vector<std::int64_t> permutation = node.attributes->integers("perm", reversed);
  if (permutation.size() != rank || normalise_axes(node, permutation, rank).size() != rank) {
    invalid(node, "'perm' is not a permutation of the " + std::to_string(rank) + " axes");
  }
  return {transpose(node.input(0), permutation, node.name)};
}

}  // namespace temper::ops
