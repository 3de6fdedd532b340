// `If` without sub-graphs. Private to the importer: it sees protobuf.
#pragma once

#include <onnx/onnx.pb.h>

namespace temper::graph {

/// Attribute of an inlined node: for each condition that stands behind its inputs, whether it must hold (1) or not (0).
inline constexpr const char* kGuards = "temper.guards";

bool has_branches(const onnx::GraphProto& graph);

/// Puts the nodes of both branches of each `If` into the graph, inner ones included. They get names of their own and
/// are guarded by the condition; a node "If" with the inputs (condition, then, else) chooses each output. The passes
/// take one branch when the condition is known.
void inline_branches(onnx::GraphProto& graph);

}  // namespace temper::graph
