// The register-tile template: one reduction computed in registers, tile by tile, into its output. It serves dense and
// grouped convolutions, matrix products, depthwise convolutions and pooling alike: what differs is the plan.
#pragma once

#include "temper/space/structure.h"
#include "temper/space/template.h"
#include "temper/space/tile_plan.h"

namespace temper::space {

/// Declares the knobs of a plan, or schedules a candidate of it. Throws ScheduleError when a primitive refuses.
void apply_tile(schedule::Schedule& s, Knobs& knobs, const target::Target& target, const SingleReduction& r,
                const TilePlan& plan);

}  // namespace temper::space
