// An analytic cost model: a roofline per statement of the loop program, from target facts alone.
//
// For each statement it bounds the cycles of arithmetic (issue width, and latency where too few accumulators are
// independent), of loads and stores (after what unrolling keeps in registers), and of traffic between cache levels.
// Traffic follows the largest part of the loop nest whose footprint fits into the level: what is touched inside it
// comes in once for each time the loops outside run, less a loop just outside that does not move the access. The
// slowest bound counts in full, the others in part, since they overlap imperfectly. (Roofline: Williams, Waterman and
// Patterson, CACM 2009. Footprints of loop nests: Wolf and Lam, PLDI 1991.)
//
// It is for ranking: absolute seconds are right within a factor of a few.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "temper/cost/features.h"
#include "temper/cost/loop_features.h"
#include "temper/cost/program_facts.h"
#include "temper/target/cpu.h"

namespace temper::cost {

/// The model's own features, in the order of `analyse`.
std::span<const FeatureInfo> analytic_feature_table();

/// Names of the features that `analyse` returns, in order: the model's own, then those of `loop_features.h`. All are
/// logarithms or shares.
const std::vector<std::string>& analytic_features();

/// Predicted seconds of one run (prepared phases left out) on `threads` threads, and the features behind them.
Analysis analyse(const nest::Program& program, const schedule::Schedule& schedule, const target::Target& target,
                 int threads);

/// What `ModelScorer` needs: schedules a candidate, builds its loop program and analyses it. A candidate whose schedule
/// or nest is refused (ScheduleError, or Unsupported) is not buildable; other errors pass through.
using Materialise = std::function<schedule::Schedule(const search::Candidate&)>;
Analyse schedule_analysis(Materialise materialise, target::Target target, int threads);

/// Facts about a target that a model may learn from: vector bytes, registers, cache sizes.
std::vector<Fact> target_facts(const target::Target& target, int threads);

}  // namespace temper::cost
