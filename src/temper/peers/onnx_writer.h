// Writes ONNX models: the handful of fields of onnx.proto that a graph of standard operators needs, in protobuf's wire
// format (https://protobuf.dev/programming-guides/encoding), without protobuf.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "temper/peers/work.h"

namespace temper::peers {

using OnnxValue = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>, Tensor>;

struct OnnxNode {
  std::string op_type;
  std::vector<std::string> inputs, outputs;
  std::vector<std::pair<std::string, OnnxValue>> attributes;
};

/// A graph input or output; no dims at all leaves the shape to inference.
struct OnnxPort {
  std::string name;
  std::string dtype = "f32";
  std::vector<std::int64_t> dims;
};

struct OnnxGraph {
  std::vector<OnnxNode> nodes;
  std::vector<OnnxPort> inputs, outputs;
  std::vector<Tensor> initializers;
  std::int64_t opset = 17;
  std::int64_t ir_version = 8;
};

/// The bytes of a ModelProto. Throws Error{InvalidArgument} for an unknown dtype.
std::string write_onnx(const OnnxGraph& graph);

/// `model`'s bytes with the named values as further outputs of its graph: protobuf merges the appended message into the
/// graph. Types and shapes are left to inference. For looking at what is inside a model.
std::string with_outputs(const std::string& model, const std::vector<std::string>& names);

/// `model`'s bytes with contents for the inputs of these names, which then need not be given.
std::string with_initializers(const std::string& model, const std::vector<Tensor>& tensors);

}  // namespace temper::peers
