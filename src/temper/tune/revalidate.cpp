#include "temper/tune/revalidate.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "temper/compile/replay.h"
#include "temper/ir/compute.h"
#include "temper/measure/statistics.h"
#include "temper/runtime/thread_pool.h"
#include "temper/schedule/trace.h"
#include "temper/support/error.h"
#include "temper/support/hash.h"
#include "temper/support/random.h"
#include "temper/tune/lookup.h"
#include "temper/tune/processes.h"
#include "temper/tune/recorded_task.h"
#include "temper/tune/reference.h"
#include "temper/tune/task_space.h"
#include "temper/tune/verdict.h"
#include "temper/tune/version.h"

namespace temper::tune {
namespace {

using record::FailureKind;

/// Of a race; as many rounds as make a median comparable.
constexpr int kBlocks = kSettledRepeats / kBlockRounds;

/// A task of the store and what of it is to be checked.
struct Work {
  Task task;
  std::vector<record::Record> records;  ///< fastest first, without the default's
};

/// What runs against each other: the default, and the records.
struct Racer {
  record::Record record;                       ///< what will be stored; its measurement grows
  std::optional<schedule::Schedule> schedule;  ///< absent: it could not be replayed
  const ir::Compute* compute = nullptr;
  std::string artifact;
  bool runs() const { return schedule.has_value() && record.measurement.ok(); }
  /// Also with outputs that are right and a first time that could not be trusted: a race takes more samples.
  bool may_race() const {
    return runs() || (schedule.has_value() && record.measurement.failure == FailureKind::Unstable);
  }
  void fail(FailureKind kind, std::string reason) {
    record.measurement = {};
    record.measurement.failure = kind;
    record.measurement.reason = std::move(reason);
  }
};

/// The schedule of a record as if it were of today's definition.
LookedUp schedule_today(record::Record record, const Task& task, const RevalidateOptions& options,
                        const target::Target& target) {
  record.definition_hash = task.definition_hash;
  try {
    return schedule_of(record, task, target, options.templates);
  } catch (const Error&) {
    if (!record.trace) throw;
    record.trace.reset();  // a primitive has changed, or the definition: the knobs may still say it
    return schedule_of(record, task, target, options.templates);
  }
}

class Check {
 public:
  Check(const Work& work, const RevalidateOptions& options, const target::Target& target, HardwareTest& hardware,
        const Clock& clock)
      : work_(&work), options_(&options), target_(&target), hardware_(&hardware), clock_(&clock) {}

  TaskVerdict run() {
    seat_racers();
    build();
    verify();
    race();
    return decide();
  }

  /// What the store takes; nothing where there is no decision.
  std::vector<record::Record> records() const {
    std::vector<record::Record> out;
    for (const Racer& racer : racers_) {
      if (racer.record.measurement.failure == FailureKind::Unstable) continue;
      out.push_back(racer.record);
      out.back().created_unix_ms = clock_->unix_milliseconds();
      if (racer.runs()) out.back().trace = compile::print_recorded(*racer.compute, racer.schedule->trace());
    }
    return out;
  }

 private:
  /// A record of today without its outcome.
  record::Record fresh(record::CandidateRecord candidate, std::string strategy, std::uint64_t seed) const {
    record::Record record;
    record.task = work_->task.key;
    record.definition_hash = work_->task.definition_hash;
    record.target = target::fingerprint(*target_);
    record.temper_version = version();
    record.candidate = std::move(candidate);
    record.strategy = std::move(strategy);
    record.seed = seed;
    return record;
  }

