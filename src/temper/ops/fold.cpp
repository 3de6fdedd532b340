// Constant folding: operators that only exist at import, and every other one by evaluating its definition.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "temper/ir/oracle.h"
#include "temper/ops/registry.h"
#include "temper/support/error.h"

namespace temper::ops {
namespace {

TensorValue integers(const std::vector<std::int64_t>& values, bool scalar = false) {
  std::vector<std::int64_t> shape;
  if (!scalar) shape.push_back(static_cast<std::int64_t>(values.size()));
  return TensorValue::from_integers({ir::DType::I64, std::move(shape)}, values);
}

TensorValue fold_constant(const Node& node) {
  const Attributes& a = *node.attributes;
  if (a.has("value")) return a.tensor("value");
  if (a.has("value_int")) return integers({a.integer("value_int")}, true);
  if (a.has("value_ints")) return integers(a.integers("value_ints"));
  if (a.has("value_float")) return TensorValue::from_numbers({ir::DType::F32, {}}, {a.number("value_float", 0)});
  if (a.has("value_floats")) {
    const std::vector<double> values = a.numbers("value_floats", {});
    return TensorValue::from_numbers({ir::DType::F32, {static_cast<std::int64_t>(values.size())}}, values);
  }
  unsupported(node, "this kind of constant is not supported", "supported are value, value_int(s) and value_float(s)");
}

TensorValue fold_shape(const Node& node) {
  const std::vector<std::int64_t> shape = node.input(0).shape();
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto bound = [&](std::string_view name, std::int64_t if_absent) {
    const std::int64_t value = node.attributes->integer(name, if_absent);
    return std::clamp<std::int64_t>(value < 0 ? value + rank : value, 0, rank);
  };
  const std::int64_t start = bound("start", 0), end = std::max(start, bound("end", rank));
  return integers({shape.begin() + start, shape.begin() + end});
}

TensorValue fold_constant_of_shape(const Node& node) {
  TensorType type{ir::DType::F32, node.value(0).integers()};
  for (std::int64_t size : type.shape) {
    if (size < 0) invalid(node, "the shape has the size " + std::to_string(size));
  }
  if (!node.attributes->has("value")) {
    return TensorValue::from_numbers(type, std::vector<double>(static_cast<std::size_t>(type.elements()), 0));
  }
  const TensorValue& fill = node.attributes->tensor("value");
  if (fill.type.elements() != 1) invalid(node, "the value must be one element");
  type.dtype = fill.type.dtype;
  const auto count = static_cast<std::size_t>(type.elements());
  if (ir::is_float(type.dtype)) return TensorValue::from_numbers(type, std::vector<double>(count, fill.numbers()[0]));
  return TensorValue::from_integers(type, std::vector<std::int64_t>(count, fill.integers()[0]));
}

TensorValue fold_range(const Node& node) {
  const TensorValue &start = node.value(0), &limit = node.value(1), &delta = node.value(2);
  if (start.type.elements() != 1 || limit.type.elements() != 1 || delta.type.elements() != 1)
    invalid(node, "start, limit and delta must be scalars");
  const double first = start.numbers()[0], step = delta.numbers()[0];
  if (step == 0) invalid(node, "delta is 0");
  const auto count = static_cast<std::int64_t>(std::max(0.0, std::ceil((limit.numbers()[0] - first) / step)));
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<double>(i) * step;
  return TensorValue::from_numbers({start.type.dtype, {count}}, values);
}

struct Importer {
  std::string_view op;
  int inputs;
  TensorValue (*fold)(const Node& node);
};
constexpr Importer kImporters[] = {
    {"Constant", 0, fold_constant},
    {"ConstantOfShape", 1, fold_constant_of_shape},
    {"Range", 3, fold_range},
    {"Shape", 1, fold_shape},
    {"Size", 1, [](const Node& node) { return integers({type_of(node.input(0)).elements()}, true); }},
};

}  // namespace

bool always_folds(std::string_view op) {
  return std::any_of(std::begin(kImporters), std::end(kImporters),
                     [&](const Importer& entry) { return entry.op == op; });
}

std::vector<TensorValue> fold(const Node& node) {
  for (const Importer& entry : kImporters) {
    if (entry.op != node.op) continue;
    if (static_cast<int>(node.inputs.size()) != entry.inputs) {
      invalid(node, "it has " + std::to_string(node.inputs.size()) + " inputs, not " + std::to_string(entry.inputs));
    }
    return {entry.fold(node)};
  }
  // Fresh placeholders: the given tensors may be stages of other definitions, or one tensor read twice.
  Node known = node;
  ir::Inputs data;
  known.name = "folded";
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.has(i)) continue;
    const TensorValue& value = node.value(i);
    const std::string name = "in" + std::to_string(i);
    known.inputs[i].tensor = ir::constant(name, extents(value.type.shape), value.type.dtype);
    data.emplace(name, std::span<const std::byte>(*value.bytes));
  }
  const std::vector<ir::Tensor> outputs = build(known);
  const ir::Compute compute = ir::make_compute(outputs);
  ir::Oracle oracle(compute, data);
  std::vector<TensorValue> values;
  for (const ir::Tensor& output : outputs) {
    const TensorType type = type_of(output);
    values.push_back(ir::is_float(type.dtype)
                         ? TensorValue::from_numbers(type, oracle.all(*output.stage(), output.component()))
                         : TensorValue::from_integers(type, oracle.all_integers(*output.stage(), output.component())));
  }
  return values;
}

}  // namespace temper::ops
