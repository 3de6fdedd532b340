#include "temper/ops/scatter.h"

#include <functional>

#include "temper/ops/indexing.h"

namespace temper::ops {

using ir::Axis;
using ir::Expr;
using ir::Tensor;

namespace {

/// An index as the position it means.
Expr from_end(const Expr& index, std::int64_t size) {
  const Expr raw = ir::cast(index, ir::DType::I64);
  return ir::select(raw < 0, raw + Expr(size), raw);
}
Expr clamped(const Expr& index, std::int64_t size) {
  return ir::min(ir::max(from_end(index, size), 0), Expr(size - 1));
}

/// The updates of a scatter: numbered by the reduce axes, each with a condition that it is meant for an element of the
/// output, and its value.
struct Updates {
  std::vector<std::int64_t> sizes;  ///< extents of the reduce axes
  /// Whether update `at` is for element `index`.
  std::function<Expr(const std::vector<Expr>& index, const std::vector<Expr>& at)> meant;
  std::function<Expr(const std::vector<Expr>& index, const std::vector<Expr>& at)> value;
};

std::vector<Axis> reduce_axes(const std::vector<std::int64_t>& sizes) {
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < sizes.size(); ++i) axes.push_back(ir::reduce("u" + std::to_string(i), sizes[i]));
  return axes;
}

Tensor last_of(const Node& node, const Tensor& data, const Updates& updates) {
  const Tensor last = ir::compute(node.name + "_last", extents(data.shape()), [&](std::span<const Axis> axes) {
    const std::vector<Axis> r = reduce_axes(updates.sizes);
    const std::vector<Expr> at = as_exprs(r);
    return ir::max_over(ir::select(updates.meant(as_exprs(axes), at), flatten(at, updates.sizes), Expr(-1)), r);
  });
  return ir::compute(node.name, extents(data.shape()), [&](std::span<const Axis> axes) {
    const std::vector<Expr> index = as_exprs(axes);
    const Expr number = last.at(index);
    const std::vector<Expr> at = unflatten(ir::max(number, 0), updates.sizes);
    return ir::Definition(ir::select(number < 0, data.at(index), updates.value(index, at)));
  });
}

Tensor combined(const Node& node, const Tensor& data, const Updates& updates, const std::string& how) {
  const ir::DType dtype = data.dtype();
  const auto reducer = how == "add"   ? ir::sum_reducer(dtype)
                       : how == "mul" ? ir::product_reducer(dtype)
                       : how == "max" ? ir::max_reducer(dtype)
                                      : ir::min_reducer(dtype);
  if (how != "add" && how != "mul" && how != "max" && how != "min")
    invalid(node, "reduction '" + how + "' is not known", "expected none, add, mul, max or min");
  return ir::compute(node.name, extents(data.shape()), [&](std::span<const Axis> axes) {
    const std::vector<Axis> r = reduce_axes(updates.sizes);
    const std::vector<Expr> index = as_exprs(axes), at = as_exprs(r);
    const Expr term = ir::select(updates.meant(index, at), updates.value(index, at), reducer.identity[0]);
    return ir::reduction(reducer, {term}, r).init(data.at(index));
  });
}

std::vector<Tensor> scatter(const Node& node, const Tensor& data, const Updates& updates) {
  const std::string how = node.attributes->text("reduction", "none");
  return {how == "none" ? last_of(node, data, updates) : combined(node, data, updates, how)};
}

}  // namespace

std::vector<Tensor> build_gather_elements(const Node& node) {
  const Tensor &in = node.input(0), &indices = node.input(1);
  const std::vector<std::int64_t> shape = in.shape();
  if (indices.shape().size() != shape.size()) invalid(node, "data and indices differ in rank");
  const auto axis = static_cast<std::size_t>(normalise_axis(node, node.attributes->integer("axis", 0), shape.size()));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != axis && indices.shape()[i] > shape[i])
      invalid(node, "the indices are larger than the data along axis " + std::to_string(i));
  }
  return {ir::compute(node.name, extents(indices.shape()), [&](std::span<const Axis> axes) {
    std::vector<Expr> index = as_exprs(axes);
    index[axis] = clamped(indices.at(as_exprs(axes)), shape[axis]);
    return ir::Definition(in.at(index));
  })};
}

std::vector<Tensor> build_gather_nd(const Node& node) {
  const Tensor &in = node.input(0), &indices = node.input(1);
  const std::vector<std::int64_t> shape = in.shape(), places = indices.shape();
  const auto batch = static_cast<std::size_t>(node.attributes->integer("batch_dims", 0));
  if (places.empty() || batch >= places.size() || batch >= shape.size()) invalid(node, "batch_dims is too large");
  const auto depth = static_cast<std::size_t>(places.back());
  if (depth < 1 || batch + depth > shape.size()) invalid(node, "the indices are longer than the data has axes");
  std::vector<std::int64_t> out(places.begin(), places.end() - 1);
  out.insert(out.end(), shape.begin() + static_cast<std::ptrdiff_t>(batch + depth), shape.end());
  return {ir::compute(node.name, extents(out), [&](std::span<const Axis> axes) {
    const std::vector<Expr> all = as_exprs(axes);
    const std::vector<Expr> place(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(places.size() - 1));
    std::vector<Expr> index(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(batch));
    for (std::size_t i = 0; i < depth; ++i) {
      std::vector<Expr> at = place;
      at.emplace_back(static_cast<std::int64_t>(i));
      index.push_back(clamped(indices.at(at), shape[batch + i]));
    }
    index.insert(index.end(), all.begin() + static_cast<std::ptrdiff_t>(places.size() - 1), all.end());
    return ir::Definition(in.at(index));
  })};
}

