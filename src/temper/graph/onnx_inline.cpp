#include "temper/graph/onnx_inline.h"

#include <map>
#include <string>
#include <utility>

#include "temper/support/error.h"

namespace temper::graph {
namespace {

bool is_branch(const onnx::NodeProto& node) {
  return node.op_type() == "If" && (node.domain().empty() || node.domain() == "ai.onnx");
}

const onnx::GraphProto& branch(const onnx::NodeProto& node, const std::string& name) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name && attribute.has_g()) return attribute.g();
  }
  throw Error(ErrorCode::InvalidModel, "it has no '" + name + "'", "node '" + node.name() + "' (If)");
}

void guard(onnx::NodeProto& node, const std::string& condition, bool holds) {
  if (node.op_type() == "Constant") return;  // needs nothing, and cannot fail
  node.add_input(condition);
  onnx::AttributeProto* guards = nullptr;
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.name() == kGuards) guards = &attribute;
  }
  if (guards == nullptr) {
    guards = node.add_attribute();
    guards->set_name(kGuards);
    guards->set_type(onnx::AttributeProto::INTS);
  }
  guards->add_ints(holds ? 1 : 0);
}

/// Moves a branch into `graph`; returns what its outputs are called there.
std::vector<std::string> move_into(onnx::GraphProto& graph, onnx::GraphProto inner, const std::string& prefix,
                                   const std::string& condition, bool holds) {
  inline_branches(inner);
  std::map<std::string, std::string> names;
  const auto define = [&](const std::string& name) {
    if (!name.empty()) names[name] = prefix + name;
  };
  for (const onnx::TensorProto& tensor : inner.initializer()) define(tensor.name());
  for (const onnx::NodeProto& node : inner.node()) {
    for (const std::string& name : node.output()) define(name);
  }
  const auto renamed = [&](const std::string& name) {
    const auto entry = names.find(name);
    return entry == names.end() ? name : entry->second;
  };
  for (onnx::TensorProto& tensor : *inner.mutable_initializer()) {
    tensor.set_name(renamed(tensor.name()));
    *graph.add_initializer() = std::move(tensor);
  }
  for (onnx::NodeProto& node : *inner.mutable_node()) {
    for (std::string& name : *node.mutable_input()) name = renamed(name);
    for (std::string& name : *node.mutable_output()) name = renamed(name);
    if (!node.name().empty()) node.set_name(prefix + node.name());
    guard(node, condition, holds);
    *graph.add_node() = std::move(node);
  }
  std::vector<std::string> outputs;
  for (const onnx::ValueInfoProto& output : inner.output()) outputs.push_back(renamed(output.name()));
  return outputs;
}

}  // namespace

bool has_branches(const onnx::GraphProto& graph) {
  for (const onnx::NodeProto& node : graph.node()) {
    if (is_branch(node)) return true;
  }
  return false;
}

void inline_branches(onnx::GraphProto& graph) {
  if (!has_branches(graph)) return;
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  nodes.Swap(graph.mutable_node());
  for (int i = 0; i < nodes.size(); ++i) {
    onnx::NodeProto& node = *nodes.Mutable(i);
    if (!is_branch(node)) {
      *graph.add_node() = std::move(node);
      continue;
    }
    const std::string name = node.name().empty() ? "If#" + std::to_string(i) : node.name();
    const std::string where = "node '" + name + "' (If)";
    if (node.input_size() != 1 || node.input(0).empty())
      throw Error(ErrorCode::InvalidModel, "it needs one condition", where);
    const std::string& condition = node.input(0);
    const auto taken = move_into(graph, branch(node, "then_branch"), name + "/then/", condition, true);
    const auto other = move_into(graph, branch(node, "else_branch"), name + "/else/", condition, false);
    const auto outputs = static_cast<std::size_t>(node.output_size());
    if (taken.size() != outputs || other.size() != outputs)
      throw Error(ErrorCode::InvalidModel, "its branches have not as many outputs as it has", where);
    for (std::size_t k = 0; k < outputs; ++k) {
      if (node.output(static_cast<int>(k)).empty()) continue;
      onnx::NodeProto* choice = graph.add_node();
      choice->set_op_type("If");
      choice->set_name(k == 0 ? name : name + "#" + std::to_string(k));
      choice->add_input(condition);
      choice->add_input(taken[k]);
      choice->add_input(other[k]);
      choice->add_output(node.output(static_cast<int>(k)));
    }
  }
}

}  // namespace temper::graph
