// Structural hash: stages and axes are identified by position, parameters by their place in the declaration.
#include "temper/support/hash.h"

#include <bit>
#include <unordered_map>

#include "temper/ir/compute.h"

namespace temper::ir {
namespace {

class Hasher {
 public:
  explicit Hasher(const Compute& compute) : compute_(compute) {}

  std::uint64_t run() {
    for (const Parameter& p : compute_.parameters) {
      add(static_cast<std::uint64_t>(p.min));
      add(static_cast<std::uint64_t>(p.max));
      add(static_cast<std::uint64_t>(p.divisor));
    }
    add(compute_.stages.size());
    for (std::size_t i = 0; i < compute_.stages.size(); ++i) {
      stage(*compute_.stages[i]);
      positions_.emplace(compute_.stages[i].get(), i);
    }
    for (const StagePtr& output : compute_.outputs) add(positions_[output.get()]);
    return hash_;
  }

 private:
  void add(std::uint64_t word) { hash_ = hash_combine(hash_, word); }

  void stage(const Stage& stage) {
    axes_.clear();
    done_.clear();
    add(static_cast<std::uint64_t>(stage.kind));
    add(static_cast<std::uint64_t>(stage.constant));
    add(stage.dtypes.size());
    for (DType dtype : stage.dtypes) add(static_cast<std::uint64_t>(dtype));
    axes(stage.axes);
    axes(stage.reduce_axes);
    add(static_cast<std::uint64_t>(stage.is_reduction()));
    if (stage.reducer) {
      const Reducer& r = *stage.reducer;
      add((r.associative ? 1U : 0U) | (r.commutative ? 2U : 0U) | (r.idempotent ? 4U : 0U));
      list(r.identity);
      list(r.combine);
    }
    list(stage.where);
    list(stage.init);
    list(stage.body);
    if (stage.strides.empty()) return;
    add(stage.strides.size());
    for (const std::int64_t stride : stage.strides) add(static_cast<std::uint64_t>(stride));
  }

  void axes(const std::vector<Axis>& axes) {
    add(axes.size());
    for (const Axis& axis : axes) {
      axes_.emplace(axis.get(), axes_.size());
      add(static_cast<std::uint64_t>(axis.extent().constant));
      add(axis.extent().terms.size());
      for (const auto& [name, coefficient] : axis.extent().terms) {
        std::size_t position = 0;
        while (position < compute_.parameters.size() && compute_.parameters[position].name != name) ++position;
        add(position);
        add(static_cast<std::uint64_t>(coefficient));
      }
    }
  }

  void list(const std::vector<Expr>& values) {
    add(values.size());
    for (const Expr& e : values) add(expr(e));
  }

  std::uint64_t expr(const Expr& e) {
    if (auto found = done_.find(e.get()); found != done_.end()) return found->second;
    std::uint64_t h = hash_combine(static_cast<std::uint64_t>(e->kind), static_cast<std::uint64_t>(e->dtype));
    switch (e->kind) {
      case ExprKind::Int: h = hash_combine(h, static_cast<std::uint64_t>(e->int_value)); break;
      case ExprKind::Float: h = hash_combine(h, std::bit_cast<std::uint64_t>(e->float_value)); break;
      case ExprKind::Var: h = hash_combine(h, axes_[e->axis.get()]); break;
      case ExprKind::Param: h = hash_combine(h, static_cast<std::uint64_t>(e->index)); break;
      case ExprKind::Unary: h = hash_combine(h, static_cast<std::uint64_t>(e->unary)); break;
      case ExprKind::Binary: h = hash_combine(h, static_cast<std::uint64_t>(e->binary)); break;
      case ExprKind::Load:
        h = hash_combine(h, positions_[e->stage.get()]);
        h = hash_combine(h, static_cast<std::uint64_t>(e->index));
        break;
      case ExprKind::Select:
      case ExprKind::Cast: break;
    }
    for (const Expr& child : e->args) h = hash_combine(h, expr(child));
    done_.emplace(e.get(), h);
    return h;
  }

  const Compute& compute_;
  std::uint64_t hash_ = 0;
  std::unordered_map<const Stage*, std::uint64_t> positions_;
  std::unordered_map<const AxisNode*, std::uint64_t> axes_;
  std::unordered_map<const ExprNode*, std::uint64_t> done_;
};

}  // namespace

std::uint64_t structural_hash(const Compute& compute) { return Hasher(compute).run(); }

}  // namespace temper::ir
