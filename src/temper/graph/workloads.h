// Groups → workloads: the definition that a group's task has, and what its operands are bound to.
#pragma once

#include <string>
#include <vector>

#include "temper/graph/fusion.h"
#include "temper/graph/graph.h"
#include "temper/ops/workload.h"

namespace temper::graph {

struct BoundWorkload {
  ops::Workload work;
  std::vector<std::string> operands;  ///< placeholders of the definition
  std::vector<ValueId> values;        ///< what each is bound to
  std::vector<ValueId> outputs;       ///< the values that the definition's outputs are
};

/// A matrix product or convolution with its epilogue. May add constants to `graph`: weights in the order that a product
/// takes.
BoundWorkload anchored_workload(Graph& graph, const Group& group, const Anchor& anchor);

/// Attention without causal order, cap and earlier keys; softmax or layer norm over the last axes as rows and columns;
/// anything else as its operator defines it, with the
/// elementwise nodes behind it in one stage. May add constants to `graph`.
BoundWorkload plain_workload(Graph& graph, const Group& group);

/// Whether the definition takes the shapes that the strides of its values allow: it is purely elementwise.
bool has_any_shape(const BoundWorkload& bound);

/// Gives the definition's placeholders and outputs the strides of their values; the key names them. Requires strides
/// that the shapes of the definition's tensors can have.
void lay_out(const Graph& graph, BoundWorkload& bound);

}  // namespace temper::graph