  void seat_racers() {
    const TaskSpace space(work_->task, *target_, options_->templates);
    const search::Candidate untuned = space.default_candidate();
    racers_.push_back({fresh(search::to_record(space, untuned), kDefaultOrigin, options_->seed), {}, nullptr, {}});
    racers_.front().schedule = space.materialise(untuned);
    racers_.front().compute = &work_->task.compute;
    for (const record::Record& record : work_->records) {
      if (record.candidate == racers_.front().record.candidate) continue;
      Racer racer{fresh(record.candidate, record.strategy, record.seed), {}, nullptr, {}};
      try {
        LookedUp found = schedule_today(record, work_->task, *options_, *target_);
        racer.schedule = std::move(found.schedule);
        racer.compute = found.compute;
      } catch (const Error& error) {
        racer.fail(FailureKind::InvalidSchedule, error.message());
      }
      racers_.push_back(std::move(racer));
      checked_.push_back({record.id, record.candidate, record.temper_version, record.measurement.min_seconds, {}});
    }
  }

  void build() {
    std::vector<BuildJob> jobs;
    std::vector<Racer*> built;
    for (Racer& racer : racers_) {
      if (!racer.runs()) continue;
      jobs.push_back(
          {ir::print(*racer.compute), schedule::print(racer.schedule->trace()), racer.record.candidate.text()});
      built.push_back(&racer);
    }
    std::vector<BuildResult> results = hardware_->build(jobs);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!results[i].ok()) built[i]->fail(results[i].failure, results[i].reason);
      built[i]->record.measurement.build_seconds = results[i].seconds;
      built[i]->artifact = std::move(results[i].artifact);
    }
  }

  /// Outputs of the reference definition are held to the oracle first, the default's before all; then every element of
  /// every racer's to those.
  void verify() {
    const Task& task = work_->task;
    Reference reference(task.compute, task.tolerance_factor, hash_combine(options_->seed, hash_text(task.key.text())),
                        task.cold_constants);
    hardware_->set_task(reference.data(), std::nullopt);
    std::vector<Racer*> order;
    for (Racer& racer : racers_) order.push_back(&racer);
    std::ranges::stable_partition(
        order, [](const Racer* racer) { return algorithm_of(racer->record.candidate.design).empty(); });
    for (Racer* racer : order) {
      if (reference.established()) break;
      if (!racer->runs()) continue;
      const RunOnce once = hardware_->run_once(racer->artifact);
      if (!once.ok()) {
        racer->fail(once.failure, once.reason);
      } else if (std::optional<std::string> wrong = reference.establish(once.outputs)) {
        racer->fail(FailureKind::WrongResult, std::move(*wrong));
      }
    }
    if (!reference.established()) return;
    hardware_->set_task(reference.data(), std::nullopt);
    for (Racer& racer : racers_) {
      if (!racer.runs()) continue;
      const double build_seconds = racer.record.measurement.build_seconds;
      racer.record.measurement = hardware_->time(racer.artifact);
      racer.record.measurement.build_seconds = build_seconds;
    }
  }

