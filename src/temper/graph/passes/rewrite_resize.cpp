// The coordinates and weights are those of the ONNX specification of Resize; cubic ones are of Keys, "Cubic convolution
// interpolation for digital image processing", 1981.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "temper/graph/passes/rewrite.h"
#include "temper/support/error.h"

namespace temper::graph {
namespace {

struct AxisSizes {
  std::int64_t from = 1, to = 1;
  double scale = 1;
  double crop_begin = 0, crop_end = 1;
  bool resized = false;
};

struct Modes {
  std::string interpolation, coordinates, rounding;
  bool antialias = false, exclude_outside = false;
  double cubic = -0.75;
};

[[noreturn]] void invalid(const std::string& what) { throw Error(ErrorCode::InvalidModel, what, "Resize"); }

const ops::TensorValue* contents(const Graph& graph, const Node& node, std::size_t input) {
  if (input >= node.inputs.size() || node.inputs[input] == kAbsent) return nullptr;
  const Value& value = graph.value(node.inputs[input]);
  if (!value.is_constant()) {
    throw Error(ErrorCode::Unsupported,
                "input " + std::to_string(input) + " is computed by the model; its value must be constant", "Resize",
                "fix the input shapes, so that it can be computed ahead, or bind the input with --constant");
  }
  return value.data->type.elements() == 0 ? nullptr : &*value.data;
}

std::vector<AxisSizes> read_sizes(const Graph& graph, const Node& node) {
  const Sizes from = graph.sizes(node.inputs[0]);
  std::vector<AxisSizes> axes(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) axes[i].from = axes[i].to = from[i];
  std::vector<std::int64_t> which(from.size());
  std::iota(which.begin(), which.end(), 0);
  which = node.attributes.integers("axes", which);
  for (std::int64_t& axis : which) {
    if (axis < 0) axis += static_cast<std::int64_t>(from.size());
    if (axis < 0 || axis >= static_cast<std::int64_t>(from.size())) invalid("an axis does not exist");
  }
  const ops::TensorValue *roi = contents(graph, node, 1), *scales = contents(graph, node, 2),
                         *sizes = contents(graph, node, 3);
  const ops::TensorValue* given = sizes != nullptr ? sizes : scales;
  if (given == nullptr || given->type.elements() != static_cast<std::int64_t>(which.size()))
    invalid("sizes or scales must have one value for each resized axis");
  std::vector<double> numbers = given->numbers();
  if (sizes != nullptr) {
    const std::string policy = node.attributes.text("keep_aspect_ratio_policy", "stretch");
    std::vector<double> factors;
    for (std::size_t i = 0; i < which.size(); ++i)
      factors.push_back(numbers[i] / static_cast<double>(from[static_cast<std::size_t>(which[i])]));
    if (policy != "stretch") {
      const double factor = policy == "not_larger" ? *std::min_element(factors.begin(), factors.end())
                                                   : *std::max_element(factors.begin(), factors.end());
      for (std::size_t i = 0; i < which.size(); ++i)
        numbers[i] = std::floor(factor * static_cast<double>(from[static_cast<std::size_t>(which[i])]) + 0.5);
      factors.assign(factors.size(), factor);
    }
    for (std::size_t i = 0; i < which.size(); ++i) axes[static_cast<std::size_t>(which[i])].scale = factors[i];
  }
  for (std::size_t i = 0; i < which.size(); ++i) {
    AxisSizes& axis = axes[static_cast<std::size_t>(which[i])];
    if (sizes == nullptr) axis.scale = numbers[i];
    // A scale is a float: its product with a size may miss a whole number by the rounding of the float.
    axis.to = sizes != nullptr
                  ? static_cast<std::int64_t>(numbers[i])
                  : static_cast<std::int64_t>(std::floor(static_cast<double>(axis.from) * axis.scale + 1e-6));
    if (axis.to < 1) invalid("a size of the result is not positive");
    axis.resized = axis.to != axis.from || axis.scale != 1;
  }
  if (roi != nullptr && node.attributes.text("coordinate_transformation_mode", "") == "tf_crop_and_resize") {
    const std::vector<double> bounds = roi->numbers();
    if (bounds.size() != 2 * which.size()) invalid("roi must have two values for each resized axis");
    for (std::size_t i = 0; i < which.size(); ++i) {
      AxisSizes& axis = axes[static_cast<std::size_t>(which[i])];
      axis.crop_begin = bounds[i];
      axis.crop_end = bounds[i + which.size()];
      axis.resized = axis.resized || axis.crop_begin != 0 || axis.crop_end != 1;
    }
  }
  return axes;
}

/// Place in the input that an element of the output shows.
double coordinate(const std::string& mode, const AxisSizes& axis, std::int64_t place) {
  const auto x = static_cast<double>(place), from = static_cast<double>(axis.from), to = static_cast<double>(axis.to);
  if (mode == "asymmetric") return x / axis.scale;
  if (mode == "half_pixel") return (x + 0.5) / axis.scale - 0.5;
  if (mode == "pytorch_half_pixel") return axis.to == 1 ? 0 : (x + 0.5) / axis.scale - 0.5;
  if (mode == "half_pixel_symmetric") {
    const double adjustment = to / (axis.scale * from);
    return from / 2 * (1 - adjustment) + (x + 0.5) / axis.scale - 0.5;
  }
  if (mode == "align_corners") return axis.to == 1 ? 0 : x * (from - 1) / (axis.scale * from - 1);
  if (mode == "tf_crop_and_resize") {
    if (axis.to == 1) return 0.5 * (axis.crop_begin + axis.crop_end) * (from - 1);
    return axis.crop_begin * (from - 1) + x * (axis.crop_end - axis.crop_begin) * (from - 1) / (to - 1);
  }
  invalid("coordinate_transformation_mode '" + mode + "' is not known");
}

double cubic(double distance, double a) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

/// Row `place` of the matrix: weights of the input's elements.
std::vector<double> weights(const Modes& modes, const AxisSizes& axis, std::int64_t place) {
  const double at = coordinate(modes.coordinates, axis, place), base = std::floor(at), ratio = at - base;
  const bool is_cubic = modes.interpolation == "cubic";
  const double reach = is_cubic ? 2 : 1;
  const double stretch = modes.antialias ? std::min(axis.scale, 1.0) : 1;
  const auto first = static_cast<std::int64_t>(std::floor(-reach / stretch)) + 1;
  std::vector<double> row(static_cast<std::size_t>(axis.from), 0.0);
  double total = 0;
  for (std::int64_t tap = first; tap < 2 - first; ++tap) {
    const double distance = (static_cast<double>(tap) - ratio) * stretch;
    const double weight = is_cubic ? cubic(distance, modes.cubic) : std::max(0.0, 1 - std::abs(distance));
    const std::int64_t source = static_cast<std::int64_t>(base) + tap;
    if (modes.exclude_outside && (source < 0 || source >= axis.from)) continue;
    row[static_cast<std::size_t>(std::clamp<std::int64_t>(source, 0, axis.from - 1))] += weight;
    total += weight;
  }
  if (modes.antialias || modes.exclude_outside) {
    for (double& weight : row) weight /= total;
  }
  return row;
}

std::int64_t nearest(const Modes& modes, const AxisSizes& axis, std::int64_t place) {
  const double at = coordinate(modes.coordinates, axis, place);
  double chosen = 0;
  if (modes.rounding == "round_prefer_floor") {
    chosen = std::ceil(at - 0.5);
  } else if (modes.rounding == "round_prefer_ceil") {
    chosen = std::floor(at + 0.5);
  } else if (modes.rounding == "floor") {
    chosen = std::floor(at);
  } else if (modes.rounding == "ceil") {
    chosen = std::ceil(at);
  } else {
    invalid("nearest_mode '" + modes.rounding + "' is not known");
  }
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(chosen), 0, axis.from - 1);
}

/// Adds nodes and values, each with a name of its own.
class Steps {
 public:
  Steps(Graph& graph, const Node& node, std::vector<Node>& nodes) : graph_(graph), origin_(node), nodes_(nodes) {}

