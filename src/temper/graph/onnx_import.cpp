#include "temper/graph/onnx_import.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>
#include <onnx/onnx.pb.h>

#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "temper/graph/onnx_inline.h"
#include "temper/graph/onnx_tensor.h"
#include "temper/graph/passes/rewrite.h"
#include "temper/ops/registry.h"
#include "temper/support/error.h"

namespace temper::graph {
namespace {

[[noreturn]] void invalid(const std::string& what, const std::string& where, const std::string& hint = {}) {
  throw Error(ErrorCode::InvalidModel, what, where, hint);
}

/// Whether the bytes are well-formed UTF-8 (RFC 3629) without NUL.
bool is_text(std::string_view s) {
  for (std::size_t i = 0; i < s.size();) {
    const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(s[k]); };
    const unsigned lead = byte(i);
    const std::size_t length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
    if (lead == 0 || length == 0 || lead > 0xF4 || i + length > s.size()) return false;
    for (std::size_t k = 1; k < length; ++k) {
      if ((byte(i + k) & 0xC0) != 0x80) return false;
    }
    if (lead == 0xE0 && byte(i + 1) < 0xA0) return false;
    if (lead == 0xED && byte(i + 1) > 0x9F) return false;
    if (lead == 0xF0 && byte(i + 1) < 0x90) return false;
    if (lead == 0xF4 && byte(i + 1) > 0x8F) return false;
    i += length;
  }
  return true;
}

/// Reads one model; the members are what the steps share.
class Importer {
 public:
  Importer(const onnx::ModelProto& model, const std::filesystem::path& folder, const std::string& label)
      : model_(model), proto_(model.graph()), folder_(folder), label_(label) {}

  Graph run() {
    check_header();
    check_names();
    check_operators();
    graph_.name = proto_.name();
    read_initializers();
    read_inputs();
    read_nodes();
    read_outputs();
    sort_topologically(graph_);
    verify(graph_);
    return std::move(graph_);
  }

 private:
  void check_header() {
    if (!model_.has_graph()) {
      invalid("the file holds no ONNX graph", label_, "it is not an ONNX model, or it is truncated");
    }
    for (const onnx::OperatorSetIdProto& set : model_.opset_import()) {
      if (!is_default_domain(set.domain())) continue;
      if (set.version() < kOldestOpset || set.version() > kNewestOpset) {
        throw Error(ErrorCode::Unsupported, "operator set " + std::to_string(set.version()) + " is not supported",
                    label_,
                    "export the model with an operator set from " + std::to_string(kOldestOpset) + " to " +
                        std::to_string(kNewestOpset));
      }
      graph_.opset = static_cast<int>(set.version());
    }
    if (graph_.opset == 0) {
      invalid("the model imports no ONNX operator set", label_, "it is not an ONNX model, or it is damaged");
    }
    if (proto_.node_size() == 0) invalid("the graph has no nodes", label_);
    if (proto_.output_size() == 0) invalid("the graph has no outputs", label_);
    if (proto_.sparse_initializer_size() > 0) {
      throw Error(ErrorCode::Unsupported, "sparse initializers are not supported", label_);
    }
  }

  static bool is_default_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

  /// Name of a node in errors and plans; unique, never empty.
  void check_names() {
    std::set<std::string> taken;
    const auto check = [&](const std::string& name, const std::string& where) {
      if (!is_text(name)) invalid("a name is not UTF-8 text", where, "the file is damaged");
    };
    for (int i = 0; i < proto_.node_size(); ++i) {
      const onnx::NodeProto& node = proto_.node(i);
      const std::string place = "node " + std::to_string(i);
      check(node.name(), place);
      check(node.op_type(), place);
      check(node.domain(), place);
      for (const std::string& name : node.input()) check(name, place);
      for (const std::string& name : node.output()) check(name, place);
      if (node.op_type().empty()) invalid("a node has no operator", place, "the file is damaged");
      std::string name = node.name().empty() ? node.op_type() + "#" + std::to_string(i) : node.name();
      while (!taken.insert(name).second) name += "#" + std::to_string(i);
      node_names_.push_back(std::move(name));
    }
    for (const onnx::TensorProto& t : proto_.initializer()) check(t.name(), "an initializer");
    for (const onnx::ValueInfoProto& v : proto_.input()) check(v.name(), "a graph input");
    for (const onnx::ValueInfoProto& v : proto_.output()) check(v.name(), "a graph output");
    check(proto_.name(), "the graph");
  }

  std::string at_node(int i) const {
    return "node '" + node_names_[static_cast<std::size_t>(i)] + "' (" + proto_.node(i).op_type() + ")";
  }

