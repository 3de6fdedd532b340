#include "temper/graph/generic_workload.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "temper/graph/definition.h"
#include "temper/ops/elementwise.h"
#include "temper/ops/indexing.h"
#include "temper/ops/registry.h"
#include "temper/support/error.h"
#include "temper/support/hash.h"

namespace temper::graph {
namespace {

/// Contents in a key: every element of a small tensor, a hash of a large one.
constexpr std::int64_t kPrintedElements = 16;

std::string type_text(const ops::TensorType& type) {
  std::string text = std::string(ir::to_string(type.dtype)) + "[";
  for (std::size_t i = 0; i < type.shape.size(); ++i) text += (i ? ";" : "") + std::to_string(type.shape[i]);
  return text + "]";
}

std::string contents_text(const ops::TensorValue& value) {
  if (value.type.elements() > kPrintedElements) return type_text(value.type) + "#" + to_hex(hash_bytes(*value.bytes));
  ops::Attributes numbers;
  if (ir::is_float(value.type.dtype)) {
    numbers.set("", value.numbers());
  } else {
    numbers.set("", value.integers());
  }
  // An attribute prints as name=value.
  return type_text(value.type) + numbers.canonical().substr(1);
}

/// Operators whose meaning, with equal attributes, differs between versions.
constexpr std::array<std::string_view, 3> kVersioned{"LogSoftmax", "Resize", "Softmax"};

bool is_elementwise(const Node& node) {
  return ops::find_operator(node.op)->kind == ops::OperatorClass::Elementwise && node.op != "BatchNormalization";
}

/// Shape of an operand and, where it lies among others, its strides.
struct Stored {
  Sizes sizes, strides;
};

/// Broadcast shapes of all operands with the axes merged that none of them tells apart, by shape or by strides.
class Collapse {
 public:
  Collapse(const Stored& full, const std::vector<Stored>& operands) : full_(full.sizes) {
    for (std::size_t axis = 0; axis < full_.size(); ++axis) {
      if (full_[axis] == 1) continue;
      const bool joins = !groups_.empty() && follows(full, axis) &&
                         std::all_of(operands.begin(), operands.end(), [&](const Stored& operand) {
                           return is_full(operand.sizes, axis) == is_full(operand.sizes, groups_.back().back()) &&
                                  follows(operand, axis);
                         });
      if (joins) {
        groups_.back().push_back(axis);
      } else {
        groups_.push_back({axis});
      }
    }
  }

  /// The collapsed shape of an operand, or of the result.
  Sizes apply(const Sizes& sizes) const {
    Sizes result;
    for (const std::vector<std::size_t>& group : groups_) {
      std::int64_t size = 1;
      for (const std::size_t axis : group) size *= is_full(sizes, axis) ? full_[axis] : 1;
      result.push_back(size);
    }
    if (result.empty()) result.push_back(1);
    return result;
  }

 private:
  /// Whether what lies along `axis` ends where the next step along the axis merged before it goes.
  bool follows(const Stored& operand, std::size_t axis) const {
    const std::size_t before = groups_.back().back(), missing = full_.size() - operand.sizes.size();
    if (operand.strides.empty() || before < missing || !is_full(operand.sizes, axis)) return true;
    return operand.strides[before - missing] == operand.strides[axis - missing] * full_[axis];
  }

  bool is_full(const Sizes& sizes, std::size_t axis) const {
    const std::size_t missing = full_.size() - sizes.size();
    return axis >= missing && sizes[axis - missing] != 1;
  }

  Sizes full_;
  std::vector<std::vector<std::size_t>> groups_;  ///< axes larger than 1, in runs that stay together
};

class Builder {
 public:
  Builder(const Graph& graph, const Group& group) : graph_(graph), group_(group) {
    for (const int n : group.nodes) {
      for (const ValueId id : node(n).outputs) {
        if (id != kAbsent) inside_.insert(id);
      }
    }
  }

