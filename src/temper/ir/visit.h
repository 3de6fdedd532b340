// Walking and rewriting expression trees.
#pragma once

#include <functional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "temper/ir/compute.h"

namespace temper::ir {

/// Calls `visit(node)` once for each distinct node below `root`, children before parents.
template <class Visit>
void for_each_node(const Expr& root, Visit&& visit) {
  std::unordered_set<const ExprNode*> seen;
  auto walk = [&](auto&& self, const Expr& e) -> void {
    if (!seen.insert(e.get()).second) return;
    for (const Expr& child : e->args) self(self, child);
    visit(e);
  };
  walk(walk, root);
}

/// Every expression of a stage's definition: body, init, where (not the reducer's own).
std::vector<Expr> expressions(const Stage& stage);

/// Rebuilds `root` bottom-up: `replace(node)` sees each node with its children already rewritten and returns the
/// replacement, or an empty Expr to keep it. Nodes that do not change are shared with the original; changed parents are
/// rebuilt through the simplifying constructors of expr.h.
Expr rewrite(const Expr& root, const std::function<Expr(const Expr&)>& replace);

/// Replaces axes by expressions.
Expr substitute(const Expr& root, const std::vector<std::pair<Axis, Expr>>& values);

/// Exact equality of trees: same operations, literals, axes (identity) and stages (identity).
bool same(const Expr& a, const Expr& b);

}  // namespace temper::ir
