// After an upgrade: which of the stored winners still hold.
//
// Records of another Temper version, record schema or definition are never applied (`tune/lookup.h`). This replays the
// fastest of them by their traces (or, where a trace no longer applies, by their candidates), builds them with today's
// compiler, holds their outputs to the oracle, races those that are right against today's default, and stores what it
// found: times as fresh records, failures with their reason. A task is done once its default has a record of today:
// stopping and starting again goes on with the tasks that are left, and a task that was tuned again needs nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "temper/record/record.h"
#include "temper/space/template.h"
#include "temper/store/store.h"
#include "temper/support/cancellation.h"
#include "temper/support/clock.h"
#include "temper/target/cpu.h"
#include "temper/tune/hardware_test.h"
#include "temper/tune/task.h"
#include "temper/tune/timing.h"

namespace temper::tune {

struct RevalidateOptions {
  bool all = false;  ///< also tasks whose records are of today
  /// With `all`: tasks of which something was measured at this time or later are left out, so that a stopped check goes
  /// on. Milliseconds since 1970.
  std::optional<std::int64_t> measured_before_unix_ms = {};
  int best = 4;  ///< how many of a task's fastest records are checked; at least 1
  double max_error = kMaxError;
  TimingOptions timing = {};
  std::uint64_t seed = 0;
  CancellationToken cancellation = {};
  // What tests and callers with spaces of their own put in place of the defaults, as in `Options`.
  std::span<const space::Template> templates = space::builtin_templates();
  std::optional<target::Target> target = {};
  std::filesystem::path programs = {};
  HardwareTest* hardware = nullptr;
  const Clock* clock = nullptr;
};

/// One record that was checked.
struct CheckedRecord {
  std::int64_t id = 0;  ///< of the record that was there before
  record::CandidateRecord candidate;
  std::string temper_version;       ///< it was measured by
  double recorded_seconds = 0;      ///< then
  record::Measurement measurement;  ///< today
};

struct TaskVerdict {
  enum class Kind : std::uint8_t {
    Confirmed,    ///< a stored winner still beats the default
    DefaultKept,  ///< what was checked runs, but nothing beats the default beyond noise
    Failed,       ///< nothing that was checked may be used: see the records
    Undecided,    ///< no trustworthy times; nothing was stored, a later call tries again
    Skipped,      ///< could not be checked, see `reason`
  };
  Kind kind = Kind::Skipped;
  record::TaskKey task;
  std::string reason;          ///< why it was skipped, or has no decision; the first failure's of a task that failed
  double default_seconds = 0;  ///< 0: the default has no time
  double best_seconds = 0;     ///< of what is used from now on; 0: nothing ran
  std::string best_candidate;  ///< text; empty when nothing ran
  std::vector<CheckedRecord> records;
};
/// "confirmed", "default_kept", "failed", "undecided", "skipped".
std::string_view to_string(TaskVerdict::Kind kind);

struct RevalidateReport {
  std::vector<TaskVerdict> tasks;
  std::size_t untouched = 0;  ///< tasks of this target that needed no check
  bool cancelled = false;
};

/// Checks the tasks of this target in `store`, each as soon as it is decided in one transaction. `progress` hears of
/// each verdict, with how many tasks are done and how many there are to check. Throws Error{InvalidArgument} for
/// options out of bounds, what `start_processes` throws, and what the store throws; what was decided before stays.
RevalidateReport revalidate(
    store::Store& store, const RevalidateOptions& options,
    const std::function<void(const TaskVerdict&, std::size_t done, std::size_t all)>& progress = {});

}  // namespace temper::tune
