#include "temper/ops/reduce.h"

#include <array>
#include <limits>
#include <numeric>

#include "temper/ops/indexing.h"
#include "temper/ops/reshape.h"
#include "temper/support/error.h"

namespace temper::ops {

using ir::Axis;
using ir::Definition;
using ir::Expr;
using ir::Tensor;

namespace {

Expr same_value(const Expr& x) { return x; }
Expr square(const Expr& x) { return x * x; }
Expr magnitude(const Expr& x) { return ir::abs(x); }
Expr identity_step(const Expr& x, std::int64_t) { return x; }
Expr mean_step(const Expr& x, std::int64_t count) {
  if (ir::is_float(x.dtype())) return x * ir::literal(1.0 / static_cast<double>(count), x.dtype());
  return x / ir::literal(static_cast<double>(count), x.dtype());
}
Expr root_step(const Expr& x, std::int64_t) { return ir::sqrt(x); }
Expr log_step(const Expr& x, std::int64_t) { return ir::log(x); }

struct Reduction {
  std::string_view name;
  Expr (*term)(const Expr&);
  Definition (*reduce)(Expr, std::vector<Axis>);
  Expr (*finish)(const Expr& value, std::int64_t count);
};
constexpr std::array kReductions{
    Reduction{"ReduceL1", magnitude, ir::sum, identity_step},
    Reduction{"ReduceL2", square, ir::sum, root_step},
    Reduction{"ReduceLogSum", same_value, ir::sum, log_step},
    Reduction{"ReduceMax", same_value, ir::max_over, identity_step},
    Reduction{"ReduceMean", same_value, ir::sum, mean_step},
    Reduction{"ReduceMin", same_value, ir::min_over, identity_step},
    Reduction{"ReduceProd", same_value, ir::product, identity_step},
    Reduction{"ReduceSum", same_value, ir::sum, identity_step},
    Reduction{"ReduceSumSquare", square, ir::sum, identity_step},
};

/// Axes to reduce; nothing when the node asks for a copy (no axes and noop_with_empty_axes).
std::vector<std::int64_t> reduced_axes(const Node& node) {
  const std::size_t rank = node.input(0).shape().size();
  std::vector<std::int64_t> axes = node.has(1) ? node.value(1).integers() : node.attributes->integers("axes", {});
  if (axes.empty() && node.attributes->integer("noop_with_empty_axes", 0) == 0) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  return normalise_axes(node, axes, rank);
}

std::vector<std::int64_t> result_shape(const AxisSplit& split, bool keep) {
  if (!keep) return split.outer_shape();
  std::vector<std::int64_t> shape = split.shape;
  for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = split.is_inner[i] ? 1 : shape[i];
  return shape;
}

/// The outer index of an element of a result with or without the reduced axes.
std::vector<Expr> row_of(const AxisSplit& split, std::span<const Axis> axes, bool keep) {
  return keep ? split.outer_of(as_exprs(axes)) : as_exprs(axes);
}

Tensor log_sum_exp(const Node& node, const AxisSplit& split, bool keep) {
  const Tensor& in = node.input(0);
  const auto reduced = [&](const std::string& name, auto&& define) {
    return ir::compute(name, extents(split.outer_shape()), [&](std::span<const Axis> outer) {
      const std::vector<Axis> r = split.reduce_axes();
      return define(as_exprs(outer), in.at(split.join(as_exprs(outer), as_exprs(r))), r);
    });
  };
  const Tensor largest = reduced(node.name + "_max", [](const std::vector<Expr>&, const Expr& x,
                                                        const std::vector<Axis>& r) { return ir::max_over(x, r); });
  // An infinite maximum must not give inf - inf.
  const Tensor shift =
      ir::compute(node.name + "_shift", extents(split.outer_shape()), [&](std::span<const Axis> outer) {
        const Expr value = largest.at(as_exprs(outer));
        const Expr infinite = ir::abs(value) == ir::literal(std::numeric_limits<double>::infinity(), value.dtype());
        return Definition(ir::select(infinite, ir::literal(0, value.dtype()), value));
      });
  const Tensor total =
      reduced(node.name + "_sum", [&](const std::vector<Expr>& row, const Expr& x, const std::vector<Axis>& r) {
        return ir::sum(ir::exp(x - shift.at(row)), r);
      });
  return ir::compute(node.name, extents(result_shape(split, keep)), [&](std::span<const Axis> axes) {
    const std::vector<Expr> row = row_of(split, axes, keep);
    return Definition(ir::log(total.at(row)) + shift.at(row));
  });
}

/// The largest or smallest of conditions, as numbers.
Tensor of_conditions(const Node& node, const AxisSplit& split, bool keep,
                     Definition (*reduce)(Expr, std::vector<Axis>)) {
  const Tensor& in = node.input(0);
  const Tensor total =
      ir::compute(node.name + "_total", extents(split.outer_shape()), [&](std::span<const Axis> outer) {
        const std::vector<Axis> r = split.reduce_axes();
        return reduce(ir::cast(in.at(split.join(as_exprs(outer), as_exprs(r))), ir::DType::U8), r);
      });
  return ir::compute(node.name, extents(result_shape(split, keep)), [&](std::span<const Axis> index) {
    return Definition(total.at(row_of(split, index, keep)) != Expr(0));
  });
}

}  // namespace

std::vector<Tensor> build_reduce(const Node& node) {
  const Tensor& in = node.input(0);
  const std::vector<std::int64_t> axes = reduced_axes(node);
  const bool keep = node.attributes->integer("keepdims", 1) != 0;
  const AxisSplit split = split_axes(in.shape(), axes);
  if (node.op == "ReduceLogSumExp") {
    if (axes.empty()) unsupported(node, "no axis to reduce");
    return {log_sum_exp(node, split, keep)};
  }
  const Reduction* entry = nullptr;
  for (const Reduction& candidate : kReductions) {
    if (candidate.name == node.op) entry = &candidate;
  }
  TEMPER_CHECK(entry != nullptr, "every Reduce operator is in the table");
  if (in.dtype() == ir::DType::Bool) {
    if (axes.empty() || (node.op != "ReduceMax" && node.op != "ReduceMin")) unsupported(node, "conditions");
    return {of_conditions(node, split, keep, entry->reduce)};
  }
  if (axes.empty()) {  // each element is a reduction of one term
    return {ir::compute(node.name, extents(in.shape()), [&](std::span<const Axis> index) {
      return Definition(entry->finish(entry->term(in.at(as_exprs(index))), 1));
    })};
  }
  const bool one_stage = entry->finish == identity_step && !keep;
  const Tensor total = ir::compute(
      one_stage ? node.name : node.name + "_total", extents(split.outer_shape()), [&](std::span<const Axis> outer) {
        const std::vector<Axis> r = split.reduce_axes();
        return entry->reduce(entry->term(in.at(split.join(as_exprs(outer), as_exprs(r)))), r);
      });
  if (one_stage) return {total};
  return {ir::compute(node.name, extents(result_shape(split, keep)), [&](std::span<const Axis> index) {
    return Definition(entry->finish(total.at(row_of(split, index, keep)), split.inner_elements()));
  })};
}

std::vector<Tensor> build_arg_reduce(const Node& node) {
  const Tensor& in = node.input(0);
  const std::int64_t axis = normalise_axis(node, node.attributes->integer("axis", 0), in.shape().size());
  const bool keep = node.attributes->integer("keepdims", 1) != 0;
  const bool last = node.attributes->integer("select_last_index", 0) != 0;
  const AxisSplit split = split_axes(in.shape(), {axis});
  const ir::Reducer reducer = node.op == "ArgMax" ? ir::argmax_reducer(in.dtype(), ir::DType::I64)
                                                  : ir::argmin_reducer(in.dtype(), ir::DType::I64);
  const Tensor best = ir::compute(node.name + "_best", extents(split.outer_shape()), [&](std::span<const Axis> outer) {
    const std::vector<Axis> r = split.reduce_axes();
    // The reducer keeps the smallest of equal indices; counting from the end makes that the last.
    const Expr place = last ? Expr(in.shape()[static_cast<std::size_t>(axis)] - 1) - r[0] : Expr(r[0]);
    return ir::reduction(reducer, {in.at(split.join(as_exprs(outer), as_exprs(r))), place}, r);
  });
  return {ir::compute(node.name, extents(result_shape(split, keep)), [&](std::span<const Axis> axes) {
    const Expr place = ir::component(best, 1).at(row_of(split, axes, keep));
    return Definition(last ? Expr(in.shape()[static_cast<std::size_t>(axis)] - 1) - place : place);
  })};
}

}  // namespace temper::ops
