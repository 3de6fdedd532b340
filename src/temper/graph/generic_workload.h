// Workloads of groups that have no name of their own: the key spells the operators out.
//
//   elementwise(in0=f32[4608;32],in1=f32[1;32],expr=Mul(in0;HardSigmoid{...}(in1)))
//   maxpool(attributes=...,layout=nhwc,in0=f32[1;3;48;200],then=Relu(x))
#pragma once

#include "temper/graph/workloads.h"

namespace temper::graph {

/// Name of the workloads of purely elementwise groups.
inline constexpr const char* kElementwise = "elementwise";

/// The first node as its operator defines it (or, when it is elementwise, as part of the one stage "out"), and the
/// elementwise nodes behind it in the stage "out". Placeholders are in0, in1, … by first use; contents that the
/// definition has absorbed (bounds, axes, scalars) are part of the key. Purely elementwise groups have the axes
/// collapsed that no operand tells apart, by its shape or its strides.
BoundWorkload generic_workload(const Graph& graph, const Group& group);

}  // namespace temper::graph
