// The row template: reductions over the output's last axis that keep the other axes (softmax, norms, row sums).
#pragma once

#include "temper/space/structure.h"
#include "temper/space/template.h"

namespace temper::space {

void apply_rows(schedule::Schedule& s, Knobs& knobs, const target::Target& target, const RowReductions& r);

}  // namespace temper::space