  void race() {
    std::vector<Racer*> field;
    for (Racer& racer : racers_) {
      if (racer.may_race()) field.push_back(&racer);
    }
    if (field.empty()) return;
    std::vector<std::vector<double>> samples(field.size());
    std::vector<std::int64_t> known(field.size());
    std::vector<std::size_t> order(field.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const RandomStream random = RandomStream(options_->seed).fork("revalidate");
    for (int block = 0; block < kBlocks; ++block) {
      RandomStream draw = random.fork(static_cast<std::uint64_t>(block));
      draw.shuffle(order);
      std::vector<std::string> artifacts;
      std::vector<std::int64_t> numbers;
      for (const std::size_t i : order) {
        artifacts.push_back(field[i]->artifact);
        if (block > 0) numbers.push_back(known[i]);
      }
      const RaceResult result = hardware_->race(artifacts, numbers, kBlockRounds, draw.next());
      if (!result.ok() || result.samples.size() != field.size() || result.numbers.size() != field.size()) return;
      for (std::size_t i = 0; i < order.size(); ++i) {
        known[order[i]] = result.numbers[i];
        samples[order[i]].insert(samples[order[i]].end(), result.samples[i].begin(), result.samples[i].end());
      }
    }
    for (std::size_t i = 0; i < field.size(); ++i) {
      record::Measurement& measurement = field[i]->record.measurement;
      measurement.failure = FailureKind::None;
      measurement.reason.clear();
      measurement.min_seconds = measure::minimum(samples[i]);
      measurement.median_seconds = measure::median(samples[i]);
      measurement.repeats = static_cast<int>(samples[i].size());
    }
  }

  TaskVerdict decide() {
    TaskVerdict verdict;
    verdict.task = work_->task.key;
    const record::Measurement& untuned = racers_.front().record.measurement;
    std::vector<const record::Record*> ranked;
    for (std::size_t i = 1; i < racers_.size(); ++i) {
      const record::Record& record = racers_[i].record;
      const record::Measurement& measurement = record.measurement;
      checked_[i - 1].measurement = measurement;
      if (racers_[i].runs() && within_max_error(record.candidate.design, measurement, options_->max_error))
        ranked.push_back(&record);
      if (!measurement.ok() && verdict.reason.empty()) verdict.reason = measurement.reason;
    }
    verdict.records = checked_;
    if (untuned.ok()) verdict.default_seconds = untuned.min_seconds;
    const bool unsteady = std::ranges::any_of(
        racers_, [](const Racer& r) { return r.record.measurement.failure == FailureKind::Unstable; });
    if (untuned.failure == FailureKind::Unstable || (ranked.empty() && unsteady)) {
      verdict.kind = TaskVerdict::Kind::Undecided;
      verdict.reason = "there are no trustworthy times";
      return verdict;
    }
    std::ranges::stable_sort(ranked, {}, [](const record::Record* r) { return r->measurement.min_seconds; });
    lead_with_preferred(ranked.begin(), ranked.end(),
                        [](const record::Record* r) -> const record::Measurement& { return r->measurement; });
    const auto winner = std::ranges::find_if(
        ranked, [&](const record::Record* r) { return !untuned.ok() || beats(r->measurement, untuned); });
    const record::Record* used = winner != ranked.end() ? *winner : untuned.ok() ? &racers_.front().record : nullptr;
    if (used != nullptr) {
      verdict.best_seconds = used->measurement.min_seconds;
      verdict.best_candidate = used->candidate.text();
    }
    verdict.kind = winner != ranked.end() ? TaskVerdict::Kind::Confirmed
                   : !ranked.empty()      ? TaskVerdict::Kind::DefaultKept
                                          : TaskVerdict::Kind::Failed;
    // Where the default alone was there, it is what was checked.
    if (checked_.empty() && untuned.ok()) verdict.kind = TaskVerdict::Kind::DefaultKept;
    if (!untuned.ok() && verdict.reason.empty()) verdict.reason = untuned.reason;
    return verdict;
  }

  const Work* work_;
  const RevalidateOptions* options_;
  const target::Target* target_;
  HardwareTest* hardware_;
  const Clock* clock_;
  std::vector<Racer> racers_;           ///< the default first
  std::vector<CheckedRecord> checked_;  ///< of the other racers
};

TaskVerdict skipped(const record::TaskKey& task, std::string reason) {
  TaskVerdict verdict;
  verdict.task = task;
  verdict.reason = std::move(reason);
  return verdict;
}

/// What is to be done, in the order of threads; what cannot be done is in `report` at once.
class Plan {
 public:
  Plan(const store::Store& store, const RevalidateOptions& options, const std::string& fingerprint) {
    for (const store::TaskSummary& summary : store.tasks()) {
      if (summary.target == fingerprint) add(store, options, summary);
    }
    std::ranges::stable_sort(work_, {}, [](const Work& work) { return work.task.threads; });
  }

  const std::vector<Work>& work() const { return work_; }
  const std::vector<TaskVerdict>& skips() const { return skips_; }
  std::size_t untouched() const { return untouched_; }

