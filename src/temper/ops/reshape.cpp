#include "temper/ops/reshape.h"

#include <algorithm>

#include "temper/ops/indexing.h"
#include "temper/support/error.h"

namespace temper::ops {

using ir::Axis;
using ir::Expr;
using ir::Tensor;

namespace {

/// The axes argument: an attribute before opset 13, an input from then on. Empty when absent.
std::vector<std::int64_t> axes_argument(const Node& node) {
  if (node.has(1)) return node.value(1).integers();
  return node.attributes->integers("axes", {});
}

/// Index into a tensor of `from` for index `axes` of shape `to`: both are cut into the smallest groups of axes with
/// equal products, and each group is re-indexed by itself.
std::vector<Expr> reindex(const std::vector<std::int64_t>& from, const std::vector<std::int64_t>& to,
                          std::span<const Axis> axes) {
  std::vector<Expr> index;
  std::size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    const std::size_t i0 = i, j0 = j;
    std::int64_t a = 1, b = 1;
    if (i < from.size()) a = from[i++];
    if (j < to.size()) b = to[j++];
    while (a != b) {
      if (a < b && i < from.size()) {
        a *= from[i++];
      } else if (j < to.size()) {
        b *= to[j++];
      } else {
        a *= from[i++];
      }
    }
    if (i - i0 == 1 && j - j0 == 1) {
      index.emplace_back(axes[j0]);
      continue;
    }
    const std::vector<Expr> group = as_exprs(axes.subspan(j0, j - j0));
    const Expr offset = flatten(group, std::span(to).subspan(j0, j - j0));
    for (Expr& e : unflatten(offset, std::span(from).subspan(i0, i - i0))) index.push_back(std::move(e));
  }
  return index;
}

}  // namespace

Tensor reshape(const Tensor& in, const std::vector<std::int64_t>& shape, const std::string& name) {
  const std::vector<std::int64_t> from = in.shape();
  const TensorType target{in.dtype(), shape};
  if (type_of(in).elements() != target.elements()) {
    throw Error(ErrorCode::InvalidArgument, type_of(in).text() + " cannot be reshaped to " + target.text(), name);
  }
  const bool empty = target.elements() == 0;
  return ir::compute(name, extents(shape), [&](std::span<const Axis> axes) {
    // Without elements no index is ever used, and equal products do not exist.
    return ir::Definition(in.at(empty ? std::vector<Expr>(from.size(), Expr(0)) : reindex(from, shape, axes)));
  });
}

std::vector<Tensor> build_reshape(const Node& node) {
  const Tensor& in = node.input(0);
  const std::vector<std::int64_t> from = in.shape();
  std::vector<std::int64_t> shape = node.opset < 5 ? node.attributes->integers("shape") : node.value(1).integers();
  const bool allow_zero = node.attributes->integer("allowzero", 0) != 0;
  std::ptrdiff_t inferred = -1;
  std::int64_t known = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !allow_zero) {
      if (i >= from.size())
        invalid(node, "the shape copies axis " + std::to_string(i) + ", which the input does not have");
      shape[i] = from[i];
    }
    if (shape[i] == -1) {
      if (inferred >= 0) invalid(node, "the shape has two unknown sizes");
      inferred = static_cast<std::ptrdiff_t>(i);
    } else if (shape[i] < 0) {
      invalid(node, "the shape has the size " + std::to_string(shape[i]));
    } else {
      known *= shape[i];
    }
  }
  const std::int64_t elements = type_of(in).elements();
  if (inferred >= 0) {
    if (known == 0 || elements % known != 0) {
      invalid(node, std::to_string(elements) + " elements cannot be divided into groups of " + std::to_string(known));
    }
    shape[static_cast<std::size_t>(inferred)] = elements / known;
    known = elements;
  }
  if (known != elements)
    invalid(node, type_of(in).text() + " cannot be reshaped to " + TensorType{in.dtype(), shape}.text());
  return {reshape(in, shape, node.name)};
}

std::vector<Tensor> build_flatten(const Node& node) {
  const std::vector<std::int64_t> from = node.input(0).shape();
  std::int64_t axis = node.attributes->integer("axis", 1);
  if (axis != static_cast<std::int64_t>(from.size())) axis = normalise_axis(node, axis, from.size());
  std::vector<std::int64_t> shape{1, 1};
  for (std::size_t i = 0; i < from.size(); ++i) shape[static_cast<std::int64_t>(i) < axis ? 0 : 1] *= from[i];
  return {reshape(node.input(0), shape, node.name)};
}

std::vector<Tensor> build_squeeze(const Node& node) {
  const std::vector<std::int64_t> from = node.input(0).shape();
  std::vector<std::int64_t> axes = normalise_axes(node, axes_argument(node), from.size());
  const bool every = !node.has(1) && !node.attributes->has("axes");
  std::vector<std::int64_t> shape;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const bool named = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) != axes.end();
    if (named && from[i] != 1)
      invalid(node, "axis " + std::to_string(i) + " has size " + std::to_string(from[i]) + ", not 1");
    if (!(named || (every && from[i] == 1))) shape.push_back(from[i]);
  }
  return {reshape(node.input(0), shape, node.name)};
}

std::vector<Tensor> build_unsqueeze(const Node& node) {
  const std::vector<std::int64_t> from = node.input(0).shape();
  const std::vector<std::int64_t> given = axes_argument(node);
  const std::size_t rank = from.size() + given.size();
  const std::vector<std::int64_t> axes = normalise_axes(node, given, rank);
  if (axes.size() != given.size()) invalid(node, "an axis is named twice");
  std::vector<std::int64_t> shape;
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    const bool added = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) != axes.end();
    shape.push_back(added ? 1 : from[next++]);
  }
  return {reshape(node.input(0), shape, node.name)};
}

std::vector<Tensor> build_identity(const Node& node) {
  if (node.outputs > 1) unsupported(node, "only the first output is supported");
  return {reshape(node.input(0), node.input(0).shape(), node.name)};
}

}  // namespace temper::ops
