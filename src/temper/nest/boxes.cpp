#include "temper/nest/boxes.h"

#include <algorithm>
#include <functional>
#include <unordered_set>

namespace temper::nest {

namespace {

constexpr std::int64_t kMostChosenBodies = 64;

/// Collects the reads of one stage. Reads of inlined stages are followed with their axes bound to the index forms.
class Collector {
 public:
  using Bindings = std::vector<std::pair<const ir::AxisNode*, std::optional<Affine>>>;

  Collector(const schedule::Schedule& schedule, VarSpace& vars, StageForms& forms)
      : schedule_(schedule), vars_(vars), forms_(forms) {}

  /// Collects `expr`; its producers go to `producers`.
  void collect(const ir::Expr& expr, const Bindings& bindings, std::vector<int>& producers) {
    producers_ = &producers;
    Seen seen;
    collect(expr, bindings, seen);
  }

  static analysis::AxisValue lookup(const Bindings& bindings) {
    return [&bindings](const ir::AxisNode* axis) -> const Affine* {
      for (const auto& [node, form] : bindings) {
        if (node == axis) return form ? &*form : nullptr;
      }
      return nullptr;
    };
  }

 private:
  using Seen = std::unordered_set<const ir::ExprNode*>;  ///< shared nodes are collected once

  void collect(const ir::Expr& expr, const Bindings& bindings, Seen& seen) {
    if (expr->args.empty() && expr->kind != ir::ExprKind::Load) return;
    if (!seen.insert(expr.get()).second) return;
    if (expr->kind == ir::ExprKind::Load) read(expr, bindings);
    if (expr->kind == ir::ExprKind::Select) choose(expr->args[0], bindings);
    for (const ir::Expr& arg : expr->args) collect(arg, bindings, seen);
  }

  void choose(const ir::Expr& condition, const Bindings& bindings) {
    const auto conditions = analysis::to_conditions(condition, lookup(bindings), vars_);
    for (const Condition& part : conditions.value_or(std::vector<Condition>{})) {
      if (part.equality) continue;
      const bool known = std::any_of(forms_.choices.begin(), forms_.choices.end(),
                                     [&](const Condition& other) { return other.form == part.form; });
      if (!known && !analysis::decide(part, vars_)) forms_.choices.push_back(part);
    }
  }

  int index_of(const ir::Stage* stage) const {
    for (std::size_t i = 0; i < schedule_.stages().size(); ++i) {
      if (schedule_.stages()[i].definition.get() == stage) return static_cast<int>(i);
    }
    TEMPER_CHECK(false, "a stage reads a stage that is not in the schedule");
    return -1;
  }

  void read(const ir::Expr& load, const Bindings& bindings) {
    ReadForm form;
    form.producer = index_of(load->stage.get());
    const auto value = lookup(bindings);
    for (const ir::Expr& index : load->args) form.index.push_back(analysis::to_affine(index, value, vars_));
    const schedule::StageSchedule& producer = schedule_[form.producer];
    if (producer.compute.kind == schedule::PlacementKind::Inline) {
      Bindings inner;
      for (std::size_t i = 0; i < form.index.size(); ++i)
        inner.emplace_back(producer.definition->axes[i].get(), form.index[i]);
      Seen seen;
      for (const ir::Expr& body : producer.definition->body) collect(body, inner, seen);
      return;
    }
    if (std::find(producers_->begin(), producers_->end(), form.producer) == producers_->end())
      producers_->push_back(form.producer);
    for (const ReadForm& known : forms_.reads) {
      if (known.producer == form.producer && known.index == form.index) return;
    }
    forms_.reads.push_back(std::move(form));
  }

