#include "temper/graph/parts.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "temper/ir/strides.h"

namespace temper::graph {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

/// An index of the form begin + step * axis; a step of 0: the same for all.
struct AxisIndex {
  int axis = -1;
  std::int64_t begin = 0, step = 0;
};

std::optional<AxisIndex> axis_index(const ir::Expr& e, const std::vector<ir::Axis>& axes) {
  if (e->kind == ir::ExprKind::Int) return AxisIndex{-1, e->int_value, 0};
  if (e->kind == ir::ExprKind::Var) {
    const auto axis = std::find(axes.begin(), axes.end(), e->axis);
    if (axis == axes.end()) return std::nullopt;
    return AxisIndex{static_cast<int>(axis - axes.begin()), 0, 1};
  }
  if (e->kind != ir::ExprKind::Binary) return std::nullopt;
  const auto left = axis_index(e->args[0], axes), right = axis_index(e->args[1], axes);
  if (!left || !right) return std::nullopt;
  if (e->binary == ir::BinaryOp::Mul && (left->step == 0 || right->step == 0)) {
    const AxisIndex& scaled = left->step == 0 ? *right : *left;
    const std::int64_t factor = left->step == 0 ? left->begin : right->begin;
    return AxisIndex{scaled.axis, scaled.begin * factor, scaled.step * factor};
  }
  if (e->binary == ir::BinaryOp::Add && (left->step == 0 || right->step == 0)) {
    const AxisIndex& moving = left->step == 0 ? *right : *left;
    return AxisIndex{moving.axis, left->begin + right->begin, moving.step};
  }
  return std::nullopt;
}

/// Where elements lie: from `offset` on, `strides[i]` elements apart along axis i.
struct Layout {
  std::int64_t offset = 0;
  Sizes strides;
};

/// Where a stage finds its elements when all that it does is to pick them from a placeholder of these strides, forwards
/// along the axes of both.
std::optional<Layout> picked(const ir::Stage& stage, const Sizes& strides) {
  if (stage.is_reduction() || stage.body.size() != 1 || stage.body[0]->kind != ir::ExprKind::Load) return std::nullopt;
  const ir::ExprNode& load = *stage.body[0];
  if (load.stage->kind != ir::StageKind::Placeholder || load.args.size() != stage.axes.size()) return std::nullopt;
  Layout layout;
  for (std::size_t i = 0; i < load.args.size(); ++i) {
    const auto place = axis_index(load.args[i], stage.axes);
    if (!place || place->step < 0 || (place->axis >= 0 && index(place->axis) != i)) return std::nullopt;
    if (place->step == 0 && stage.axes[i].extent().value() != 1) return std::nullopt;
    layout.offset += place->begin * strides[i];
    layout.strides.push_back(place->step * strides[i]);
  }
  return layout;
}

/// Rows that are shorter are copied: they are neither read nor written by whole vectors.
constexpr std::int64_t kShortestRow = 32;  ///< bytes

/// Elements that lie without gaps.
std::int64_t row_of(const Sizes& sizes, const Sizes& given) {
  std::int64_t elements = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (given[i] != elements) break;
    elements *= sizes[i];
  }
  return elements;
}

