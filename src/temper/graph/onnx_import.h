// ONNX files → graphs. The only header of this room behind which protobuf is used.
//
// What is checked here, before anything runs, with the node or tensor named in every error:
// - the file: readable, not empty, an ONNX model, not truncated, opset 6 to 25;
// - the graph: every read value defined, none defined twice, no cycle, no sub-graph (If, Loop, Scan), names in UTF-8;
// - the tensors: known element types, sizes that match the data, external data present and inside the model's folder;
// - the operators: all that Temper does not know are listed in one error, each with its nodes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "temper/graph/graph.h"

namespace temper::graph {

inline constexpr int kOldestOpset = 6;
inline constexpr int kNewestOpset = 25;

/// Reads a model file. Throws Error{NotFound, Io, InvalidModel, Unsupported}.
Graph import_onnx(const std::filesystem::path& file);

/// Reads a model from memory. `folder` is where external data lies; `label` names the model in errors.
/// Throws Error{InvalidModel, Unsupported, Io}.
Graph import_onnx(std::span<const std::byte> bytes, const std::filesystem::path& folder, const std::string& label);

}  // namespace temper::graph
