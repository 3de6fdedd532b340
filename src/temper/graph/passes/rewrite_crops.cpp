// CenterCropPad, AffineGrid and Dropout in terms of simpler operators.
#include <algorithm>
#include <numeric>
#include <string>

#include "temper/graph/passes/rewrite.h"
#include "temper/support/error.h"

namespace temper::graph {
namespace {

[[noreturn]] void invalid(const Node& node, const std::string& what) {
  throw Error(ErrorCode::InvalidModel, what, node.op);
}

std::vector<std::int64_t> constant_integers(const Graph& graph, const Node& node, std::size_t input) {
  if (input >= node.inputs.size() || node.inputs[input] == kAbsent)
    invalid(node, "input " + std::to_string(input) + " is missing");
  const Value& value = graph.value(node.inputs[input]);
  if (!value.is_constant()) {
    throw Error(ErrorCode::Unsupported,
                "input " + std::to_string(input) + " is computed by the model; its value must be constant", node.op,
                "fix the input shapes, so that it can be computed ahead, or bind the input with --constant");
  }
  return value.data->integers();
}

}  // namespace

void rewrite_center_crop_pad(Graph& graph, Node& node, std::vector<Node>& before) {
  const std::vector<std::int64_t> wanted = constant_integers(graph, node, 1);
  const Sizes from = graph.sizes(node.inputs[0]);
  std::vector<std::int64_t> axes(from.size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = node.attributes.integers("axes", axes);
  if (wanted.size() != axes.size()) invalid(node, "the shape must have one size for each axis");
  std::vector<std::int64_t> starts, ends, pads_before, pads_after;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0) axes[i] += static_cast<std::int64_t>(from.size());
    if (axes[i] < 0 || axes[i] >= static_cast<std::int64_t>(from.size())) invalid(node, "an axis does not exist");
    const std::int64_t have = from[static_cast<std::size_t>(axes[i])],
                       cut = std::max<std::int64_t>(0, have - wanted[i]),
                       more = std::max<std::int64_t>(0, wanted[i] - have);
    starts.push_back(cut / 2);
    ends.push_back(cut / 2 + std::min(have, wanted[i]));
    pads_before.push_back(more / 2);
    pads_after.push_back(more - more / 2);
  }
  pads_before.insert(pads_before.end(), pads_after.begin(), pads_after.end());
  const ValueId which = graph.add_integers(node.name + ".axes", axes);
  const ValueId cropped = graph.add_value(Value{node.name + ".cropped", graph.value(node.inputs[0]).dtype, {}, {}});
  before.push_back({"Slice",
                    18,
                    node.name + ".crop",
                    {node.inputs[0], graph.add_integers(node.name + ".starts", starts),
                     graph.add_integers(node.name + ".ends", ends), which},
                    {cropped},
                    {}});
  node.op = "Pad";
  node.opset = 18;
  node.inputs = {cropped, graph.add_integers(node.name + ".pads", pads_before), kAbsent, which};
  node.attributes = {};
}

void rewrite_affine_grid(Graph& graph, Node& node, std::vector<Node>& before) {
  const std::vector<std::int64_t> size = constant_integers(graph, node, 1);
  if (size.size() != 4 && size.size() != 5) invalid(node, "the size must have 4 or 5 numbers");
  const bool aligned = node.attributes.integer("align_corners", 0) != 0;
  const std::size_t pixels = size.size() - 2;
  const ir::DType dtype = graph.value(node.inputs[0]).dtype;
  // Homogeneous places of all pixels, the last axis first.
  std::int64_t count = 1;
  for (std::size_t d = 0; d < pixels; ++d) count *= size[2 + d];
  std::vector<double> places;
  for (std::int64_t pixel = 0; pixel < count; ++pixel) {
    std::int64_t rest = pixel;
    for (std::size_t d = pixels; d-- > 0; rest /= size[2 + d]) {
      const auto extent = static_cast<double>(size[2 + d]), at = static_cast<double>(rest % size[2 + d]);
      const double edge = size[2 + d] == 1 ? 0 : -1 + 2 * at / (extent - 1);
      places.push_back(aligned ? edge : (2 * at + 1) / extent - 1);
    }
    places.push_back(1);
  }
  const auto width = static_cast<std::int64_t>(pixels) + 1;
  const ValueId table =
      graph.add_constant(node.name + ".places", ops::TensorValue::from_numbers({dtype, {count, width}}, places));
  const ValueId turned = graph.add_value(Value{node.name + ".turned", dtype, {}, {}}),
                flat = graph.add_value(Value{node.name + ".flat", dtype, {}, {}});
  ops::Attributes order;
  order.set("perm", std::vector<std::int64_t>{0, 2, 1});
  before.push_back({"Transpose", 13, node.name + ".turn", {node.inputs[0]}, {turned}, order});
  before.push_back({"MatMul", 13, node.name + ".product", {table, turned}, {flat}, {}});
  std::vector<std::int64_t> shape{size[0]};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  shape.push_back(static_cast<std::int64_t>(pixels));
  node.op = "Reshape";
  node.opset = 14;
  node.inputs = {flat, graph.add_integers(node.name + ".shape", shape)};
  node.attributes = {};
}

void rewrite_dropout(Graph& graph, Node& node, std::vector<Node>&) {
  if (node.inputs.empty() || node.inputs[0] == kAbsent) return;
  const auto is_zero = [&](std::size_t input) {
    if (input >= node.inputs.size() || node.inputs[input] == kAbsent) return false;
    const Value& value = graph.value(node.inputs[input]);
    return value.is_constant() && value.data->type.elements() == 1 && value.data->numbers()[0] == 0;
  };
  const bool may_train = node.inputs.size() > 2 && node.inputs[2] != kAbsent && !is_zero(2);
  for (const std::size_t input : {std::size_t{2}, std::size_t{1}}) {
    if (!may_train || node.inputs[input] == kAbsent || graph.value(node.inputs[input]).is_constant()) continue;
    throw Error(ErrorCode::Unsupported,
                "input " + std::to_string(input) + " is computed by the model; its value must be constant", node.op,
                "bind it with --constant");
  }
  // Nothing is dropped at a ratio of 0, training or not.
  if (is_zero(1)) node.inputs.resize(1);
  if ((may_train && node.inputs.size() > 1) || node.outputs.size() < 2 || node.outputs[1] == kAbsent) return;
  // The mask of inference: everything is kept.
  const ir::DType dtype = node.opset < 10 ? graph.value(node.inputs[0]).dtype : ir::DType::Bool;
  const Sizes sizes = graph.sizes(node.inputs[0]);
  const std::vector<double> ones(static_cast<std::size_t>(element_count(sizes)), 1.0);
  graph.set_type(node.outputs[1], dtype, sizes);
  graph.value(node.outputs[1]).data = ops::TensorValue::from_numbers({dtype, sizes}, ones);
  node.outputs.resize(1);
}

}  // namespace temper::graph