class Placement {
 public:
  Placement(const Program& program, const std::vector<Group>& groups, const std::vector<BoundWorkload>& workloads)
      : program_(program),
        graph_(program.graph),
        groups_(groups),
        workloads_(workloads),
        computed_(graph_.values.size(), false),
        is_part_(graph_.values.size(), false) {
    plan_.needless.resize(groups.size(), false);
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      const auto id = static_cast<ValueId>(i);
      aliases_[storage_of(program, id)].push_back(id);
    }
    for (const BoundWorkload& work : workloads) {
      for (const ValueId id : work.outputs) computed_[index(id)] = true;
      for (std::size_t i = 0; i < work.values.size(); ++i)
        add_use(work, work.values[i], *work.work.compute.stage(work.operands[i]));
      for (std::size_t i = 0; i < work.outputs.size(); ++i)
        add_use(work, work.outputs[i], *work.work.compute.outputs[i]);
    }
  }

  PartPlan run() {
    // Outer concatenations first: then it is known where inner ones lie.
    for (std::size_t g = groups_.size(); g-- > 0;) {
      if (is_lone(g, "Concat")) join(g);
    }
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (is_lone(g, "Slice") || is_lone(g, "Split")) cut(g);
    }
    return std::move(plan_);
  }

 private:
  /// A part that may come to be.
  struct Candidate {
    Part part;
    Sizes strides;  ///< of `part.value`
  };

  void add_use(const BoundWorkload& work, ValueId id, const ir::Stage& stage) {
    if (!has_any_shape(work)) shapes_[id].push_back(stage.shape());
  }

  Sizes strides_of(ValueId id) const {
    const auto found = plan_.strides.find(id);
    return found == plan_.strides.end() ? ir::row_major_strides(graph_.sizes(id)) : found->second;
  }

  /// Whether everything that computes or reads a storage can do so where it has these strides.
  bool admits(ValueId storage, const Sizes& given) const {
    const Sizes sizes = graph_.sizes(storage);
    if (is_row_major(sizes, given)) return true;
    if (row_of(sizes, given) * ir::bytes(graph_.value(storage).dtype) < kShortestRow) return false;
    return std::ranges::all_of(aliases_.at(storage), [&](ValueId id) {
      const Sizes alias = graph_.sizes(id);
      const auto of_alias = reshaped_strides(sizes, given, alias);
      const auto shapes = shapes_.find(id);
      return of_alias && (shapes == shapes_.end() || std::ranges::all_of(shapes->second, [&](const Sizes& shape) {
                            return reshaped_strides(alias, *of_alias, shape).has_value();
                          }));
    });
  }

  const Node& node(std::size_t g) const { return graph_.nodes[index(groups_[g].nodes[0])]; }
  bool is_lone(std::size_t g, std::string_view op) const { return groups_[g].nodes.size() == 1 && node(g).op == op; }

  void join(std::size_t g) {
    const Node& concat = node(g);
    const ValueId whole = concat.outputs[0];
    const Sizes steps = strides_of(whole);
    std::int64_t axis = concat.attributes.integer("axis", 1);
    if (axis < 0) axis += static_cast<std::int64_t>(steps.size());
    std::vector<Candidate> parts;
    std::int64_t offset = 0;
    for (const ValueId id : concat.inputs) {
      const Sizes sizes = graph_.sizes(id);
      const ValueId storage = storage_of(program_, id);
      const bool is_wanted_twice =
          std::ranges::any_of(parts, [&](const Candidate& other) { return other.part.value == storage; });
      if (!computed_[index(storage)] || is_part_[index(storage)] || is_wanted_twice) return;
      if (element_count(sizes) == 0) return;
      const auto given = reshaped_strides(sizes, steps, graph_.sizes(storage));
      if (!given || !admits(storage, *given)) return;
      parts.push_back({{storage, whole, offset, true}, *given});
      offset += sizes[index(axis)] * steps[index(axis)];
    }
    accept(g, parts);
  }

  void cut(std::size_t g) {
    const BoundWorkload& work = workloads_[g];
    const ValueId whole = node(g).inputs[0];
    if (graph_.value(storage_of(program_, whole)).is_constant()) return;
    std::vector<Candidate> parts;
    for (std::size_t i = 0; i < work.outputs.size(); ++i) {
      const ValueId id = work.outputs[i];
      const Sizes sizes = graph_.sizes(id);
      const auto layout = picked(*work.work.compute.outputs[i], strides_of(whole));
      if (is_part_[index(id)] || element_count(sizes) == 0 || !layout) return;
      const auto given = reshaped_strides(sizes, layout->strides, sizes);
      if (!given || !admits(id, *given)) return;
      parts.push_back({{id, whole, layout->offset, false}, *given});
    }
    accept(g, parts);
  }

  void accept(std::size_t g, const std::vector<Candidate>& parts) {
    for (const auto& [part, given] : parts) {
      is_part_[index(part.value)] = true;
      plan_.parts.push_back(part);
      const Sizes sizes = graph_.sizes(part.value);
      if (is_row_major(sizes, given)) continue;
      for (const ValueId id : aliases_.at(part.value))
        plan_.strides[id] = *reshaped_strides(sizes, given, graph_.sizes(id));
    }
    plan_.needless[g] = true;
  }

  const Program& program_;
  const Graph& graph_;
  const std::vector<Group>& groups_;
  const std::vector<BoundWorkload>& workloads_;
  std::vector<bool> computed_, is_part_;             ///< by value: whether a step writes it; whether it is placed
  std::map<ValueId, std::vector<ValueId>> aliases_;  ///< of each storage: itself, and the views of it
  std::map<ValueId, std::vector<Sizes>> shapes_;     ///< as which definitions see a value, where that is not up to them
  PartPlan plan_;
};

}  // namespace

PartPlan place_parts(const Program& program, const std::vector<Group>& groups,
                     const std::vector<BoundWorkload>& workloads) {
  return Placement(program, groups, workloads).run();
}

}  // namespace temper::graph
