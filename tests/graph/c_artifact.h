// Compiles definitions with the system's C compiler, stage by stage and element by element: an independent stand-in for
// generated code, so that plans can be run without it.
#pragma once

#include "temper/ir/compute.h"
#include "temper/runtime/memory.h"

namespace temper::graph::testing {

/// A shared object for `compute` as target/artifact_abi.h describes: one phase that computes every stage in order.
runtime::Bytes compile_with_c(const ir::Compute& compute);

}  // namespace temper::graph::testing
