// Measuring the samples that datasets are made of.
#pragma once

#include <cstdint>
#include <span>

#include "temper/tune/dataset.h"
#include "temper/tune/tune.h"

namespace temper::tune {

/// Measures `draw_sample` of each task into `options.store`, with the hardware test that tuning uses and without its
/// races; what the store holds is not measured again, so that a stopped collection goes on where it was. Of the options
/// those of search and budget do not count. The report says per task what was measured and what failed; a task that
/// cannot be measured has an `error` there. Throws as `tune`.
Report collect(std::span<const Task> tasks, std::size_t per_task, std::uint64_t seed, const Options& options);

}  // namespace temper::tune