 private:
  void add(const store::Store& store, const RevalidateOptions& options, const store::TaskSummary& summary) {
    constexpr int kLookedAt = 16;
    const auto is_old = [](const record::Record& r) {
      return r.temper_version != version() || r.schema != record::kRecordSchema;
    };
    std::vector<record::Record> best = store.best(summary.task, summary.target, std::max(kLookedAt, options.best));
    std::optional<Task> task = task_of(store, summary.task, summary.target);
    const bool stale = std::ranges::any_of(
        best, [&](const record::Record& r) { return task ? !is_current(r, task->definition_hash) : is_old(r); });
    const bool checked =
        task && std::ranges::any_of(store.defaults(summary.task, summary.target), [&](const auto& r) {
          return is_current(r, task->definition_hash) && r.measurement.failure != FailureKind::Unstable;
        });
    const bool again = options.all && !(options.measured_before_unix_ms &&
                                        summary.updated_unix_ms >= *options.measured_before_unix_ms);
    if (!again && (checked || !stale)) {
      ++untouched_;
      return;
    }
    if (!task) {
      skips_.push_back(skipped(summary.task, "its definition is not in the database; tune its model again"));
      return;
    }
    if (best.size() > static_cast<std::size_t>(options.best)) best.resize(static_cast<std::size_t>(options.best));
    work_.push_back({std::move(*task), std::move(best)});
  }

  std::vector<Work> work_;
  std::vector<TaskVerdict> skips_;
  std::size_t untouched_ = 0;
};

}  // namespace

std::string_view to_string(TaskVerdict::Kind kind) {
  switch (kind) {
    case TaskVerdict::Kind::Confirmed: return "confirmed";
    case TaskVerdict::Kind::DefaultKept: return "default_kept";
    case TaskVerdict::Kind::Failed: return "failed";
    case TaskVerdict::Kind::Undecided: return "undecided";
    case TaskVerdict::Kind::Skipped: return "skipped";
  }
  return "skipped";
}

RevalidateReport revalidate(
    store::Store& store, const RevalidateOptions& options,
    const std::function<void(const TaskVerdict&, std::size_t done, std::size_t all)>& progress) {
  if (options.best < 1)
    throw Error(ErrorCode::InvalidArgument, "at least one record of a task is checked", "best",
                "give a number above 0");
  const SystemClock system_clock;
  const Clock& clock = options.clock != nullptr ? *options.clock : system_clock;
  const target::Target target = options.target ? *options.target : target::detect();
  const Plan plan(store, options, target::fingerprint(target));
  RevalidateReport report;
  report.untouched = plan.untouched();
  const std::size_t all = plan.work().size() + plan.skips().size();
  const auto add = [&](TaskVerdict verdict) {
    report.tasks.push_back(std::move(verdict));
    if (progress) progress(report.tasks.back(), report.tasks.size(), all);
  };
  for (const TaskVerdict& skip : plan.skips()) add(skip);
  std::unique_ptr<HardwareTest> processes;
  int threads = 0;
  for (const Work& work : plan.work()) {
    if (options.cancellation.requested()) break;
    const auto cpus = static_cast<int>(runtime::allowed_cpus().size());
    if (options.hardware == nullptr && work.task.threads > cpus) {
      add(skipped(work.task.key, "its " + std::to_string(work.task.threads) + " threads cannot be timed on " +
                                     std::to_string(cpus) + " CPUs"));
      continue;
    }
    if (options.hardware == nullptr && work.task.threads != threads) {
      processes.reset();
      processes =
          start_processes(target, work.task.threads, options.cancellation, clock, options.programs, options.timing);
      threads = work.task.threads;
    }
    try {
      Check check(work, options, target, options.hardware != nullptr ? *options.hardware : *processes, clock);
      TaskVerdict verdict = check.run();
      if (verdict.kind != TaskVerdict::Kind::Undecided) store.append(check.records(), store::OnConflict::Replace);
      add(std::move(verdict));
    } catch (const Error& error) {
      switch (error.code()) {
        case ErrorCode::Cancelled: report.cancelled = true; return report;
        case ErrorCode::Unsupported:
        case ErrorCode::InvalidArgument:
        case ErrorCode::NotFound:
        case ErrorCode::Internal: add(skipped(work.task.key, error.message())); break;
        default: throw;  // the machine, the store: nothing else would work either
      }
    }
  }
  report.cancelled = options.cancellation.requested();
  return report;
}

}  // namespace temper::tune