  static bool knows_operator(const std::string& op) {
    return ops::find_operator(op) != nullptr || ops::always_folds(op) || is_rewritten(op);
  }

  /// One error for all operators that Temper does not know, each with the nodes that use it.
  void check_operators() {
    std::map<std::string, std::vector<std::string>> unknown;
    for (int i = 0; i < proto_.node_size(); ++i) {
      const onnx::NodeProto& node = proto_.node(i);
      if (is_default_domain(node.domain()) && knows_operator(node.op_type())) continue;
      const std::string op = is_default_domain(node.domain()) ? node.op_type() : node.domain() + "::" + node.op_type();
      unknown[op].push_back(node_names_[static_cast<std::size_t>(i)]);
    }
    if (unknown.empty()) return;
    std::string what = "the model uses operators that Temper does not support:";
    for (const auto& [op, nodes] : unknown) {
      what += "\n    " + op + ": ";
      for (std::size_t i = 0; i < nodes.size(); ++i) what += (i ? ", " : "") + nodes[i];
    }
    throw Error(ErrorCode::Unsupported, what, label_,
                "`docs/extending.md` shows how to add an operator; only the default ONNX domain is supported");
  }

  ValueId define(const std::string& name, const std::string& where) {
    if (name.empty()) invalid("a value has no name", where);
    const auto [entry, is_new] = ids_.try_emplace(name, static_cast<ValueId>(graph_.values.size()));
    if (!is_new) {
      invalid("value '" + name + "' is defined twice", where, "each value has one definition in a valid model");
    }
    graph_.values.push_back(Value{name, ir::DType::F32, {}, {}, name});
    return entry->second;
  }

  void define_constant(const std::string& name, ops::TensorValue data, const std::string& where) {
    const ValueId id = define(name, where);
    graph_.set_type(id, data.type.dtype, data.type.shape);
    graph_.value(id).data = std::move(data);
  }

  void read_initializers() {
    for (const onnx::TensorProto& tensor : proto_.initializer()) {
      const std::string where = "initializer '" + tensor.name() + "'";
      define_constant(tensor.name(), tensor_from_onnx(tensor, folder_, where), where);
    }
  }

  static const onnx::TypeProto_Tensor& tensor_type(const onnx::ValueInfoProto& info, const std::string& where) {
    if (info.type().value_case() != onnx::TypeProto::kTensorType) {
      if (info.type().value_case() == onnx::TypeProto::VALUE_NOT_SET) invalid("it has no type", where);
      throw Error(ErrorCode::Unsupported, "only tensors are supported, not sequences, maps or optionals", where);
    }
    return info.type().tensor_type();
  }

  /// -1 counts as unknown: Paddle's exporter writes it.
  static SymbolicShape symbolic_shape(const onnx::TensorShapeProto& proto, const std::string& where) {
    SymbolicShape shape;
    std::int64_t product = 1;
    for (const auto& dim : proto.dim()) {
      Dimension dimension;
      if (dim.value_case() == onnx::TensorShapeProto_Dimension::kDimParam) {
        if (!is_text(dim.dim_param())) invalid("a dimension's name is not UTF-8 text", where, "the file is damaged");
        dimension.symbol = dim.dim_param();
      } else if (dim.value_case() == onnx::TensorShapeProto_Dimension::kDimValue && dim.dim_value() != -1) {
        if (dim.dim_value() == 0) {
          throw Error(ErrorCode::Unsupported, "a dimension has size 0", where,
                      "tensors without elements are not supported as inputs");
        }
        if (dim.dim_value() < 0) {
          invalid("a dimension has size " + std::to_string(dim.dim_value()), where, "sizes are at least 1");
        }
        if (dim.dim_value() > kMaxElements / product) {
          invalid(
              "a tensor is too large: its dimension of " + std::to_string(dim.dim_value()) +
                  (product > 1 ? " times the ones before it, " + std::to_string(product) + " elements" : std::string()),
              where, "at most 2^40 elements a tensor are accepted");
        }
        product *= dim.dim_value();
        dimension.size = dim.dim_value();
      }
      shape.push_back(std::move(dimension));
    }
    return shape;
  }

  void read_inputs() {
    std::set<std::string> seen;
    for (const onnx::ValueInfoProto& info : proto_.input()) {
      const std::string where = "input '" + info.name() + "'";
      if (!seen.insert(info.name()).second) invalid("two graph inputs have one name", where);
      const auto initializer = ids_.find(info.name());
      // Before IR version 4 every initializer was listed as an input too; it is a constant all the same.
      if (initializer != ids_.end()) continue;
      const onnx::TypeProto_Tensor& type = tensor_type(info, where);
      const ir::DType dtype = dtype_from_onnx(type.elem_type(), where);
      const ValueId id = define(info.name(), where);
      graph_.value(id).dtype = dtype;
      if (!type.has_shape()) {
        throw Error(ErrorCode::Unsupported, "a graph input has no rank", where, "export the model with input shapes");
      }
      graph_.value(id).shape = symbolic_shape(type.shape(), where);
      graph_.inputs.push_back(id);
    }
  }

