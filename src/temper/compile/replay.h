// Trace files: everything needed to rebuild one kernel byte for byte in a process that knows no operator and no
// template.
//
//   %% target        facts of the target (target/cpu.h)
//   %% compute       text of the definition (ir/compute.h)
//   %% trace         the primitives (schedule/trace.h)
#pragma once

#include <string>
#include <string_view>

#include "temper/compile/compile.h"

namespace temper::compile {

struct TraceFile {
  target::Target target;
  ir::Compute compute;
  schedule::Trace trace;
};

std::string print(const TraceFile& file);
/// Throws Error{InvalidArgument} that names the section and line at fault.
TraceFile parse_trace_file(std::string_view text);

/// Hexadecimal 64-bit hash of the artifact's bytes: equal bytes, equal text.
std::string fingerprint(const codegen::Artifact& artifact);

}  // namespace temper::compile
