// Making a database smaller without losing what is used.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "temper/store/store.h"
#include "temper/support/cancellation.h"

namespace temper::tune {

struct PruneOptions {
  /// Of each task and target, only so many records with a time stay: those of today first, the fastest of these first.
  std::optional<int> keep = {};
  bool stale = false;     ///< drop records of another Temper version or record schema
  bool failures = false;  ///< drop failures; whoever tunes on measures such candidates again
  bool dry_run = false;   ///< only count
  CancellationToken cancellation = {};
};

struct PruneReport {
  std::int64_t records = 0;  ///< that were there
  std::int64_t removed = 0;  ///< or would be, in a dry run
  /// Why → how many: "stale", "failure", "slower".
  std::map<std::string, std::int64_t> reasons;
  bool cancelled = false;  ///< some tasks were not looked at
};

/// Removes what `options` names, one task at a time, each in one transaction. Whatever they say, these stay of each
/// task and target: the record of the default schedule, and what look-ups use or would use, the fastest and the
/// preferred of `tune/verdict.h`, of each definition; of today's records where there are any, else of the others.
/// Throws Error{InvalidArgument} when nothing is asked for or `keep` is below 1, and what the store throws.
PruneReport prune(store::Store& store, const PruneOptions& options);

}  // namespace temper::tune