  void read_nodes() {
    // Outputs first: a node may read what a later one defines, since the order is checked by sorting.
    for (int i = 0; i < proto_.node_size(); ++i) {
      const onnx::NodeProto& node = proto_.node(i);
      if (node.op_type() == "Constant") {
        read_constant(i);
        continue;
      }
      bool any = false;
      for (const std::string& name : node.output()) {
        if (name.empty()) continue;
        define(name, at_node(i));
        any = true;
      }
      if (!any) invalid("a node has no outputs", at_node(i));
    }
    for (int i = 0; i < proto_.node_size(); ++i) {
      if (proto_.node(i).op_type() != "Constant") read_node(i);
    }
  }

  void read_node(int i) {
    const onnx::NodeProto& proto = proto_.node(i);
    Node node;
    node.op = proto.op_type();
    node.opset = graph_.opset;
    node.name = node_names_[static_cast<std::size_t>(i)];
    node.origins = {node.name};
    for (const std::string& name : proto.input()) {
      if (name.empty()) {
        node.inputs.push_back(kAbsent);
        continue;
      }
      const auto id = ids_.find(name);
      if (id == ids_.end()) {
        invalid("a node reads '" + name + "', which nothing defines", at_node(i),
                "an input, initializer or node that should define it is missing");
      }
      node.inputs.push_back(id->second);
    }
    while (!node.inputs.empty() && node.inputs.back() == kAbsent) node.inputs.pop_back();
    for (const std::string& name : proto.output()) node.outputs.push_back(name.empty() ? kAbsent : ids_.at(name));
    std::set<std::string> seen;
    for (const onnx::AttributeProto& attribute : proto.attribute()) {
      if (!is_text(attribute.name()) || attribute.name().empty()) {
        invalid("an attribute has no readable name", at_node(i), "the file is damaged");
      }
      if (!seen.insert(attribute.name()).second) {
        invalid("attribute '" + attribute.name() + "' is given twice", at_node(i));
      }
      if (attribute.name() == kGuards) {
        for (const std::int64_t holds : attribute.ints()) node.guards.push_back(holds != 0);
        continue;
      }
      read_attribute(attribute, node.attributes, at_node(i));
    }
    if (node.guards.size() > node.inputs.size()) invalid("a node has no condition", at_node(i), "the file is damaged");
    graph_.nodes.push_back(std::move(node));
  }

  /// Files before IR version 2 carry no type; the filled field tells it.
  static onnx::AttributeProto_AttributeType attribute_type(const onnx::AttributeProto& a) {
    if (a.has_type() && a.type() != onnx::AttributeProto::UNDEFINED) return a.type();
    if (a.has_f()) return onnx::AttributeProto::FLOAT;
    if (a.has_i()) return onnx::AttributeProto::INT;
    if (a.has_s()) return onnx::AttributeProto::STRING;
    if (a.has_t()) return onnx::AttributeProto::TENSOR;
    if (a.has_g()) return onnx::AttributeProto::GRAPH;
    if (a.floats_size()) return onnx::AttributeProto::FLOATS;
    if (a.ints_size()) return onnx::AttributeProto::INTS;
    if (a.strings_size()) return onnx::AttributeProto::STRINGS;
    return onnx::AttributeProto::UNDEFINED;
  }

