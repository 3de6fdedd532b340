// Code for a task with whatever search TEMPER_TUNE allows.
#pragma once

#include "temper/tune/lookup.h"
#include "temper/tune/tune.h"

namespace temper::tune {

/// `artifact_for` with `options.store`; in mode On a task without a usable record is tuned first, by `options`.
/// Throws as `tune` and `artifact_for`.
Built artifact_on_demand(const Task& task, Mode mode, const Options& options);

}  // namespace temper::tune
