// An operator's work as an ONNX model: how ONNX Runtime is given what the other peers are given.
#pragma once

#include <vector>

#include "temper/peers/message.h"
#include "temper/peers/onnx_writer.h"

namespace temper::peers {

/// The graph of `work`: constants become initializers, the rest inputs of the same name. Throws Error{InvalidArgument}
/// when the inputs do not fit and Error{Unsupported} for NHWC and for op "model".
OnnxGraph onnx_graph(const PeerWork& work, const std::vector<Tensor>& inputs);

/// The prepare request of the Python peer: header {"type", "path"}, and as tensors first the model's bytes ("model",
/// u8; without elements where a path is given), then the graph's inputs.
Message onnx_request(const PeerWork& work, std::vector<Tensor> inputs);

}  // namespace temper::peers
