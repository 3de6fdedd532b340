#include "temper/ops/slice.h"

#include <algorithm>
#include <numeric>

#include "temper/ops/indexing.h"

namespace temper::ops {

using ir::Expr;
using ir::Tensor;

namespace {

/// out[i] = in[begin + i·step] along each axis.
Tensor strided(const Tensor& in, const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& step,
               const std::vector<std::int64_t>& shape, const std::string& name) {
  return ir::compute(name, extents(shape), [&](std::span<const ir::Axis> axes) {
    std::vector<Expr> index;
    for (std::size_t i = 0; i < axes.size(); ++i) index.push_back(axes[i] * step[i] + Expr(begin[i]));
    return ir::Definition(in.at(index));
  });
}

std::vector<std::int64_t> argument(const Node& node, std::size_t input, std::string_view attribute,
                                   std::vector<std::int64_t> if_absent) {
  if (node.opset < 10) return node.attributes->integers(attribute, std::move(if_absent));
  return node.has(input) ? node.value(input).integers() : std::move(if_absent);
}

}  // namespace

std::vector<Tensor> build_slice(const Node& node) {
  const Tensor& in = node.input(0);
  std::vector<std::int64_t> shape = in.shape();
  const std::vector<std::int64_t> starts = argument(node, 1, "starts", {}), ends = argument(node, 2, "ends", {});
  std::vector<std::int64_t> axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = argument(node, 3, "axes", axes);
  const std::vector<std::int64_t> steps = argument(node, 4, "steps", std::vector<std::int64_t>(starts.size(), 1));
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    invalid(node, "starts, ends, axes and steps differ in length");
  }
  std::vector<std::int64_t> begin(shape.size(), 0), step(shape.size(), 1);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto axis = static_cast<std::size_t>(normalise_axis(node, axes[i], shape.size()));
    const std::int64_t size = in.shape()[axis], s = steps[i];
    if (s == 0) invalid(node, "a step is 0");
    const auto from_end = [&](std::int64_t value) { return value < 0 ? value + size : value; };
    const std::int64_t first = std::clamp<std::int64_t>(from_end(starts[i]), 0, s > 0 ? size : size - 1);
    const std::int64_t last = s > 0 ? std::clamp<std::int64_t>(from_end(ends[i]), 0, size)
                                    : std::clamp<std::int64_t>(from_end(ends[i]), -1, size - 1);
    const std::int64_t count = s > 0 ? (last - first + s - 1) / s : (first - last + -s - 1) / -s;
    shape[axis] =
        size == 0 ? 0 : std::max<std::int64_t>(0, s > 0 ? (last > first ? count : 0) : (first > last ? count : 0));
    begin[axis] = first;
    step[axis] = s;
  }
  return {strided(in, begin, step, shape, node.name)};
}

std::vector<Tensor> build_split(const Node& node) {
  const Tensor& in = node.input(0);
  std::vector<std::int64_t> shape = in.shape();
  const auto axis = static_cast<std::size_t>(normalise_axis(node, node.attributes->integer("axis", 0), shape.size()));
  std::vector<std::int64_t> sizes = node.has(1) ? node.value(1).integers() : node.attributes->integers("split", {});
  if (sizes.empty()) {
    const std::int64_t parts = node.attributes->integer("num_outputs", node.outputs);
    const std::int64_t size = (shape[axis] + parts - 1) / parts;
    sizes.assign(static_cast<std::size_t>(parts), size);
    sizes.back() = shape[axis] - size * (parts - 1);
  }
  const bool bad = std::any_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size < 0; });
  if (bad || std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) != shape[axis] ||
      sizes.size() < static_cast<std::size_t>(node.outputs)) {
    invalid(node,
            "the parts do not add up to the size " + std::to_string(shape[axis]) + " of axis " + std::to_string(axis));
  }
  std::vector<Tensor> outputs;
  std::vector<std::int64_t> begin(shape.size(), 0);
  const std::vector<std::int64_t> step(shape.size(), 1);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    shape[axis] = sizes[i];
    outputs.push_back(strided(in, begin, step, shape, i == 0 ? node.name : node.name + "_" + std::to_string(i)));
    begin[axis] += sizes[i];
  }
  return outputs;
}

}  // namespace temper::ops
