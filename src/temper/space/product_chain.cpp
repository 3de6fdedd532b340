// The structure of two products in a row (`ProductChain`).
#include <algorithm>

#include "temper/ir/visit.h"
#include "temper/space/structure.h"

namespace temper::space {

namespace {

bool mentions(const ir::Expr& load, const ir::Axis& axis) {
  bool found = false;
  ir::for_each_node(load, [&](const ir::Expr& e) { found = found || is_axis(e, axis); });
  return found;
}

bool reads_at(const ir::Expr& load, const std::vector<ir::Axis>& axes) {
  return std::equal(load->args.begin(), load->args.end(), axes.begin(), axes.end(), is_axis);
}

/// The leading axes of a row stage: all of them, or all but the last of a stage over rows and columns.
std::vector<ir::Axis> leading(const std::vector<ir::Axis>& axes, std::size_t count) {
  return {axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(count)};
}

class ChainReader {
 public:
  explicit ChainReader(const ir::Compute& compute) : compute_(compute) {}

  std::optional<ProductChain> run() {
    if (compute_.outputs.size() != 1) return std::nullopt;
    chain_.output = compute_.outputs[0];
    for (const ir::StagePtr& stage : compute_.stages) {
      if (stage->kind == ir::StageKind::Placeholder) continue;
      if (stage->dtypes.size() != 1 || !stage->where.empty() || !stage->init.empty()) return std::nullopt;
      if (stage->is_reduction() && stage->reduce_axes.size() != 1) return std::nullopt;
      if (!take(stage)) return std::nullopt;
    }
    if (!chain_.second || chain_.rows.empty() || chain_.output_axes.empty()) return std::nullopt;
    return std::move(chain_);
  }

 private:
  std::size_t rank() const { return chain_.first->axes.size(); }
  bool is_row(const ir::Stage* stage) const {
    return std::find(chain_.rows.begin(), chain_.rows.end(), stage->name) != chain_.rows.end();
  }

  /// Terms that are products of two elements.
  static bool is_product(const ir::Stage& stage) {
    if (!stage.is_reduction() || stage.body.size() != 1) return false;
    const ir::Expr& body = stage.body[0];
    return body->kind == ir::ExprKind::Binary && body->binary == ir::BinaryOp::Mul &&
           body->args[0]->kind == ir::ExprKind::Load && body->args[1]->kind == ir::ExprKind::Load;
  }

  bool take(const ir::StagePtr& stage) {
    if (!chain_.first) return stage->is_reduction() ? take_first(stage) : take_scaled(stage);
    if (stage == chain_.output) return take_output(stage);
    if (chain_.weights && is_product(*stage)) return take_second(stage);
    const bool over_rows = stage->axes.size() + 1 == rank();
    if (over_rows) return take_row(stage);
    return take_elementwise(stage);
  }

  /// A stage over one placeholder, element for element; `take_first` sees that it is the queries.
  bool take_scaled(const ir::StagePtr& stage) {
    if (!chain_.scaled.empty()) return false;
    chain_.scaled = stage->name;
    const std::vector<ir::Expr> loads = loads_of(*stage);
    return std::all_of(loads.begin(), loads.end(), [&](const ir::Expr& load) {
      return load->stage->kind == ir::StageKind::Placeholder && load->args.size() == stage->axes.size() &&
             reads_at(load, stage->axes);
    });
  }

  bool take_first(const ir::StagePtr& stage) {
    if (!is_product(*stage) || stage->axes.size() < 2) return false;
    const ir::Axis &i = stage->axes[stage->axes.size() - 2], &j = stage->axes.back(), &d = stage->reduce_axes[0];
    for (const ir::Expr& load : stage->body[0]->args) {
      if (!mentions(load, d)) return false;
      if (load->stage->kind != ir::StageKind::Placeholder && !mentions(load, i)) return false;
      if (mentions(load, i) && !mentions(load, j)) chain_.queries = load->stage;
      if (mentions(load, j) && !mentions(load, i)) chain_.keys = load->stage;
      // The queries are turned with vectors along d.
      if (mentions(load, i) && !is_axis(load->args.back(), d)) return false;
    }
    chain_.first = stage;
    return chain_.queries && chain_.keys && chain_.queries != chain_.keys &&
           (chain_.scaled.empty() || chain_.queries->name == chain_.scaled);
  }

