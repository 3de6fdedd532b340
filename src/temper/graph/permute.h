// Definitions that read a tensor stored in another order of axes.
#pragma once

#include <string>
#include <vector>

#include "temper/ir/compute.h"

namespace temper::graph {

/// The same function of the same elements, where placeholder `name` is stored with its axes permuted: axis i of the
/// placeholder before is axis `order[i]` of the one after.
///   in[n,y,x,c], out[…] = … in(n, y, x, c) …     →     in[n,c,y,x], out[…] = … in(n, c, y, x) …      with order
///   0,2,3,1
/// Throws Error{NotFound} when there is no such placeholder.
ir::Compute permute_placeholder(const ir::Compute& compute, const std::string& name, const std::vector<int>& order);

}  // namespace temper::graph
