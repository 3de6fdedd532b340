#include "temper/peers/onnx_writer.h"

#include <array>
#include <bit>
#include <string_view>

#include "temper/support/error.h"

namespace temper::peers {
namespace {

// Field numbers of onnx.proto.
namespace model_proto {
constexpr int kIrVersion = 1, kProducerName = 2, kGraph = 7, kOpsetImport = 8;
}
namespace opset_proto {
constexpr int kVersion = 2;
}
namespace graph_proto {
constexpr int kNode = 1, kName = 2, kInitializer = 5, kInput = 11, kOutput = 12;
}
namespace node_proto {
constexpr int kInput = 1, kOutput = 2, kName = 3, kOpType = 4, kAttribute = 5;
}
namespace attribute_proto {
constexpr int kName = 1, kFloat = 2, kInt = 3, kString = 4, kTensor = 5, kFloats = 7, kInts = 8, kType = 20;
}
namespace tensor_proto {
constexpr int kDims = 1, kDataType = 2, kName = 8, kRawData = 9;
}
namespace value_info_proto {
constexpr int kName = 1, kType = 2;
}
namespace type_proto {
constexpr int kTensorType = 1, kElemType = 1, kShape = 2, kDim = 1, kDimValue = 1;
}

/// A protobuf message under construction.
class Wire {
 public:
  void integer(int field, std::int64_t value) {
    tag(field, 0);
    varint(static_cast<std::uint64_t>(value));
  }
  void real(int field, float value) {
    tag(field, 5);
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) bytes_.push_back(static_cast<char>((bits >> shift) & 0xffU));
  }
  void text(int field, std::string_view value) {
    tag(field, 2);
    varint(value.size());
    bytes_.append(value);
  }
  void message(int field, const Wire& value) { text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void tag(int field, unsigned kind) { varint(static_cast<std::uint64_t>(field) << 3U | kind); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80U; value >>= 7U) bytes_.push_back(static_cast<char>((value & 0x7fU) | 0x80U));
    bytes_.push_back(static_cast<char>(value));
  }
  std::string bytes_;
};

struct DataType {
  std::string_view dtype;
  std::int64_t number;
};
constexpr std::array<DataType, 7> kDataTypes{
    {{"f32", 1}, {"u8", 2}, {"i8", 3}, {"i32", 6}, {"i64", 7}, {"bool", 9}, {"f64", 11}}};

std::int64_t data_type(std::string_view dtype) {
  for (const DataType& entry : kDataTypes) {
    if (entry.dtype == dtype) return entry.number;
  }
  throw Error(ErrorCode::InvalidArgument, "ONNX has no dtype '" + std::string(dtype) + "' here");
}

Wire tensor_wire(const Tensor& tensor) {
  Wire wire;
  for (const std::int64_t dim : tensor.dims) wire.integer(tensor_proto::kDims, dim);
  wire.integer(tensor_proto::kDataType, data_type(tensor.dtype));
  wire.text(tensor_proto::kName, tensor.name);
  wire.text(tensor_proto::kRawData, {reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size()});
  return wire;
}

/// Writes an attribute's value and its AttributeType.
struct AttributeWriter {
  Wire& wire;
  void operator()(float value) const {
    wire.real(attribute_proto::kFloat, value);
    wire.integer(attribute_proto::kType, 1);
  }
  void operator()(std::int64_t value) const {
    wire.integer(attribute_proto::kInt, value);
    wire.integer(attribute_proto::kType, 2);
  }
  void operator()(const std::string& value) const {
    wire.text(attribute_proto::kString, value);
    wire.integer(attribute_proto::kType, 3);
  }
  void operator()(const Tensor& value) const {
    wire.message(attribute_proto::kTensor, tensor_wire(value));
    wire.integer(attribute_proto::kType, 4);
  }
  void operator()(const std::vector<float>& values) const {
    for (const float value : values) wire.real(attribute_proto::kFloats, value);
    wire.integer(attribute_proto::kType, 6);
  }
  void operator()(const std::vector<std::int64_t>& values) const {
    for (const std::int64_t value : values) wire.integer(attribute_proto::kInts, value);
    wire.integer(attribute_proto::kType, 7);
  }
};

Wire node_wire(const OnnxNode& node) {
  Wire wire;
  for (const std::string& name : node.inputs) wire.text(node_proto::kInput, name);
  for (const std::string& name : node.outputs) wire.text(node_proto::kOutput, name);
  wire.text(node_proto::kName, node.outputs.empty() ? node.op_type : node.op_type + "_" + node.outputs.front());
  wire.text(node_proto::kOpType, node.op_type);
  for (const auto& [name, value] : node.attributes) {
    Wire attribute;
    attribute.text(attribute_proto::kName, name);
    std::visit(AttributeWriter{attribute}, value);
    wire.message(node_proto::kAttribute, attribute);
  }
  return wire;
}

Wire port_wire(const OnnxPort& port) {
  Wire type;
  type.integer(type_proto::kElemType, data_type(port.dtype));
  if (!port.dims.empty()) {
    Wire shape;
    for (const std::int64_t dim : port.dims) {
      Wire size;
      size.integer(type_proto::kDimValue, dim);
      shape.message(type_proto::kDim, size);
    }
    type.message(type_proto::kShape, shape);
  }
  Wire holder;
  holder.message(type_proto::kTensorType, type);
  Wire wire;
  wire.text(value_info_proto::kName, port.name);
  wire.message(value_info_proto::kType, holder);
  return wire;
}

}  // namespace

std::string write_onnx(const OnnxGraph& graph) {
  Wire body;
  for (const OnnxNode& node : graph.nodes) body.message(graph_proto::kNode, node_wire(node));
  body.text(graph_proto::kName, "temper");
  for (const Tensor& tensor : graph.initializers) body.message(graph_proto::kInitializer, tensor_wire(tensor));
  for (const OnnxPort& port : graph.inputs) body.message(graph_proto::kInput, port_wire(port));
  for (const OnnxPort& port : graph.outputs) body.message(graph_proto::kOutput, port_wire(port));
  Wire opset;
  opset.integer(opset_proto::kVersion, graph.opset);
  Wire model;
  model.integer(model_proto::kIrVersion, graph.ir_version);
  model.text(model_proto::kProducerName, "temper");
  model.message(model_proto::kGraph, body);
  model.message(model_proto::kOpsetImport, opset);
  return model.bytes();
}

std::string with_initializers(const std::string& model, const std::vector<Tensor>& tensors) {
  Wire body;
  for (const Tensor& tensor : tensors) body.message(graph_proto::kInitializer, tensor_wire(tensor));
  Wire addition;
  addition.message(model_proto::kGraph, body);
  return model + addition.bytes();
}

std::string with_outputs(const std::string& model, const std::vector<std::string>& names) {
  Wire body;
  for (const std::string& name : names) {
    Wire port;
    port.text(value_info_proto::kName, name);
    body.message(graph_proto::kOutput, port);
  }
  Wire addition;
  addition.message(model_proto::kGraph, body);
  return model + addition.bytes();
}

}  // namespace temper::peers