  void read_attribute(const onnx::AttributeProto& a, ops::Attributes& attributes, const std::string& where) const {
    const std::string at = where + ", attribute '" + a.name() + "'";
    if (a.has_ref_attr_name()) {
      throw Error(ErrorCode::Unsupported, "attributes that refer to a function's attributes are not supported", at);
    }
    switch (attribute_type(a)) {
      case onnx::AttributeProto::FLOAT: attributes.set(a.name(), static_cast<double>(a.f())); return;
      case onnx::AttributeProto::INT: attributes.set(a.name(), std::int64_t{a.i()}); return;
      case onnx::AttributeProto::STRING:
        if (!is_text(a.s())) invalid("an attribute is not UTF-8 text", at, "the file is damaged");
        attributes.set(a.name(), a.s());
        return;
      case onnx::AttributeProto::FLOATS:
        attributes.set(a.name(), std::vector<double>(a.floats().begin(), a.floats().end()));
        return;
      case onnx::AttributeProto::INTS:
        attributes.set(a.name(), std::vector<std::int64_t>(a.ints().begin(), a.ints().end()));
        return;
      case onnx::AttributeProto::STRINGS:
        for (const std::string& text : a.strings()) {
          if (!is_text(text)) invalid("an attribute is not UTF-8 text", at, "the file is damaged");
        }
        attributes.set(a.name(), std::vector<std::string>(a.strings().begin(), a.strings().end()));
        return;
      case onnx::AttributeProto::TENSOR: attributes.set(a.name(), tensor_from_onnx(a.t(), folder_, at)); return;
      case onnx::AttributeProto::GRAPH:
      case onnx::AttributeProto::GRAPHS:
        throw Error(ErrorCode::Unsupported, "control flow (a graph inside a node) is not supported", at);
      default: throw Error(ErrorCode::Unsupported, "this kind of attribute is not supported", at);
    }
  }

  void read_constant(int i) {
    const onnx::NodeProto& node = proto_.node(i);
    if (node.output_size() != 1 || node.output(0).empty()) invalid("Constant needs one output", at_node(i));
    if (node.attribute_size() != 1) invalid("Constant needs exactly one attribute", at_node(i));
    const onnx::AttributeProto& a = node.attribute(0);
    const std::string where = at_node(i) + ", attribute '" + a.name() + "'";
    ops::TensorValue data;
    if (a.name() == "value") {
      data = tensor_from_onnx(a.t(), folder_, where);
    } else if (a.name() == "value_float") {
      data = ops::TensorValue::from_numbers({ir::DType::F32, {}}, {static_cast<double>(a.f())});
    } else if (a.name() == "value_int") {
      data = ops::TensorValue::from_integers({ir::DType::I64, {}}, {a.i()});
    } else if (a.name() == "value_floats") {
      data = ops::TensorValue::from_numbers({ir::DType::F32, {a.floats_size()}},
                                            std::vector<double>(a.floats().begin(), a.floats().end()));
    } else if (a.name() == "value_ints") {
      data = ops::TensorValue::from_integers({ir::DType::I64, {a.ints_size()}},
                                             std::vector<std::int64_t>(a.ints().begin(), a.ints().end()));
    } else {
      throw Error(ErrorCode::Unsupported, "this kind of Constant is not supported", where);
    }
    define_constant(node.output(0), std::move(data), at_node(i));
  }

  void read_outputs() {
    std::set<std::string> seen;
    for (const onnx::ValueInfoProto& info : proto_.output()) {
      const std::string where = "output '" + info.name() + "'";
      if (!seen.insert(info.name()).second) invalid("two graph outputs have one name", where);
      const auto id = ids_.find(info.name());
      if (id == ids_.end()) {
        invalid("nothing defines this graph output", where, "the node that should produce it is missing");
      }
      if (info.has_type()) dtype_from_onnx(tensor_type(info, where).elem_type(), where);
      graph_.outputs.push_back(id->second);
      graph_.output_names.push_back(info.name());
    }
  }

  const onnx::ModelProto& model_;
  const onnx::GraphProto& proto_;
  const std::filesystem::path& folder_;
  const std::string& label_;
  std::vector<std::string> node_names_;
  std::unordered_map<std::string, ValueId> ids_;
  Graph graph_;
};

}  // namespace

Graph import_onnx(std::span<const std::byte> bytes, const std::filesystem::path& folder, const std::string& label) {
  if (bytes.empty()) invalid("the model is empty", label, "the file holds no bytes; was the download cut short?");
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw Error(ErrorCode::Unsupported, "the model file is larger than 2 GiB", label,
                "store its weights as external data");
  }
  // The parser would report on stderr what the error below says.
  const google::protobuf::LogSilencer silence;
  onnx::ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    invalid("the file is not a readable ONNX model", label, "it is truncated, damaged, or of another format");
  }
  if (has_branches(model.graph())) inline_branches(*model.mutable_graph());
  return Importer(model, folder, label).run();
}

Graph import_onnx(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) {
    throw Error(ErrorCode::NotFound, "there is no such model file", file.string(), "check the path");
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw Error(ErrorCode::InvalidModel, "the model is not a regular file", file.string());
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw Error(ErrorCode::Io, "cannot open the model", file.string(), "check its permissions");
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (error) throw Error(ErrorCode::Io, "cannot read the model's size: " + error.message(), file.string());
  std::vector<std::byte> bytes(size);
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (!stream) throw Error(ErrorCode::Io, "cannot read the model", file.string());
  return import_onnx(bytes, file.parent_path(), file.string());
}

}  // namespace temper::graph
