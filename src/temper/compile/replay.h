// Trace files: everything needed to rebuild one kernel byte for byte in a process that knows no operator and no
// template.
//
//   %% target        facts of the target (target/cpu.h)
//   %% compute       text of the definition (ir/compute.h)
//   %% trace         the primitives (schedule/trace.h)
//
// The best records of a task keep such a text without its target, which the record names.
#pragma once

#include <optional>
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

/// What `record::Record::trace` holds.
struct RecordedTrace {
  std::optional<ir::Compute> compute;  ///< absent where the text has no section for it
  schedule::Trace trace;
};

/// The sections `compute` and `trace`.
std::string print_recorded(const ir::Compute& compute, const schedule::Trace& trace);
/// Inverse; also takes the primitives alone. Throws as `parse_trace_file`.
RecordedTrace parse_recorded(std::string_view text);

/// Hexadecimal 64-bit hash of the artifact's bytes: equal bytes, equal text.
std::string fingerprint(const codegen::Artifact& artifact);

}  // namespace temper::compile