  BoundWorkload build() {
    collect_operands();
    const Node& base = node(group_.nodes[0]);
    const bool elementwise = is_elementwise(base);
    if (elementwise) collapse();
    std::vector<ir::Tensor> outputs;
    if (elementwise) {
      outputs = {combined_stage()};
    } else {
      outputs = base_stages(base);
    }
    BoundWorkload bound;
    bound.outputs = output_values();
    std::vector<ir::Tensor> wanted;
    if (elementwise || group_.nodes.size() > 1) {
      wanted = outputs;
    } else {
      for (std::size_t i = 0; i < base.outputs.size(); ++i) {
        if (base.outputs[i] != kAbsent) wanted.push_back(outputs[i]);
      }
    }
    bound.work.compute = ir::make_compute(wanted);
    ir::verify(bound.work.compute);
    bound.work.op = elementwise ? kElementwise : lower_case(base.op);
    bound.work.fields = fields(base, elementwise, bound.work.compute);
    bound.work.flops = ops::flops(bound.work.compute);
    bound.work.tolerance = ops::tolerance_factor(bound.work.compute);
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (!is_read(bound.work.compute, operands_[i].second.tensor)) continue;
      bound.operands.push_back(operand_name(i));
      bound.values.push_back(operands_[i].first);
    }
    return bound;
  }

 private:
  const Node& node(int n) const { return graph_.nodes[static_cast<std::size_t>(n)]; }
  const Node& last() const { return node(group_.nodes.back()); }
  static std::string operand_name(std::size_t i) { return "in" + std::to_string(i); }
  static std::string lower_case(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
  }
  static bool is_read(const ir::Compute& compute, const ir::Tensor& tensor) {
    return compute.index_of(tensor.stage().get()) >= 0;
  }

  void collect_operands() {
    for (const int n : group_.nodes) {
      for (const ValueId id : node(n).inputs) {
        if (id == kAbsent || inside_.contains(id) || number_.contains(id)) continue;
        number_[id] = operands_.size();
        operands_.emplace_back(id, placeholder_operand(graph_, id, operand_name(operands_.size())));
      }
    }
  }

  void collapse() {
    const auto stored = [&](ValueId id) { return Stored{graph_.sizes(id), graph_.value(id).strides}; };
    std::vector<Stored> shapes;
    for (const auto& [id, operand] : operands_) shapes.push_back(stored(id));
    const Stored full = stored(last().outputs[0]);
    const Collapse plan(full, shapes);
    out_sizes_ = plan.apply(full.sizes);
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const Value& value = graph_.value(operands_[i].first);
      const std::vector<ir::Extent> shape = ops::extents(plan.apply(shapes[i].sizes));
      operands_[i].second.tensor = value.is_constant() ? ir::constant(operand_name(i), shape, value.dtype)
                                                       : ir::placeholder(operand_name(i), shape, value.dtype);
    }
  }

  ops::Node bound(const Node& n, const ir::Tensor& inside) const {
    return bind(n, [&](ValueId id) {
      return inside_.contains(id) ? ops::Operand{inside, nullptr} : operands_[number_.at(id)].second;
    });
  }

  /// The value of `id` at `index`; `base` is the tensor behind the first node's output, if that is a stage of its own.
  ir::Expr element(ValueId id, const std::vector<ir::Expr>& index, const ir::Tensor& base,
                   std::map<ValueId, ir::Expr>& known) const {
    if (!inside_.contains(id)) return ops::broadcast_read(operands_[number_.at(id)].second, index);
    if (const auto found = known.find(id); found != known.end()) return found->second;
    const Node& producer = producer_of(id);
    ir::Expr result;
    if (base.stage() && &producer == &node(group_.nodes[0])) {
      result = base.at(index);
    } else {
      std::vector<ir::Expr> operands;
      for (const ValueId input : producer.inputs) {
        operands.push_back(input == kAbsent ? ir::Expr() : element(input, index, base, known));
      }
      // Any tensor stands for what is inside the group: the formula asks only whether it is there.
      const ir::Tensor present = base.stage() ? base : operands_.front().second.tensor;
      result = ops::apply_elementwise(bound(producer, present), operands);
    }
    known.emplace(id, result);
    return result;
  }

