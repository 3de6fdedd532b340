// The generic template: schedules any definition. Elementwise stages are inlined where that repeats no work, every
// other stage is computed at root, in parallel over its outer axes, with vectors along its last axis (or along the
// reduce axis that is contiguous).
#pragma once

#include "temper/space/template.h"

namespace temper::space {

void apply_generic(schedule::Schedule& s, Knobs& knobs, const target::Target& target);

}  // namespace temper::space
