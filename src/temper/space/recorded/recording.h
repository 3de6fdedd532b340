// Measurements of a whole space that somebody took and wrote to a file: T4 results, or a cache of Kernel Tuner.
//
// T4: `results[]` with `configuration`, `times`, `invalidity`, `measurements[]`, `objectives[]`; `metadata.timeunit`.
// Cache: `tune_params_keys`, `tune_params`, `cache{key: entry}`; in an entry the parameters, the objective, and
// `compile_time`, `verification_time`, `benchmark_time`, `framework_time` in milliseconds.
//
// Files are read as people have them. What is amiss is never an entry less without a word: `notes` says what was found,
// how often, and what was made of it.
// - An entry failed when its `invalidity` says so, when its time is a text that is no number, null, NaN, infinite, not
//   above zero, or 1e20 and above (which old caches write for failures), or when it has `__error__`. It stays in the
//   space: a search pays for it and learns that it failed. Only entries that break the space's own constraints
//   (`invalidity` "constraints") are left out.
// - A text where a number should be is that number when it is written like one.
// - An entry that comes again replaces the earlier one, but a failure never replaces a time.
// - An entry that lacks a parameter, or has no configuration, is skipped.
// - Units: "miliseconds", "ms", "s", "us", "ns" and their long names; a measurement's own unit goes before the file's;
//   where neither is given they are milliseconds.
// - The time is the recorded value of the objective, not the mean of its repeats.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "temper/record/record.h"
#include "temper/space/recorded/description.h"

namespace temper::space::recorded {

struct Entry {
  std::vector<std::int32_t> choice;  ///< an index into each parameter's values
  record::FailureKind failure = record::FailureKind::None;
  std::string reason = {};   ///< of the failure, in the file's words
  double seconds = 0;        ///< meaningful without a failure
  double spent_seconds = 0;  ///< what it took to find out: compiling, checking, all runs, the tuner's own overhead
};

struct Recording {
  std::string name;                   ///< the file's name without its endings
  std::vector<Parameter> parameters;  ///< those of a cache in its order, of T4 by name; values occur, numbers rise
  std::vector<Entry> entries;         ///< distinct choices
  std::vector<std::string> notes;
};

/// Whether `read_recording` knows the format.
bool is_recording(const Json& root);
/// Throws Error{InvalidArgument} when nothing in the file can be used or a unit is unknown, and Error{Unsupported} when
/// its objective is no time.
Recording read_recording(const Json& root, const std::string& name, const std::string& where);

/// Puts parameters and values into the description's order. Notes say which recorded values and configurations the
/// description does not allow, and how many that it allows were not recorded. Requires that it describes the recording.
void apply_description(Recording& recording, const Description& description);
/// Whether every recorded parameter is one of the description's, and its other parameters have one value each.
bool describes(const Description& description, const Recording& recording);

}  // namespace temper::space::recorded
