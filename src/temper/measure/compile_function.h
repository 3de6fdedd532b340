// What a builder does with a request: parse, schedule, compile.
#pragma once

#include "temper/measure/builder_loop.h"

namespace temper::measure {

/// Keeps one compiler, for the target of the last request. Failures: InvalidSchedule (a primitive, the nest or its
/// verifier refuses, or the trace is malformed), ResourceLimit (Unsupported: beyond a limit of the generator),
/// CompileError (everything else). Options by name in BuildOptions::other: `contract` (0 or 1), `max_bodies`,
/// `max_border_cuts`.
BuildFunction make_compile_function();

}  // namespace temper::measure