  const schedule::Schedule& schedule_;
  VarSpace& vars_;
  StageForms& forms_;
  std::vector<int>* producers_ = nullptr;
};

/// Bodies that cuts at the choices alone give a stage, each axis cut apart from the others.
std::int64_t bodies_of(const StageForms& forms, VarSpace& vars) {
  std::int64_t bodies = 1;
  for (const Var axis : forms.axis_vars) {
    const auto cuts = std::count_if(forms.choices.begin(), forms.choices.end(),
                                    [&](const Condition& c) { return vars.depends_on(c.form, axis); });
    bodies = std::min(bodies * (2 * cuts + 1), kMostChosenBodies + 1);
  }
  return bodies;
}

}  // namespace

std::vector<StageForms> stage_forms(const schedule::Schedule& schedule, VarSpace& vars) {
  std::vector<StageForms> all(schedule.stages().size());
  for (std::size_t s = 0; s < all.size(); ++s) {
    const schedule::StageSchedule& stage = schedule.stages()[s];
    if (stage.is_placeholder() || stage.compute.kind == schedule::PlacementKind::Inline) continue;
    StageForms& forms = all[s];
    Collector::Bindings bindings;
    for (const auto* list : {&stage.definition->axes, &stage.definition->reduce_axes}) {
      for (const ir::Axis& axis : *list) {
        const Var var = vars.add(axis.name(), {0, std::max<std::int64_t>(axis.extent().value() - 1, 0)});
        forms.axis_vars.push_back(var);
        bindings.emplace_back(axis.get(), Affine::of(var));
      }
    }
    Collector collector(schedule, vars, forms);
    for (const auto* list : {&stage.definition->body, &stage.definition->where}) {
      for (const ir::Expr& expr : *list) collector.collect(expr, bindings, forms.producers);
    }
    for (const ir::Expr& expr : stage.definition->init) collector.collect(expr, bindings, forms.init_producers);
    if (bodies_of(forms, vars) > kMostChosenBodies) forms.choices.clear();
    const auto value = Collector::lookup(bindings);
    for (std::size_t i = 0; i < stage.definition->where.size(); ++i) {
      if (auto conditions = analysis::to_conditions(stage.definition->where[i], value, vars)) {
        for (Condition& condition : *conditions) {
          // What the axes' own extents imply needs no check.
          if (analysis::decide(condition, vars) != true) forms.conditions.push_back(std::move(condition));
        }
      } else {
        forms.opaque.push_back(static_cast<int>(i));
      }
    }
  }
  return all;
}

Range box_of(const Affine& form, const std::vector<Range>& axes, const std::vector<Var>& axis_vars, VarSpace& vars) {
  Range out{Affine(form.constant), 1};
  for (const analysis::Term& term : form.terms) {
    Range part;
    const auto axis = std::find(axis_vars.begin(), axis_vars.end(), term.var);
    if (axis != axis_vars.end()) {
      part = axes[static_cast<std::size_t>(axis - axis_vars.begin())];
    } else if (vars[term.var].kind == analysis::VarKind::Loop) {
      part = {Affine::of(term.var), 1};
    } else {
      const auto info = vars[term.var];
      const Range operand = box_of(info.operand, axes, axis_vars, vars);
      const Affine rest = vars.mod(operand.base, info.divisor);
      const std::int64_t last = vars.range(rest).hi + operand.extent - 1;
      if (info.kind == analysis::VarKind::FloorDiv) {
        part = {vars.floor_div(operand.base, info.divisor), last / info.divisor + 1};
      } else if (operand.extent == 1 || last < info.divisor) {
        part = {rest, operand.extent};
      } else {
        part = {Affine(0), info.divisor};
      }
    }
    if (term.coefficient > 0) {
      out.base.add_scaled(part.base, term.coefficient);
      out.extent += term.coefficient * (part.extent - 1);
    } else {
      out.base.add_scaled(part.base + Affine(part.extent - 1), term.coefficient);
      out.extent += -term.coefficient * (part.extent - 1);
    }
  }
  return out;
}

void unite(std::vector<Range>& box, const std::vector<Range>& other, const std::vector<std::int64_t>& domain) {
  if (box.empty()) {
    box = other;
    return;
  }
  for (std::size_t i = 0; i < box.size(); ++i) {
    const Affine difference = other[i].base - box[i].base;
    if (!difference.is_constant()) {
      box[i] = {Affine(0), domain[i]};
      continue;
    }
    const std::int64_t lo = std::min<std::int64_t>(0, difference.constant);
    const std::int64_t hi = std::max(box[i].extent, difference.constant + other[i].extent);
    box[i].base += Affine(lo);
    box[i].extent = hi - lo;
  }
}

}  // namespace temper::nest
