#include "temper/ir/visit.h"

#include <bit>
#include <unordered_map>

#include "temper/ir/expr_build.h"

namespace temper::ir {

std::vector<Expr> expressions(const Stage& stage) {
  std::vector<Expr> all = stage.body;
  all.insert(all.end(), stage.init.begin(), stage.init.end());
  all.insert(all.end(), stage.where.begin(), stage.where.end());
  return all;
}

Expr rewrite(const Expr& root, const std::function<Expr(const Expr&)>& replace) {
  std::unordered_map<const ExprNode*, Expr> done;
  auto rebuild = [](const Expr& e, std::vector<Expr> args) -> Expr {
    switch (e->kind) {
      case ExprKind::Unary: return unary(e->unary, args[0]);
      case ExprKind::Binary: return binary(e->binary, args[0], args[1]);
      case ExprKind::Select: return select(args[0], args[1], args[2]);
      case ExprKind::Cast: return cast(args[0], e->dtype);
      case ExprKind::Load: return exact_load(e->stage, e->index, std::move(args));
      default: return e;
    }
  };
  auto walk = [&](auto&& self, const Expr& e) -> Expr {
    if (auto found = done.find(e.get()); found != done.end()) return found->second;
    std::vector<Expr> args;
    args.reserve(e->args.size());
    bool changed = false;
    for (const Expr& child : e->args) {
      args.push_back(self(self, child));
      changed |= args.back().get() != child.get();
    }
    Expr current = changed ? rebuild(e, std::move(args)) : e;
    if (Expr replaced = replace(current)) current = std::move(replaced);
    done.emplace(e.get(), current);
    return current;
  };
  return walk(walk, root);
}

Expr substitute(const Expr& root, const std::vector<std::pair<Axis, Expr>>& values) {
  return rewrite(root, [&](const Expr& e) -> Expr {
    if (e->kind != ExprKind::Var) return {};
    for (const auto& [axis, value] : values) {
      if (axis == e->axis) return value;
    }
    return {};
  });
}

bool same(const Expr& a, const Expr& b) {
  if (a.get() == b.get()) return true;
  if (!a || !b || a->kind != b->kind || a->dtype != b->dtype || a->args.size() != b->args.size()) return false;
  switch (a->kind) {
    case ExprKind::Int:
      if (a->int_value != b->int_value) return false;
      break;
    case ExprKind::Float:
      if (std::bit_cast<std::uint64_t>(a->float_value) != std::bit_cast<std::uint64_t>(b->float_value)) return false;
      break;
    case ExprKind::Var:
      if (!(a->axis == b->axis)) return false;
      break;
    case ExprKind::Param:
      if (a->index != b->index) return false;
      break;
    case ExprKind::Unary:
      if (a->unary != b->unary) return false;
      break;
    case ExprKind::Binary:
      if (a->binary != b->binary) return false;
      break;
    case ExprKind::Load:
      if (a->stage != b->stage || a->index != b->index) return false;
      break;
    case ExprKind::Select:
    case ExprKind::Cast: break;
  }
  for (std::size_t i = 0; i < a->args.size(); ++i) {
    if (!same(a->args[i], b->args[i])) return false;
  }
  return true;
}

}  // namespace temper::ir
