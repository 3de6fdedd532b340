#include "temper/graph/repetition.h"

#include "temper/graph/definition.h"
#include "temper/ir/visit.h"
#include "temper/ops/registry.h"

namespace temper::graph {
namespace {

/// `a` where `index` is axis / a for every value of the axis and reaches all `size` places; nothing otherwise.
std::optional<std::int64_t> times(const ir::Expr& index, const ir::Axis& axis, std::int64_t size) {
  const std::int64_t extent = axis.extent().value();
  if (extent % size != 0) return std::nullopt;
  const std::int64_t factor = extent / size;
  for (std::int64_t i = 0; i < extent; ++i) {
    const ir::Expr place = ir::substitute(index, {{axis, ir::Expr(i)}});
    if (place->kind != ir::ExprKind::Int || place->int_value != i / factor) return std::nullopt;
  }
  return factor;
}

}  // namespace

std::optional<Sizes> repetition(const Graph& graph, const Node& node) {
  if (node.outputs.size() != 1 || ops::find_operator(node.op)->kind != ops::OperatorClass::Movement)
    return std::nullopt;
  const std::vector<ir::Tensor> built = ops::build(bind_placeholders(graph, node));
  const ir::Stage& stage = *built.at(0).stage();
  if (stage.is_reduction() || stage.body.size() != 1 || stage.body[0]->kind != ir::ExprKind::Load) return std::nullopt;
  const ir::ExprNode& load = *stage.body[0];
  const Sizes from = graph.sizes(node.inputs[0]);
  if (load.stage->kind != ir::StageKind::Placeholder || load.stage->shape() != from || from.size() != stage.axes.size())
    return std::nullopt;
  Sizes result;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto factor = times(load.args[i], stage.axes[i], from[i]);
    if (!factor) return std::nullopt;
    result.push_back(*factor);
  }
  return result;
}

}  // namespace temper::graph
