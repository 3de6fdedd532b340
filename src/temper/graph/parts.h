// Which values lie inside of others, so that nothing is copied for a concatenation or a slice.
//
//   a = Conv(x); b = Conv(z); y = Concat(a, b)     →     both convolutions write into y; no step for Concat
//   p, q = Split(x); u = Relu(p); v = Relu(q)      →     both activations read from x; no step for Split
//
// A concatenation goes when each of its inputs is computed by a step, once, for it alone among all concatenations: what
// is a graph input, a constant or wanted twice has to be copied. Who else reads such an input reads it inside of the
// whole. A slice goes whatever its input is; a Split goes with all of its outputs, or not at all. Parts of parts are
// fine. Where the rows of a part have those of others between them, as channels side by side in NHWC, every definition
// that computes or reads the part says so by the strides of its tensors: rows must be long enough to be worth it, and
// the definitions' shapes must leave the rows apart.
#pragma once

#include <map>
#include <vector>

#include "temper/graph/fusion.h"
#include "temper/graph/tasks.h"
#include "temper/graph/workloads.h"

namespace temper::graph {

struct PartPlan {
  std::vector<Part> parts;
  std::map<ValueId, Sizes> strides;  ///< of parts with gaps between their rows, and of the views of them
  std::vector<bool> needless;        ///< of each group: whether nothing is left for it to do
};

/// `program` has its graph and views; `workloads[g]` is what `groups[g]` computes.
PartPlan place_parts(const Program& program, const std::vector<Group>& groups,
                     const std::vector<BoundWorkload>& workloads);

}  // namespace temper::graph
