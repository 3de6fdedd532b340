#include "temper/ops/losses.h"

#include "temper/ops/indexing.h"
#include "temper/ops/softmax.h"

namespace temper::ops {

using ir::Axis;
using ir::Expr;
using ir::Tensor;

namespace {

Tensor nll(const Node& node, const Tensor& scores) {
  const Tensor& labels = node.input(1);
  const std::vector<std::int64_t> shape = scores.shape(), places = labels.shape();
  if (shape.size() < 2) invalid(node, "the scores must have rank 2 or more");
  std::vector<std::int64_t> wanted = shape;
  wanted.erase(wanted.begin() + 1);
  if (places != wanted) invalid(node, "the labels must be " + TensorType{labels.dtype(), wanted}.text());
  if (node.has(2) && node.input(2).shape() != std::vector<std::int64_t>{shape[1]})
    invalid(node, "there must be one weight for each class");
  const std::string reduction = node.attributes->text("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    invalid(node, "reduction '" + reduction + "' is not known", "expected none, sum or mean");
  const bool ignores = node.attributes->has("ignore_index");
  const Expr ignored(node.attributes->integer("ignore_index", -100));
  const Expr zero = ir::literal(0, scores.dtype());

  const auto weight_of = [&](const std::vector<Expr>& index) {
    const Expr label = ir::cast(labels.at(index), ir::DType::I64);
    const Expr inside = ir::min(ir::max(label, 0), Expr(shape[1] - 1));
    const Expr weight = node.has(2) ? node.input(2).at({inside}) : ir::literal(1, scores.dtype());
    return ignores ? ir::select(label == ignored, zero, weight) : weight;
  };
  const auto loss_of = [&](const std::vector<Expr>& index) {
    const Expr label = ir::cast(labels.at(index), ir::DType::I64);
    std::vector<Expr> at = index;
    at.insert(at.begin() + 1, ir::min(ir::max(label, 0), Expr(shape[1] - 1)));
    const Expr loss = -(scores.at(at) * weight_of(index));
    return ignores ? ir::select(label == ignored, zero, loss) : loss;
  };
  if (reduction == "none") {
    return ir::compute(node.name, extents(places),
                       [&](std::span<const Axis> axes) { return ir::Definition(loss_of(as_exprs(axes))); });
  }
  const auto total = [&](const std::string& name, auto&& term) {
    return ir::compute(name, {}, [&](std::span<const Axis>) {
      std::vector<Axis> r;
      for (std::size_t i = 0; i < places.size(); ++i) r.push_back(ir::reduce("r" + std::to_string(i), places[i]));
      return ir::sum(term(as_exprs(r)), r);
    });
  };
  if (reduction == "sum") return total(node.name, loss_of);
  const Tensor loss = total(node.name + "_loss", loss_of), weight = total(node.name + "_weight", weight_of);
  return ir::compute(node.name, {}, [&](std::span<const Axis>) { return ir::Definition(loss() / weight()); });
}

}  // namespace

std::vector<Tensor> build_nll_loss(const Node& node) { return {nll(node, node.input(0))}; }

std::vector<Tensor> build_softmax_cross_entropy(const Node& node) {
  if (node.input(0).shape().size() < 2) invalid(node, "the scores must have rank 2 or more");
  const Tensor logarithms = log_softmax(node.input(0), {1}, node.name + "_log_prob");
  return {nll(node, logarithms), logarithms};
}

}  // namespace temper::ops
