// TensorProto → ops::TensorValue. Private to the importer: it sees protobuf.
#pragma once

#include <onnx/onnx.pb.h>

#include <filesystem>
#include <string>

#include "temper/graph/tensor.h"

namespace temper::graph {

/// The element type of an ONNX number. Throws Error{Unsupported} that names the type, Error{InvalidModel} for no type.
ir::DType dtype_from_onnx(int number, const std::string& where);

/// Decodes raw, typed or external data. `folder`: where external files lie; a path that leaves it is refused.
/// Throws Error{InvalidModel, Unsupported, Io} at `where`.
ops::TensorValue tensor_from_onnx(const onnx::TensorProto& proto, const std::filesystem::path& folder,
                                  const std::string& where);

}  // namespace temper::graph
