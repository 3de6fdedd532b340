#include "temper/space/structure.h"

#include <algorithm>
#include <functional>

#include "temper/analysis/affine.h"
#include "temper/ir/visit.h"
#include "temper/target/cpu.h"

namespace temper::space {

std::vector<ir::Expr> loads_of(const ir::Stage& stage) {
  std::vector<ir::Expr> out;
  for (const ir::Expr& expr : ir::expressions(stage)) {
    ir::for_each_node(expr, [&](const ir::Expr& e) {
      if (e->kind == ir::ExprKind::Load) out.push_back(e);
    });
  }
  return out;
}

bool is_axis(const ir::Expr& index, const ir::Axis& axis) {
  return index->kind == ir::ExprKind::Var && index->axis == axis;
}

namespace {

using analysis::Affine;
using analysis::VarKind;
using analysis::VarSpace;

bool is_output(const ir::Compute& compute, const ir::StagePtr& stage) {
  return std::find(compute.outputs.begin(), compute.outputs.end(), stage) != compute.outputs.end();
}

struct AxisForms {
  VarSpace vars;
  std::vector<ir::Axis> axes;
  std::vector<Affine> forms;
  explicit AxisForms(const ir::Stage& stage) {
    for (const auto* list : {&stage.axes, &stage.reduce_axes}) {
      for (const ir::Axis& axis : *list) {
        axes.push_back(axis);
        forms.push_back(Affine::of(vars.add(axis.name(), {0, std::max<std::int64_t>(axis.extent().value() - 1, 0)})));
      }
    }
  }
  std::optional<Affine> form(const ir::Expr& expr) {
    return analysis::to_affine(
        expr,
        [&](const ir::AxisNode* node) -> const Affine* {
          for (std::size_t i = 0; i < axes.size(); ++i) {
            if (axes[i].get() == node) return &forms[i];
          }
          return nullptr;
        },
        vars);
  }
  analysis::Var var(std::size_t axis) const { return forms[axis].terms.empty() ? -1 : forms[axis].terms[0].var; }
};

Dependence dependence(const AxisForms& forms, const Affine& index, std::size_t axis, std::int64_t& divisor) {
  const analysis::Var var = forms.var(axis);
  if (!forms.vars.depends_on(index, var)) return Dependence::None;
  if (index == forms.forms[axis]) return Dependence::Direct;
  bool plain = false, blocked = false, periodic = false, other = false;
  for (const analysis::Term& term : index.terms) {
    if (term.var == var) {
      plain = true;
    } else if (forms.vars[term.var].kind != VarKind::Loop && forms.vars.depends_on(Affine::of(term.var), var)) {
      const auto& info = forms.vars[term.var];
      if (info.kind == VarKind::FloorDiv && info.operand == forms.forms[axis]) {
        blocked = true;
        divisor = info.divisor;
      } else if (info.kind == VarKind::Mod && info.operand - Affine(info.operand.constant) == forms.forms[axis]) {
        periodic = true;
        divisor = info.divisor;
      } else {
        other = true;
      }
    }
  }
  if (other || plain + blocked + periodic > 1) return Dependence::Other;
  return blocked ? Dependence::Blocked : periodic ? Dependence::Periodic : Dependence::Scaled;
}

Dependence join(Dependence a, Dependence b) {
  if (a == Dependence::None) return b;
  if (b == Dependence::None) return a;
  return a == b ? a : Dependence::Other;
}

/// Whether `load` reads its stage at exactly the reader's spatial axes.
bool is_identity(const ir::Expr& load, const ir::Stage& reader) {
  if (load->args.size() != reader.axes.size()) return false;
  for (std::size_t i = 0; i < load->args.size(); ++i) {
    if (load->args[i]->kind != ir::ExprKind::Var || !(load->args[i]->axis == reader.axes[i])) return false;
  }
  return true;
}

/// Whether a stage is read at places that are known only at run time: it must be in memory, as a whole.
bool is_looked_up(const ir::Compute& compute) {
  bool found = false;
  for (const ir::StagePtr& stage : compute.stages) {
    if (stage->kind != ir::StageKind::Compute) continue;
    for (const ir::Expr& load : loads_of(*stage)) {
      if (load->stage->kind != ir::StageKind::Compute) continue;
      for (const ir::Expr& index : load->args) {
        ir::for_each_node(index, [&](const ir::Expr& part) { found = found || part->kind == ir::ExprKind::Load; });
      }
    }
  }
  return found;
}

}  // namespace

std::vector<std::string> elementwise_stages(const ir::Compute& compute) {
  std::vector<std::string> out;
  for (const ir::StagePtr& stage : compute.stages) {
    if (stage->kind == ir::StageKind::Compute && !stage->is_reduction() && !is_output(compute, stage) &&
        stage->dtypes.size() == 1) {
      out.push_back(stage->name);
    }
  }
  return out;
}

std::optional<SingleReduction> single_reduction(const ir::Compute& compute) {
  if (compute.outputs.size() != 1 || is_looked_up(compute)) return std::nullopt;
  SingleReduction out;
  out.output = compute.outputs[0];
  for (const ir::StagePtr& stage : compute.stages) {
    if (stage->kind == ir::StageKind::Placeholder) continue;
    if (stage->dtypes.size() != 1) return std::nullopt;
    if (stage->is_reduction()) {
      if (out.reduction) return std::nullopt;
      out.reduction = stage;
    }
  }
  if (!out.reduction || out.reduction->axes.empty()) return std::nullopt;
  // From the reduction to the output every read is element for element.
  std::vector<const ir::Stage*> after{out.reduction.get()};
  for (const ir::StagePtr& stage : compute.stages) {
    if (stage->kind == ir::StageKind::Placeholder || stage == out.reduction) continue;
    bool reads = false;
    for (const ir::Expr& load : loads_of(*stage)) {
      if (std::find(after.begin(), after.end(), load->stage.get()) == after.end()) continue;
      if (!is_identity(load, *stage)) return std::nullopt;
      reads = true;
    }
    if (reads) after.push_back(stage.get());
    if (stage != out.output) out.elementwise.push_back(stage->name);
  }
  if (out.output != out.reduction && std::find(after.begin(), after.end(), out.output.get()) == after.end())
    return std::nullopt;

  AxisForms forms(*out.reduction);
  const std::size_t rank = out.rank(), axes = forms.axes.size();
  for (const ir::Axis& axis : forms.axes) out.extents.push_back(axis.extent().value());
  out.window.assign(axes - rank, false);
  out.conditioned.assign(axes, false);
  for (const ir::Expr& where : out.reduction->where) {
    ir::for_each_node(where, [&](const ir::Expr& e) {
      for (std::size_t a = 0; a < axes; ++a) {
        if (e->kind == ir::ExprKind::Var && e->axis == forms.axes[a]) out.conditioned[a] = true;
      }
    });
  }
  for (const ir::Expr& body : out.reduction->body) {
    ir::for_each_node(body, [&](const ir::Expr& load) {
      if (load->kind != ir::ExprKind::Load) return;
      auto known = std::find_if(out.operands.begin(), out.operands.end(),
                                [&](const Operand& o) { return o.stage.get() == load->stage.get(); });
      if (known == out.operands.end()) {
        out.operands.push_back({load->stage,
                                std::vector<Dependence>(axes, Dependence::None),
                                std::vector<std::int64_t>(axes, 0),
                                -1,
                                -1,
                                {},
                                {}});
        known = out.operands.end() - 1;
      }
      known->direct.assign(load->args.size(), -1);
      known->steps.assign(load->args.size(), std::vector<std::int64_t>(axes, 0));
      for (std::size_t i = 0; i < load->args.size(); ++i) {
        const std::optional<Affine> index = forms.form(load->args[i]);
        std::vector<std::size_t> spatial, reduce;
        for (std::size_t a = 0; a < axes; ++a) {
          if (!index) {
            known->axes[a] = Dependence::Other;
            continue;
          }
          if (forms.var(a) >= 0) known->steps[i][a] = index->coefficient(forms.var(a));
          const Dependence d = dependence(forms, *index, a, known->divisor[a]);
          if (d == Dependence::None) continue;
          known->axes[a] = join(known->axes[a], d);
          if (d == Dependence::Direct) known->direct[i] = static_cast<int>(a);
          if (d != Dependence::Blocked) (a < rank ? spatial : reduce).push_back(a);
        }
        if (!spatial.empty()) {
          for (std::size_t r : reduce) out.window[r - rank] = true;
        }
        if (index && i + 1 == load->args.size()) {
          for (std::size_t a = 0; a < axes; ++a) {
            const std::int64_t step = forms.var(a) >= 0 ? index->coefficient(forms.var(a)) : 0;
            if (step >= 1 && step <= target::kShortStride) {
              bool only_here = true;
              for (std::size_t j = 0; j + 1 < load->args.size(); ++j) {
                const std::optional<Affine> other = forms.form(load->args[j]);
                only_here = only_here && other && !forms.vars.depends_on(*other, forms.var(a));
              }
              if (!only_here) continue;
              if (a < rank && known->near_axis < 0) known->near_axis = static_cast<int>(a);
              if (step > 1) continue;
              if (known->unit_stride_axis < 0 || a < rank) known->unit_stride_axis = static_cast<int>(a);
              if (a < rank) break;
            }
          }
        }
      }
    });
  }
  return out;
}

std::optional<RowReductions> row_reductions(const ir::Compute& compute) {
  if (compute.outputs.size() != 1 || is_looked_up(compute)) return std::nullopt;
  RowReductions out;
  out.output = compute.outputs[0];
  std::vector<ir::StagePtr> reductions;
  for (const ir::StagePtr& stage : compute.stages) {
    if (stage->kind == ir::StageKind::Compute && stage->is_reduction()) {
      if (stage->reduce_axes.size() != 1 || !stage->where.empty() || stage == out.output) return std::nullopt;
      reductions.push_back(stage);
    }
  }
  if (reductions.empty()) return std::nullopt;
  const std::size_t rank = out.output->axes.size();
  out.row_axes = reductions[0]->axes.size();
  if (out.row_axes == 0 || (rank != out.row_axes && rank != out.row_axes + 1)) return std::nullopt;
  out.has_columns = rank == out.row_axes + 1;
  out.columns = reductions[0]->reduce_axes[0].extent().value();
  if (out.has_columns && out.output->axes.back().extent().value() != out.columns) return std::nullopt;
  for (const ir::StagePtr& stage : reductions) {
    if (stage->axes.size() != out.row_axes || stage->reduce_axes[0].extent().value() != out.columns)
      return std::nullopt;
    for (std::size_t i = 0; i < out.row_axes; ++i) {
      if (stage->axes[i].extent().value() != out.output->axes[i].extent().value()) return std::nullopt;
    }
    out.reductions.push_back(stage->name);
  }
  for (const ir::StagePtr& stage : compute.stages) {
    if (stage->kind != ir::StageKind::Compute || stage->is_reduction() || stage == out.output) continue;
    if (stage->dtypes.size() != 1) return std::nullopt;
    std::vector<ir::StagePtr> readers;
    for (const ir::StagePtr& reader : compute.stages) {
      if (reader->kind != ir::StageKind::Compute) continue;
      for (const ir::Expr& load : loads_of(*reader)) {
        if (load->stage == stage) {
          readers.push_back(reader);
          break;
        }
      }
    }
    bool after_reduction = false;
    for (const ir::Expr& load : loads_of(*stage))
      after_reduction = after_reduction || load->stage->kind == ir::StageKind::Compute;
    if (stage->axes.size() == out.row_axes && after_reduction) {
      out.per_row.push_back(stage->name);
    } else if (stage->axes.size() == out.row_axes + 1 && readers.size() > 1 && after_reduction &&
               readers.front()->is_reduction()) {
      out.shared.push_back(stage->name);
      out.sharer.push_back(readers.front()->name);
    } else {
      out.inlined.push_back(stage->name);
    }
  }
  return out;
}

}  // namespace temper::space