std::vector<Tensor> build_scatter_elements(const Node& node) {
  const Tensor &data = node.input(0), &indices = node.input(1), &values = node.input(2);
  const std::vector<std::int64_t> shape = data.shape(), from = indices.shape();
  if (from.size() != shape.size() || values.shape() != from)
    invalid(node, "indices and updates must have the rank of the data and equal shapes");
  const auto axis = static_cast<std::size_t>(normalise_axis(node, node.attributes->integer("axis", 0), shape.size()));
  // Along the other axes an update is for the element of its own position.
  Updates updates;
  updates.sizes = {from[axis]};
  const auto place_of = [&](const std::vector<Expr>& index, const Expr& along) {
    std::vector<Expr> at = index;
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (i != axis && from[i] < shape[i]) at[i] = ir::min(at[i], Expr(from[i] - 1));
    }
    at[axis] = along;
    return at;
  };
  updates.meant = [&](const std::vector<Expr>& index, const std::vector<Expr>& at) {
    Expr condition = from_end(indices.at(place_of(index, at[0])), shape[axis]) == index[axis];
    for (std::size_t i = 0; i < index.size(); ++i) {
      if (i != axis && from[i] < shape[i]) condition = index[i] < Expr(from[i]) && condition;
    }
    return condition;
  };
  updates.value = [&](const std::vector<Expr>& index, const std::vector<Expr>& at) {
    return values.at(place_of(index, at[0]));
  };
  return scatter(node, data, updates);
}

std::vector<Tensor> build_scatter_nd(const Node& node) {
  const Tensor &data = node.input(0), &indices = node.input(1), &values = node.input(2);
  const std::vector<std::int64_t> shape = data.shape(), places = indices.shape();
  if (places.empty()) invalid(node, "the indices have no axes");
  const auto depth = static_cast<std::size_t>(places.back());
  if (depth > shape.size()) invalid(node, "the indices are longer than the data has axes");
  std::vector<std::int64_t> wanted(places.begin(), places.end() - 1);
  wanted.insert(wanted.end(), shape.begin() + static_cast<std::ptrdiff_t>(depth), shape.end());
  if (values.shape() != wanted) invalid(node, "the updates must be " + TensorType{values.dtype(), wanted}.text());
  Updates updates;
  updates.sizes.assign(places.begin(), places.end() - 1);
  if (updates.sizes.empty()) unsupported(node, "indices of rank 1");
  updates.meant = [&](const std::vector<Expr>& index, const std::vector<Expr>& at) {
    Expr condition;
    for (std::size_t i = 0; i < depth; ++i) {
      std::vector<Expr> place = at;
      place.emplace_back(static_cast<std::int64_t>(i));
      const Expr equal = from_end(indices.at(place), shape[i]) == index[i];
      condition = condition ? condition && equal : equal;
    }
    return condition;
  };
  updates.value = [&](const std::vector<Expr>& index, const std::vector<Expr>& at) {
    std::vector<Expr> place = at;
    place.insert(place.end(), index.begin() + static_cast<std::ptrdiff_t>(depth), index.end());
    return values.at(place);
  };
  return scatter(node, data, updates);
}

std::vector<Tensor> build_tensor_scatter(const Node& node) {
  const Tensor &past = node.input(0), &update = node.input(1);
  const std::vector<std::int64_t> shape = past.shape(), from = update.shape();
  const std::string mode = node.attributes->text("mode", "linear");
  if (mode != "linear" && mode != "circular") invalid(node, "mode '" + mode + "' is not known");
  const auto axis = static_cast<std::size_t>(normalise_axis(node, node.attributes->integer("axis", -2), shape.size()));
  if (from.size() != shape.size() || axis == 0) invalid(node, "cache and update must have one rank, and a batch axis");
  const std::int64_t size = shape[axis], length = from[axis];
  if (length > size) invalid(node, "the update is longer than the cache");
  return {ir::compute(node.name, extents(shape), [&](std::span<const Axis> axes) {
    const std::vector<Expr> index = as_exprs(axes);
    const Expr start = node.has(2) ? ir::cast(node.input(2).at({index[0]}), ir::DType::I64) : Expr(0);
    Expr place = index[axis] - start;
    if (mode == "circular") place = ir::select(place < 0, place + Expr(size), place);
    std::vector<Expr> at = index;
    at[axis] = ir::min(ir::max(place, 0), Expr(length - 1));
    return ir::Definition(ir::select(place >= 0 && place < Expr(length), update.at(at), past.at(index)));
  })};
}

}  // namespace temper::ops
