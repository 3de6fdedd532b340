#include "temper/space/generic_template.h"

#include <algorithm>

#include "temper/ir/visit.h"

namespace temper::space {

using schedule::Loop;
using schedule::Schedule;
using schedule::Scope;
using schedule::Tail;

namespace {

/// Whether reading the stage in place of its value costs no more than the read itself: no elementary function, at most
/// one reader that is not elementwise itself.
bool worth_inlining(const Schedule& s, int stage) {
  const ir::Stage& definition = *s[stage].definition;
  if (definition.kind == ir::StageKind::Placeholder || definition.is_reduction() || definition.dtypes.size() != 1 ||
      s.is_output(stage))
    return false;
  bool costly = false;
  for (const ir::Expr& body : definition.body) {
    ir::for_each_node(body, [&](const ir::Expr& e) {
      const bool cheap = e->kind != ir::ExprKind::Unary || e->unary == ir::UnaryOp::Neg ||
                         e->unary == ir::UnaryOp::Abs || e->unary == ir::UnaryOp::Not;
      costly = costly || !cheap;
    });
  }
  int readers = 0;
  bool reduction_reads = false, opaque = false;
  for (std::size_t i = 0; i < s.stages().size(); ++i) {
    const std::vector<int> reads = schedule::reads_of(s, static_cast<int>(i));
    if (std::find(reads.begin(), reads.end(), stage) == reads.end()) continue;
    ++readers;
    reduction_reads = reduction_reads || s.stages()[i].definition->is_reduction();
    for (const ir::Expr& expr : ir::expressions(*s.stages()[i].definition)) {
      ir::for_each_node(expr, [&](const ir::Expr& e) {
        if (e->kind != ir::ExprKind::Load || e->stage != s[stage].definition) return;
        for (const ir::Expr& index : e->args) {
          ir::for_each_node(index, [&](const ir::Expr& part) { opaque = opaque || part->kind == ir::ExprKind::Load; });
        }
      });
    }
  }
  return !opaque && (!costly || (readers == 1 && !reduction_reads));
}

/// Whether some read of the stage has `axis` alone, with coefficient one, in its last index.
bool contiguous_along(const ir::Stage& stage, const ir::Axis& axis) {
  bool found = false;
  for (const ir::Expr& expr : ir::expressions(stage)) {
    ir::for_each_node(expr, [&](const ir::Expr& e) {
      if (e->kind != ir::ExprKind::Load || e->args.empty()) return;
      ir::for_each_node(e->args.back(), [&](const ir::Expr& part) {
        found = found || (part->kind == ir::ExprKind::Var && part->axis == axis);
      });
    });
  }
  return found;
}

}  // namespace

void apply_generic(Schedule& s, Knobs& knobs, const target::Target& target) {
  const std::int64_t native = target.vector_bytes / 4;
  std::vector<std::int64_t> widths;
  for (std::int64_t v = 4; v <= std::min<std::int64_t>(2 * native, 64); v *= 2) widths.push_back(v);
  const std::int64_t width = knobs.choice("vector", widths, native);
  const std::int64_t unroll = knobs.choice("unroll", {1, 2, 4}, 1);
  const std::int64_t reduce_unroll = knobs.choice("reduce_unroll", {1, 2, 4}, 1);
  if (knobs.declaring()) return;

  const std::vector<int> order = schedule::topological_order(s);
  std::vector<std::string> computed;
  for (int stage : order) {
    if (s[stage].is_placeholder()) continue;
    if (worth_inlining(s, stage)) {
      s.compute_inline(s[stage].definition->name);
    } else {
      computed.push_back(s[stage].definition->name);
    }
  }
  for (const std::string& name : computed) {
    const ir::StagePtr definition = s[s.stage(name)].definition;
    if (definition->axes.empty() && !definition->is_reduction()) continue;
    const bool reduction = definition->is_reduction();
    const std::string local = reduction ? s.cache_write(name) : std::string();
    std::vector<Loop> axes = s.loops(name);
    const bool spatial_vector = !axes.empty() && definition->axes.back().extent().value() > 1 &&
                                (!reduction || contiguous_along(*definition, definition->axes.back()) ||
                                 !contiguous_along(*definition, definition->reduce_axes.back()));
    const std::int64_t extent = axes.empty() ? 1 : definition->axes.back().extent().value();
    std::int64_t w = width;
    while (w > 4 && w >= 2 * extent) w /= 2;
    std::vector<Loop> outer(axes.begin(), axes.end());
    if (spatial_vector) {
      outer.pop_back();
      const std::vector<Loop> parts = s.split(axes.back(), {unroll, w}, Tail::Mask);
      outer.push_back(parts[0]);
      s.vectorize(parts[2]);
      s.unroll(parts[1]);
    }
    if (!outer.empty()) {
      const Loop fused = s.fuse(outer);
      s.parallel(fused);
      if (reduction) s.compute_at(local, fused);
    }
    if (!reduction) continue;
    if (outer.empty()) continue;
    s.set_scope(local, Scope::Register);
    std::vector<Loop> inner = s.loops(local);
    const std::size_t rank = definition->axes.size();
    std::vector<Loop> nest;
    const bool reduce_vector = !spatial_vector && definition->reducer->associative &&
                               definition->reducer->commutative &&
                               contiguous_along(*definition, definition->reduce_axes.back()) &&
                               definition->reduce_axes.back().extent().value() >= 4;
    for (std::size_t i = rank; i + 1 < inner.size(); ++i) nest.push_back(inner[i]);
    std::vector<Loop> to_unroll;
    Loop lanes{};
    if (reduce_vector) {
      std::int64_t rw = width;
      while (rw > 4 && rw >= 2 * definition->reduce_axes.back().extent().value()) rw /= 2;
      const std::vector<Loop> parts = s.split(inner.back(), {reduce_unroll, rw}, Tail::Mask);
      nest.push_back(parts[0]);
      nest.push_back(parts[1]);
      nest.push_back(parts[2]);
      to_unroll.push_back(parts[1]);
      lanes = parts[2];
      // Lanes of the reduction stay inside the loops over elements, of which there is one here.
      std::vector<Loop> spatial(inner.begin(), inner.begin() + static_cast<std::ptrdiff_t>(rank));
      for (const Loop& loop : spatial) to_unroll.push_back(loop);
    } else {
      const std::vector<Loop> parts = s.split(inner.back(), {reduce_unroll}, Tail::Peel);
      nest.push_back(parts[0]);
      nest.push_back(parts[1]);
      to_unroll.push_back(parts[1]);
      for (std::size_t a = 0; a < rank; ++a) {
        if (spatial_vector && a + 1 == rank) {
          const std::vector<Loop> pieces = s.split(inner[a], {w}, Tail::Mask);
          nest.push_back(pieces[0]);
          nest.push_back(pieces[1]);
          to_unroll.push_back(pieces[0]);
          lanes = pieces[1];
        } else {
          nest.push_back(inner[a]);
          to_unroll.push_back(inner[a]);
        }
      }
      s.reorder(nest);
    }
    if (lanes.stage >= 0) s.vectorize(lanes);
    for (const Loop& loop : to_unroll) s.unroll(loop);
  }
}

}  // namespace temper::space