  /// `scores` comes first, `weights` is the last one.
  bool take_elementwise(const ir::StagePtr& stage) {
    if (stage->is_reduction() || stage->axes.size() != rank()) return false;
    for (const ir::Expr& load : loads_of(*stage)) {
      if (load->stage->kind == ir::StageKind::Placeholder) continue;
      const bool aligned =
          is_row(load->stage.get()) ? reads_at(load, leading(stage->axes, rank() - 1)) : reads_at(load, stage->axes);
      const bool follows = is_row(load->stage.get()) || load->stage == (chain_.scores ? chain_.scores : chain_.first);
      if (!aligned || !follows) return false;
    }
    if (!chain_.scores) {
      chain_.scores = stage;
      return chain_.rows.empty();
    }
    if (chain_.weights) return false;
    chain_.weights = stage;
    return !chain_.rows.empty();
  }

  bool take_row(const ir::StagePtr& stage) {
    if (!chain_.scores) return false;
    for (const ir::Expr& load : loads_of(*stage)) {
      if (is_row(load->stage.get())) {
        if (!reads_at(load, stage->axes)) return false;
        continue;
      }
      if (load->stage != chain_.scores && load->stage != chain_.weights) return false;
      std::vector<ir::Axis> axes = stage->axes;
      if (!stage->is_reduction()) return false;
      axes.push_back(stage->reduce_axes[0]);
      if (!reads_at(load, axes)) return false;
      if (load->stage == chain_.scores && chain_.rows.empty()) chain_.scorer = stage->name;
      if (load->stage == chain_.weights && chain_.sharer.empty()) chain_.sharer = stage->name;
    }
    chain_.rows.push_back(stage->name);
    return true;
  }

  bool take_second(const ir::StagePtr& stage) {
    if (chain_.second || stage->axes.size() != rank()) return false;
    const ir::Axis &i = stage->axes[rank() - 2], &d = stage->axes.back(), &j = stage->reduce_axes[0];
    bool weighs = false;
    for (const ir::Expr& load : stage->body[0]->args) {
      if (load->stage == chain_.weights) {
        std::vector<ir::Axis> axes = leading(stage->axes, rank() - 1);
        axes.push_back(j);
        weighs = reads_at(load, axes);
      } else if (load->stage->kind == ir::StageKind::Placeholder && !mentions(load, i) &&
                 is_axis(load->args.back(), d)) {
        chain_.values = load->stage;
      }
    }
    chain_.second = stage;
    return weighs && chain_.values;
  }

  bool take_output(const ir::StagePtr& stage) {
    if (!chain_.second || stage->is_reduction() || stage->axes.size() != rank()) return false;
    // Element for element: what `second` is read at names each axis of the output once, vectors staying innermost.
    for (const ir::Expr& load : loads_of(*stage)) {
      if (load->stage != chain_.second) continue;
      chain_.output_axes.assign(rank(), -1);
      for (std::size_t a = 0; a < rank(); ++a) {
        for (std::size_t o = 0; o < rank(); ++o) {
          if (is_axis(load->args[a], stage->axes[o])) chain_.output_axes[a] = static_cast<int>(o);
        }
      }
    }
    if (chain_.output_axes.empty()) return false;
    std::vector<int> sorted = chain_.output_axes;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t a = 0; a < rank(); ++a) {
      if (sorted[a] != static_cast<int>(a)) return false;
    }
    if (chain_.output_axes.back() != static_cast<int>(rank()) - 1) return false;
    std::vector<ir::Axis> row;
    for (std::size_t a = 0; a + 1 < rank(); ++a)
      row.push_back(stage->axes[static_cast<std::size_t>(chain_.output_axes[a])]);
    return std::all_of(stage->body.begin(), stage->body.end(), [&](const ir::Expr& body) {
      bool aligned = true;
      ir::for_each_node(body, [&](const ir::Expr& e) {
        if (e->kind != ir::ExprKind::Load || e->stage->kind == ir::StageKind::Placeholder) return;
        aligned = aligned && (e->stage == chain_.second || (is_row(e->stage.get()) && reads_at(e, row)));
      });
      return aligned;
    });
  }

  const ir::Compute& compute_;
  ProductChain chain_;
};

}  // namespace

std::optional<ProductChain> product_chain(const ir::Compute& compute) { return ChainReader(compute).run(); }

}  // namespace temper::space
