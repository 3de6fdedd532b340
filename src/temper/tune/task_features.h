// The features of a task's candidates: facts of the task and the target, knobs, and the analysis of the loop program.
#pragma once

#include "temper/cost/analytic.h"
#include "temper/cost/features.h"
#include "temper/target/cpu.h"
#include "temper/tune/task.h"
#include "temper/tune/task_space.h"

namespace temper::tune {

/// Sizes of the task on a target that a model may learn from, beside `cost::target_facts`: its operations and bytes.
std::vector<cost::Fact> task_facts(const Task& task, const target::Target& target);

/// Analyses candidates of `space`, which is borrowed. A template that breaks on a candidate must not end a search:
/// nothing is predicted for it, and if it is asked for its error becomes a recorded failure.
cost::Analyse task_analysis(const TaskSpace& space, const target::Target& target, int threads);

/// Turns candidates of `space`, which is borrowed, into rows; the default candidate is the reference.
cost::FeatureExtractor task_extractor(const TaskSpace& space, const Task& task, const target::Target& target);

}  // namespace temper::tune
