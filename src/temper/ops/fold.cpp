// Constant folding: operators that only exist at import, and every other one by evaluating its definition.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>

#include "temper/ir/oracle.h"
#include "temper/ops/elementwise.h"
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

TensorValue fold_eye_like(const Node& node) {
  const TensorType like = type_of(node.input(0));
  if (like.shape.size() != 2) invalid(node, "the input must have rank 2");
  const ir::DType dtype =
      node.attributes->has("dtype") ? dtype_from_onnx(node, node.attributes->integer("dtype")) : like.dtype;
  const std::int64_t diagonal = node.attributes->integer("k", 0);
  std::vector<double> values;
  for (std::int64_t i = 0; i < like.shape[0]; ++i) {
    for (std::int64_t j = 0; j < like.shape[1]; ++j) values.push_back(j - i == diagonal ? 1 : 0);
  }
  return TensorValue::from_numbers({dtype, like.shape}, values);
}

/// A window for spectra: a0 - a1·cos(2πn/N) + a2·cos(4πn/N), N one less for a symmetric one.
TensorValue fold_window(const Node& node, double a0, double a1, double a2) {
  const std::vector<std::int64_t> sizes = node.value(0).integers();
  if (sizes.size() != 1 || sizes[0] < 1) invalid(node, "the size must be one positive number");
  if (node.attributes->integer("output_datatype", 1) != 1) unsupported(node, "only float (float32) is supported");
  const std::int64_t size = sizes[0], period = node.attributes->integer("periodic", 1) != 0 ? size : size - 1;
  std::vector<double> values;
  for (std::int64_t n = 0; n < size; ++n) {
    const double angle = period == 0 ? 0 : 2 * std::numbers::pi * static_cast<double>(n) / static_cast<double>(period);
    values.push_back(a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle));
  }
  return TensorValue::from_numbers({ir::DType::F32, {size}}, values);
}

struct Importer {
  std::string_view op;
  int inputs;
  TensorValue (*fold)(const Node& node);
};
constexpr Importer kImporters[] = {
    {"BlackmanWindow", 1, [](const Node& node) { return fold_window(node, 0.42, 0.5, 0.08); }},
    {"Constant", 0, fold_constant},
    {"ConstantOfShape", 1, fold_constant_of_shape},
    {"EyeLike", 1, fold_eye_like},
    {"HammingWindow", 1, [](const Node& node) { return fold_window(node, 25.0 / 46, 21.0 / 46, 0); }},
    {"HannWindow", 1, [](const Node& node) { return fold_window(node, 0.5, 0.5, 0); }},
    {"Range", 3, fold_range},
    {"Shape", 1, fold_shape},
    {"Size", 1, [](const Node& node) { return integers({type_of(node.input(0)).elements()}, true); }},
};

}  // namespace

bool always_folds(std::string_view op) {
  return std::any_of(std::begin(kImporters), std::end(kImporters),
                     [&](const Importer& entry) { return entry.op == op; });
}

std::vector<std::string_view> import_operators() {
  std::vector<std::string_view> names;
  for (const Importer& entry : kImporters) names.push_back(entry.op);
  std::sort(names.begin(), names.end());
  return names;
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