  const Node& producer_of(ValueId id) const {
    for (const int n : group_.nodes) {
      const auto& outputs = node(n).outputs;
      if (std::find(outputs.begin(), outputs.end(), id) != outputs.end()) return node(n);
    }
    TEMPER_CHECK(false, "a value of the group has a producer in it");
  }

  ir::Tensor stage_out(const Sizes& sizes, const ir::Tensor& base) const {
    return ir::compute("out", ops::extents(sizes), [&](std::span<const ir::Axis> axes) {
      std::map<ValueId, ir::Expr> known;
      return ir::Definition(element(last().outputs[0], ops::as_exprs(axes), base, known));
    });
  }

  ir::Tensor combined_stage() const { return stage_out(out_sizes_, ir::Tensor()); }

  std::vector<ir::Tensor> base_stages(const Node& base) const {
    ops::Node b = bound(base, ir::Tensor());
    const bool followed = group_.nodes.size() > 1;
    b.name = followed ? "base" : "out";
    std::vector<ir::Tensor> built = ops::build(b);
    if (!followed) return built;
    return {stage_out(graph_.sizes(last().outputs[0]), built[0])};
  }

  std::vector<ValueId> output_values() const {
    if (group_.nodes.size() > 1) return {last().outputs[0]};
    std::vector<ValueId> values;
    for (const ValueId id : last().outputs) {
      if (id != kAbsent) values.push_back(id);
    }
    return values;
  }

  /// Operators in functional notation; the base node's output is "x" when it is a stage of its own.
  std::string expression(ValueId id, bool base_is_stage) const {
    if (!inside_.contains(id)) return operand_name(number_.at(id));
    const Node& producer = producer_of(id);
    if (base_is_stage && &producer == &node(group_.nodes[0])) return "x";
    std::string text = producer.op;
    if (!producer.attributes.all().empty()) text += "{" + producer.attributes.canonical() + "}";
    text += "(";
    for (std::size_t i = 0; i < producer.inputs.size(); ++i) {
      text += i ? ";" : "";
      text += producer.inputs[i] == kAbsent ? "-" : expression(producer.inputs[i], base_is_stage);
    }
    return text + ")";
  }

  std::vector<std::pair<std::string, std::string>> fields(const Node& base, bool elementwise,
                                                          const ir::Compute& compute) const {
    std::vector<std::pair<std::string, std::string>> result;
    if (!elementwise) {
      if (std::find(kVersioned.begin(), kVersioned.end(), base.op) != kVersioned.end()) {
        result.emplace_back("opset", std::to_string(base.opset));
      }
      result.emplace_back("attributes", base.attributes.canonical());
      result.emplace_back("layout", std::string(ops::to_string(base.layout)));
    }
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const auto& [id, operand] = operands_[i];
      const bool read = is_read(compute, operand.tensor);
      // One that the definition does not read is there for its contents, or for its type alone.
      const bool is_known = graph_.value(id).is_constant();
      std::string text =
          read || !is_known ? type_text(ops::type_of(operand.tensor)) : contents_text(*graph_.value(id).data);
      if (read && operand.tensor.stage()->constant) text = "const " + text;
      result.emplace_back(operand_name(i), std::move(text));
    }
    if (elementwise) {
      result.emplace_back("expr", expression(last().outputs[0], false));
    } else if (group_.nodes.size() > 1) {
      result.emplace_back("then", expression(last().outputs[0], true));
    }
    return result;
  }

  const Graph& graph_;
  const Group& group_;
  std::set<ValueId> inside_;
  std::vector<std::pair<ValueId, ops::Operand>> operands_;
  std::map<ValueId, std::size_t> number_;
  Sizes out_sizes_;
};

}  // namespace

BoundWorkload generic_workload(const Graph& graph, const Group& group) { return Builder(graph, group).build(); }

}  // namespace temper::graph
