// FLOPs and tolerance of any definition, whatever operators it came from.
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "temper/ops/registry.h"

namespace temper::ops {
namespace {

/// Floating arithmetic in a list of expressions, indices excluded; a shared node counts once.
double operations(const std::vector<ir::Expr>& roots) {
  std::unordered_set<const ir::ExprNode*> seen;
  double count = 0;
  auto walk = [&](auto&& self, const ir::Expr& e) -> void {
    if (!seen.insert(e.get()).second || e->kind == ir::ExprKind::Load) return;
    const bool arithmetic = e->kind == ir::ExprKind::Unary || e->kind == ir::ExprKind::Binary;
    if (arithmetic && ir::is_float(e->args[0].dtype())) count += 1;
    for (const ir::Expr& child : e->args) self(self, child);
  };
  for (const ir::Expr& root : roots) walk(walk, root);
  return count;
}

double product(const std::vector<ir::Axis>& axes) {
  double count = 1;
  for (const ir::Axis& axis : axes) count *= static_cast<double>(axis.extent().value());
  return count;
}

}  // namespace

double flops(const ir::Compute& compute) {
  double total = 0;
  for (const ir::StagePtr& stage : compute.stages) {
    if (stage->kind == ir::StageKind::Placeholder) continue;
    double per_term = operations(stage->body);
    if (stage->reducer) per_term += operations(stage->reducer->combine);
    total += per_term * product(stage->axes) * product(stage->reduce_axes);
  }
  return total;
}

double tolerance_factor(const ir::Compute& compute) {
  double longest = 1;
  for (const ir::StagePtr& stage : compute.stages) {
    if (stage->is_reduction()) longest = std::max(longest, product(stage->reduce_axes));
  }
  return 16 + 4 * std::sqrt(longest);
}

}  // namespace temper::ops
