// The records of one task as T4 results, the exchange format of the auto-tuning benchmark suites ("Towards a
// benchmarking suite for kernel tuners", Tørring et al., 2023). `space/recorded` reads such files back.
//
// An entry a record, oldest first:
//   configuration   `design` (a text), and a value for each knob of any design; -1 where the record's design has no
//                   such knob
//   times           milliseconds: `compilation` (building), `framework` and `search_algorithm` (0: not recorded),
//                   `runtimes` (least and median of the samples, which is all that is kept of them; absent for a
//                   failure), `validation` (what else checking and timing took)
//   invalidity      see `t4_invalidity`; the record's own kind of failure is the value of its measurement
//   measurements    `time` and `median_time`, milliseconds a call; the objective is `time`
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "temper/store/store.h"

namespace temper::store {

/// "correct", "constraints" (a schedule that was refused), "compile", "timeout", "runtime" or "correctness".
std::string_view t4_invalidity(record::FailureKind kind);

/// Writes the records of `task` on `target`, those of other Temper versions and definitions too, to `path` and returns
/// how many. The file appears whole or not at all. Throws NotFound when there are none, InvalidArgument when `path` is
/// the store's own file, a design or knob is no UTF-8, or a knob is called "design", and what `OutputFile` throws.
std::int64_t export_t4(const Store& store, const TaskKey& task, std::string_view target,
                       const std::filesystem::path& path);

}  // namespace temper::store
