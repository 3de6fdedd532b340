// The tuning loop: tasks in, records out. Every task is searched under one common budget; what was measured before is
// taken from the store and never measured again; the best of a task replaces its default only if it wins a race.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "temper/cost/cost_model.h"
#include "temper/cost/model_scorer.h"
#include "temper/record/record.h"
#include "temper/search/options.h"
#include "temper/search/strategy.h"
#include "temper/space/template.h"
#include "temper/store/store.h"
#include "temper/support/cancellation.h"
#include "temper/support/clock.h"
#include "temper/target/cpu.h"
#include "temper/tune/event.h"
#include "temper/tune/model_options.h"
#include "temper/tune/roofline.h"
#include "temper/tune/scheduler.h"
#include "temper/tune/task.h"
#include "temper/tune/timing.h"
#include "temper/tune/watchdog.h"

namespace temper::tune {

class HardwareTest;

struct Options {
  /// Budget of the call, all tasks together; both may be given, then the first that ends it counts. With neither:
  /// `kDefaultBudgetSeconds` for several tasks, `kDefaultTrials` for a single one.
  std::optional<double> budget_seconds;
  std::optional<std::int64_t> trials;  ///< measurements of candidates, defaults and failures included
  /// The same for each task on its own; whichever ends first counts. With one of these, no default applies to the
  /// whole.
  std::optional<double> budget_seconds_per_task;
  std::optional<std::int64_t> trials_per_task;
  Scheduler scheduler = Scheduler::Gain;  ///< which of several tasks gets the next trials
  std::string strategy{search::kDefaultStrategy};
  search::OptionValues strategy_options;
  std::uint64_t seed = 0;
  int batch = 16;  ///< candidates between two decisions of the search
  /// A task gets no more trials after this many in a row without a gain; 0: never stop. Not given: `kDefaultPatience`
  /// for several tasks, 0 for a single one.
  std::optional<int> patience;
  /// Also report the median of uniformly drawn candidates: `kRandomSample` trials of each task go there.
  bool measure_random = false;
  /// Largest difference from the reference that a candidate of an alternative definition may show, over the largest
  /// absolute output; 0: no alternatives. What exceeds it is measured, stored with its error and never the best.
  /// Candidates of the reference definition differ by the order of additions only.
  double max_error = kMaxError;
  /// Whether winners of similar tasks in the store are among the first candidates.
  bool transfer = true;
  TimingOptions timing;
  ModelOptions models;
  store::Store* store = nullptr;  ///< borrowed; null: results live in the report only
  CancellationToken cancellation;
  std::function<void(const Event&)> progress;  ///< called from the thread of `tune`
  /// After so many seconds without a sign of life a stop is requested of `cancellation`, which ends every wait for
  /// builders and runners; 0: never. The longest that is in order is a race of candidates that each use up their limit.
  double stall_seconds = 300;
  /// Called from another thread, first when the stop is requested, then again after each further `stall_seconds`: code
  /// that does not return (a strategy, a template) cannot be stopped; whoever calls may end the process, for what was
  /// measured is in the store. Not given: stalls are logged as errors.
  std::function<void(const Stall&)> on_stall;
  /// A strategy of one's own for each task; `strategy` then only names it in the records, and `strategy_options` are
  /// not checked.
  std::function<std::unique_ptr<search::Strategy>(const search::StrategyContext&)> make_strategy;
  /// A learned cost model of one's own for each task, in place of the first of `cost::cost_models()`.
  std::function<std::unique_ptr<cost::CostModel>(const cost::CostModelContext&)> make_cost_model;
  // What tests and callers with spaces of their own put in place of the defaults.
  std::span<const space::Template> templates = space::builtin_templates();
  std::optional<target::Target> target;  ///< default: this machine
  /// Folder of temper-builder and temper-runner; empty: that of the running program, else those of PATH. The installed
  /// CMake package names its own folder in the macro TEMPER_PROGRAMS_DIR.
  std::filesystem::path programs;
  /// Of the machine that is measured on; not given: measured where `hardware` is not given either, unknown otherwise.
  std::optional<MachinePeaks> peaks;
  HardwareTest* hardware = nullptr;  ///< borrowed; null: builder and runner processes on this machine
  const Clock* clock = nullptr;      ///< borrowed; null: the system's
};
inline constexpr double kDefaultBudgetSeconds = 300;
inline constexpr std::int64_t kDefaultTrials = 200;
inline constexpr int kRandomSample = 16;
inline constexpr int kDefaultPatience = 192;

/// Exclusive parts of the wall-clock; they add up to it.
struct PhaseSeconds {
  double build = 0, run = 0, search = 0, model = 0, idle = 0;
  double total() const { return build + run + search + model + idle; }
};

struct TaskReport {
  std::string name;
  std::string key;  ///< text of the key
  int count = 1;
  std::int64_t trials = 0;   ///< measured in this call
  std::int64_t resumed = 0;  ///< taken from the store
  std::uint64_t valid_candidates = 0;
  /// Kind → how many candidates, refused schedules included; "max_error" for those that ran but may not be used.
  std::map<std::string, std::int64_t> failures;
  std::string failure_reason;  ///< what the first failure said; empty without one
  double default_seconds = 0;  ///< 0: the default could not be measured
  double best_seconds = 0;     ///< the default's when nothing beats it
  /// Medians of the rounds of the final, where both have their least times from: what `temper bench` gives for the same
  /// record.
  double default_median_seconds = 0, best_median_seconds = 0;
  double gflops = 0;            ///< of the best; 0: unknown
  double roofline_seconds = 0;  ///< what it takes at the machine's peaks, see `tune/roofline.h`; 0: unknown
  std::optional<double> median_random_seconds;
  std::string best_candidate;  ///< text; empty when nothing ran
  bool default_kept = true;    ///< nothing beat the default beyond noise
  std::int64_t record_id = 0;  ///< of the best in the store; 0: no store, or nothing ran
  std::string error;           ///< why the task could not be tuned; empty: it could
  PhaseSeconds phases;         ///< what this call spent on the task
  cost::ScorerCounts model;    ///< what the cost model saw in this call, and how well it ordered what was measured
};

struct Report {
  std::vector<TaskReport> tasks;  ///< in the order given
  double wall_seconds = 0;
  PhaseSeconds phases;  ///< of the whole call
  PhaseSeconds
      shared;  ///< of it for no task: processes start, tasks are chosen. With the tasks' phases it is the whole
  std::int64_t trials = 0;
  /// Samples that were taken and do not count: the processor's clock changed, others had the CPU.
  std::int64_t disturbed_by_clock = 0, disturbed_by_others = 0;
  bool cancelled = false;
  std::int64_t resident_bytes = 0;  ///< of this process, at the end
  std::string stalled;              ///< what stood still, when that is why it was cancelled
};

/// Tunes all tasks. A task that cannot be tuned gets an `error` in its report and does not stop the others.
/// Throws Error{InvalidArgument} (strategy, options, budget), Error{NotFound} or Error{Io} when the worker processes
/// cannot be started, and what the store throws; what was measured before an error is in the store.
Report tune(std::span<const Task> tasks, const Options& options = {});

}  // namespace temper::tune