  ValueId add(const std::string& op, std::vector<ValueId> inputs, ops::Attributes attributes, ir::DType dtype) {
    Node node;
    node.op = op;
    node.opset = origin_.opset;
    node.name = origin_.name + "." + op + std::to_string(nodes_.size());
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    node.origins = origin_.origins;
    node.outputs = {graph_.add_value(Value{node.name, dtype, {}, {}})};
    nodes_.push_back(std::move(node));
    return nodes_.back().outputs[0];
  }
  ValueId constant(const std::string& role, ops::TensorValue value) {
    return graph_.add_constant(origin_.name + "." + role, std::move(value));
  }

 private:
  Graph& graph_;
  Node origin_;
  std::vector<Node>& nodes_;
};

ops::Attributes one(const std::string& name, ops::Attributes::Value value) {
  ops::Attributes attributes;
  attributes.set(name, std::move(value));
  return attributes;
}

/// Axis `axis` and the last one, exchanged.
std::vector<std::int64_t> exchange(std::size_t rank, std::size_t axis) {
  std::vector<std::int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[axis], order[rank - 1]);
  return order;
}

}  // namespace

void rewrite_resize(Graph& graph, Node& node, std::vector<Node>& before) {
  const ops::Attributes& a = node.attributes;
  if (node.opset < 11 || node.inputs.empty() || node.inputs[0] == kAbsent) return;
  Modes modes;
  modes.interpolation = a.text("mode", "nearest");
  modes.coordinates = a.text("coordinate_transformation_mode", "half_pixel");
  modes.rounding = a.text("nearest_mode", "round_prefer_floor");
  modes.antialias = a.integer("antialias", 0) != 0;
  modes.exclude_outside = a.integer("exclude_outside", 0) != 0;
  modes.cubic = a.number("cubic_coeff_a", -0.75);
  // With scales, the corners that are aligned may lie between two elements of the result.
  const bool aligned = modes.coordinates == "align_corners" && (node.inputs.size() < 4 || node.inputs[3] == kAbsent);
  const bool has_definition = !aligned && modes.coordinates != "tf_crop_and_resize" &&
                              modes.coordinates != "half_pixel_symmetric" &&
                              a.text("keep_aspect_ratio_policy", "stretch") == "stretch";
  if (has_definition && modes.interpolation == "nearest") return;
  if (has_definition && modes.interpolation == "linear" && !modes.antialias && !modes.exclude_outside) return;
  if (modes.interpolation != "nearest" && modes.interpolation != "linear" && modes.interpolation != "cubic")
    invalid("mode '" + modes.interpolation + "' is not known");
  const ir::DType dtype = graph.value(node.inputs[0]).dtype;
  if (modes.interpolation != "nearest" && !ir::is_float(dtype))
    throw Error(ErrorCode::Unsupported, "interpolation of integers", "Resize");

  const std::vector<AxisSizes> axes = read_sizes(graph, node);
  Steps steps(graph, node, before);
  ValueId running = node.inputs[0];
  std::vector<std::vector<bool>> outside(axes.size());  // whether an element of the result shows what is not there
  bool any_outside = false;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    const AxisSizes& axis = axes[d];
    outside[d].assign(static_cast<std::size_t>(axis.to), false);
    if (!axis.resized) continue;
    std::vector<double> matrix(static_cast<std::size_t>(axis.from * axis.to), 0.0);
    std::vector<std::int64_t> indices;
    for (std::int64_t i = 0; i < axis.to; ++i) {
      const double at = coordinate(modes.coordinates, axis, i);
      if (modes.coordinates == "tf_crop_and_resize" && (at < 0 || at > static_cast<double>(axis.from - 1)))
        any_outside = outside[d][static_cast<std::size_t>(i)] = true;
      if (modes.interpolation == "nearest") {
        indices.push_back(nearest(modes, axis, i));
        continue;
      }
      const std::vector<double> row = weights(modes, axis, i);
      for (std::int64_t k = 0; k < axis.from; ++k)
        matrix[static_cast<std::size_t>(k * axis.to + i)] = row[static_cast<std::size_t>(k)];
    }
    const std::string role = "axis" + std::to_string(d);
    if (modes.interpolation == "nearest") {
      const ValueId table = steps.constant(role, ops::TensorValue::from_integers({ir::DType::I64, {axis.to}}, indices));
      running = steps.add("Gather", {running, table}, one("axis", static_cast<std::int64_t>(d)), dtype);
      continue;
    }
    const ValueId table = steps.constant(role, ops::TensorValue::from_numbers({dtype, {axis.from, axis.to}}, matrix));
    const bool last = d + 1 == axes.size();
    const std::vector<std::int64_t> order = exchange(axes.size(), d);
    if (!last) running = steps.add("Transpose", {running}, one("perm", order), dtype);
    running = steps.add("MatMul", {running, table}, {}, dtype);
    if (!last) running = steps.add("Transpose", {running}, one("perm", order), dtype);
  }
  if (any_outside) {
    const ValueId fill =
        steps.constant("outside", ops::TensorValue::from_numbers({dtype, {}}, {a.number("extrapolation_value", 0)}));
    for (std::size_t d = 0; d < axes.size(); ++d) {
      Sizes shape(axes.size(), 1);
      shape[d] = axes[d].to;
      const std::vector<double> mask(outside[d].begin(), outside[d].end());
      if (std::count(mask.begin(), mask.end(), 1.0) == 0) continue;
      const ValueId condition =
          steps.constant("mask" + std::to_string(d), ops::TensorValue::from_numbers({ir::DType::Bool, shape}, mask));
      running = steps.add("Where", {condition, fill, running}, {}, dtype);
    }
  }
  node.op = "Identity";
  node.inputs = {running};
  node.attributes = {};
}

}  // namespace temper::graph
