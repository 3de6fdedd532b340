#include "temper/tune/task_tuner.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <utility>

#include "temper/compile/replay.h"
#include "temper/cost/cost_model.h"
#include "temper/nest/build.h"
#include "temper/protocol/channel.h"
#include "temper/schedule/trace.h"
#include "temper/support/error.h"
#include "temper/support/hash.h"
#include "temper/support/parallel.h"
#include "temper/tune/dataset.h"
#include "temper/tune/hardware_phase.h"
#include "temper/tune/verdict.h"
#include "temper/tune/version.h"

namespace temper::tune {
namespace {

using record::FailureKind;
using record::Measurement;

/// Refused schedules cost no trial; after so many batches with nothing else the space counts as exhausted.
constexpr int kMostRefusedBatches = 16;
/// How many tasks of the same operator are asked for their winner.
constexpr int kNearestTasks = 6;
/// Weight of the latest trial in the expected time of the next one.
constexpr double kLatest = 0.3;
/// A gain must be this large to renew the patience.
constexpr double kPatienceGain = 0.005;

Measurement failed(FailureKind kind, std::string reason) {
  Measurement measurement;
  measurement.failure = kind;
  measurement.reason = std::move(reason);
  return measurement;
}

}  // namespace

TaskTuner::TaskTuner(const Task& task, std::size_t number, Session& session)
    : task_(&task),
      number_(number),
      session_(&session),
      seed_(hash_combine(session.options->seed, hash_text(task.key.text()))),
      roofline_seconds_(roofline_seconds(task, session.peaks)),
      budget_(session.options->budget_seconds_per_task, session.options->trials_per_task) {}

void TaskTuner::check_size() const {
  double bytes = 0;
  for (const ir::StagePtr& stage : task_->compute.stages) {
    const bool output = std::ranges::find(task_->compute.outputs, stage) != task_->compute.outputs.end();
    if (stage->kind != ir::StageKind::Placeholder && !output) continue;
    double elements = 1;
    for (const std::int64_t extent : stage->shape()) elements *= static_cast<double>(extent);
    for (const ir::DType dtype : stage->dtypes) bytes += elements * static_cast<double>(ir::bytes(dtype));
  }
  constexpr auto kMost = static_cast<double>(protocol::kMaxMessageBytes);
  if (bytes < kMost) return;
  throw Error(ErrorCode::Unsupported,
              "its tensors take " + std::to_string(static_cast<std::int64_t>(bytes / 1048576)) +
                  " MiB; a task is measured with at most " + std::to_string(protocol::kMaxMessageBytes >> 20),
              task_->name, "tune a smaller batch or shape");
}

void TaskTuner::attempt(const std::function<void()>& work) {
  const PhaseClock::TaskScope scope(*session_->phases, number_);
  try {
    work();
  } catch (const Error& error) {
    switch (error.code()) {
      case ErrorCode::Unsupported:
      case ErrorCode::InvalidArgument:
      case ErrorCode::Internal: fail(error.what()); break;
      default: throw;
    }
  }
}

void TaskTuner::begin() {
  note("preparing");
  check_size();
  const Options& options = *session_->options;
  space_ = std::make_unique<TaskSpace>(
      *task_, session_->target, options.templates,
      options.max_error > 0 ? TaskSpace::Algorithms::All : TaskSpace::Algorithms::Reference);
  index_ = std::make_unique<search::SpaceIndex>(*space_);
  const cost::CostModelContext learning{seed_, 1, {}};
  std::unique_ptr<cost::CostModel> learner = options.make_cost_model
                                                 ? options.make_cost_model(learning)
                                                 : cost::make_cost_model(options.models.learner, learning);
  // Nothing is built while candidates are scored: the threads are as many as the builders, and have their cores.
  scorer_ = std::make_unique<CandidateScorer>(*space_, *task_, session_->target, std::move(learner),
                                              options.models.pretrained, session_->hardware->parallel_builds(),
                                              *session_->phases);
  search::StrategyContext context;
  context.space = space_.get();
  context.index = index_.get();
  context.scorer = scorer_.get();
  context.seed = seed_;
  context.options = options.strategy_options;
  strategy_ = options.make_strategy ? options.make_strategy(context) : search::make_strategy(options.strategy, context);
  default_ = space_->default_candidate();
  resume();
  begun_ = true;
  measure({*default_}, kDefaultOrigin);
  if (default_entry()) emit(Event::Kind::TaskStarted);
}

void TaskTuner::resume() {
  if (session_->options->store == nullptr) return;
  const std::vector<record::Record> records = session_->options->store->all(task_->key, session_->fingerprint);
  take(records);
  const record::Record* stale = nullptr;
  for (const record::Record& record : records) {
    if (is_current(record, task_->definition_hash) || !record.measurement.ok()) continue;
    if (stale == nullptr || record.measurement.min_seconds < stale->measurement.min_seconds) stale = &record;
  }
  if (stale == nullptr) return;
  try {
    const search::Candidate candidate = search::from_record(*space_, stale->candidate);
    propose(candidate);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::NotFound) throw;
  }
}

void TaskTuner::take(std::span<const record::Record> records) {
  std::vector<search::Told> told;
  for (const record::Record& record : records) {
    newest_ = std::max(newest_, record.id);
    if (!is_current(record, task_->definition_hash)) continue;
    try {
      const search::Candidate candidate = search::from_record(*space_, record.candidate);
      if (at_.contains(candidate)) continue;
      // Every gain is told against the default: without a time that can be trusted it is measured anew.
      if (candidate == *default_ && record.measurement.failure == FailureKind::Unstable) continue;
      at_.emplace(candidate, entries_.size());
      entries_.push_back({candidate, record.measurement, record.strategy, record.seed, {}, false});
      const bool counts = usable(entries_.back());
      told.push_back({candidate, counts, record.measurement.min_seconds});
      const double before = best_by_trial_.empty() ? 0 : best_by_trial_.back();
      const bool gain = counts && (before == 0 || record.measurement.min_seconds < before);
      if (record.measurement.failure != FailureKind::InvalidSchedule)
        best_by_trial_.push_back(gain ? record.measurement.min_seconds : before);
      ++resumed_;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::NotFound) throw;  // the space has changed: nothing to learn from it
    }
  }
  strategy_->tell(told);
  scorer_->tell(told);
}

void TaskTuner::hear_others() {
  if (session_->options->store == nullptr) return;
  const std::vector<record::Record> records =
      session_->options->store->newer(task_->key, session_->fingerprint, newest_);
  if (!records.empty()) take(records);
}

void TaskTuner::transfer() {
  next_transfer_ = std::max(2 * trials_, std::int64_t{1});
  const store::Store* store = session_->options->store;
  if (store == nullptr || !session_->options->transfer) return;
  for (const store::NearTask& near : store->nearest_tasks(task_->key, kNearestTasks, session_->fingerprint)) {
    if (near.summary.task == task_->key) continue;
    for (const record::Record& record : store->best(near.summary.task, near.summary.target, 1)) {
      if (record.schema != record::kRecordSchema || record.temper_version != version()) continue;
      try {
        const search::Candidate candidate = search::from_record(*space_, record.candidate);
        propose(candidate);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::NotFound) throw;  // what won there cannot be chosen here
      }
    }
  }
}

void TaskTuner::propose(const search::Candidate& candidate) {
  if (!index_->contains(candidate) || at_.contains(candidate)) return;
  if (std::ranges::find(proposals_, candidate) == proposals_.end()) proposals_.push_back(candidate);
}

void TaskTuner::sample_random() {
  if (index_->size() == 0) return;
  RandomStream random = RandomStream(seed_).fork("sample");
  search::CandidateSet drawn;
  const std::uint64_t wanted = std::min<std::uint64_t>(kRandomSample, index_->size());
  for (int attempt = 0; attempt < 8 * kRandomSample && drawn.size() < wanted; ++attempt) {
    const search::Candidate candidate = index_->sample_by_design(random);
    if (drawn.insert(candidate).second) sample_.push_back(candidate);
  }
  measure(sample_, kSampleOrigin);
}

void TaskTuner::measure_sample(std::size_t count, std::uint64_t seed) {
  constexpr std::size_t kBatch = 32;  // one transaction each
  const std::vector<search::Candidate> sample = draw_sample(*index_, count, *task_, seed);
  for (std::size_t first = 0; first < sample.size(); first += kBatch) {
    const auto begin = sample.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = sample.begin() + static_cast<std::ptrdiff_t>(std::min(first + kBatch, sample.size()));
    if (!measure({begin, end}, kSampleOrigin)) return;
  }
}

void TaskTuner::step(int count) {
  const double start = session_->phases->elapsed();
  const std::int64_t before = trials_;
  budget_.reserve(race_estimate());
  search(static_cast<int>(std::min<std::int64_t>(count, trials_left())));
  if (trials_ == before) return;
  const double took = (session_->phases->elapsed() - start) / static_cast<double>(trials_ - before);
  step_seconds_ = step_seconds_ == 0 ? took : kLatest * took + (1 - kLatest) * step_seconds_;
}

void TaskTuner::search(int count) {
  if (trials_ >= next_transfer_) transfer();
  hear_others();
  const auto first = static_cast<std::ptrdiff_t>(std::min(proposals_.size(), static_cast<std::size_t>(count)));
  std::vector<search::Candidate> batch(proposals_.begin(), proposals_.begin() + first);
  proposals_.erase(proposals_.begin(), proposals_.begin() + first);
  const std::int64_t before = trials_;
  for (int refused = 0; refused < kMostRefusedBatches; ++refused) {
    strategy_->set_progress(spent_share());
    const int missing = count - static_cast<int>(batch.size());
    if (missing > 0) {
      const std::vector<search::Candidate> asked = ask(missing);
      if (session_->stop()) return;
      if (asked.empty()) exhausted_ = true;
      batch.insert(batch.end(), asked.begin(), asked.end());
    }
    const bool complete = measure(batch, session_->options->strategy);
    if (!complete) {
      // No strategy proposes a candidate twice: what is left of these comes first where the search goes on.
      std::erase_if(batch, [&](const search::Candidate& candidate) { return at_.contains(candidate); });
      proposals_.insert(proposals_.begin(), batch.begin(), batch.end());
    }
    if (!complete || exhausted_ || trials_ > before) return;
    batch.clear();
  }
  exhausted_ = true;
}

std::vector<search::Candidate> TaskTuner::ask(int count) {
  note("searching for candidates of");
  std::vector<search::Candidate> asked;
  try {
    const HardwarePhase scope(*session_->phases, Phase::Search, *session_->hardware);
    session_->hardware->keep_busy([&] { asked = strategy_->ask(count); });
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Cancelled) throw;
    session_->cancelled = true;
  }
  return asked;
}

bool TaskTuner::fits_trial() const {
  return session_->budget.allows_trial(session_->phases->elapsed(), trial_seconds_) &&
         budget_.allows_trial(session_->phases->task_seconds(number_), trial_seconds_);
}

bool TaskTuner::has_time() const {
  return session_->budget.allows_seconds(session_->phases->elapsed(), 0) &&
         budget_.allows_seconds(session_->phases->task_seconds(number_), 0);
}

std::int64_t TaskTuner::trials_left() const {
  constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
  return std::min(session_->budget.trials_left().value_or(kAny), budget_.trials_left().value_or(kAny));
}

double TaskTuner::spent_share() const {
  return std::max(session_->budget.progress(session_->phases->elapsed()),
                  budget_.progress(session_->phases->task_seconds(number_)));
}

TaskTuner::Prepared TaskTuner::prepare(const search::Candidate& candidate) const {
  try {
    const schedule::Schedule schedule = space_->materialise(candidate);
    nest::verify(nest::build(schedule), schedule);
    return {build_job(*space_, candidate, schedule), {}};
  } catch (const Error& error) {
    const FailureKind kind =
        error.code() == ErrorCode::Unsupported ? FailureKind::ResourceLimit : FailureKind::InvalidSchedule;
    return {std::nullopt, failed(kind, error.what())};
  }
}

std::vector<TaskTuner::Job> TaskTuner::prepare(const std::vector<search::Candidate>& batch, const std::string& origin) {
  note("preparing candidates of");
  std::vector<search::Candidate> candidates;
  search::CandidateSet seen;  // proposals from elsewhere and the strategy's own may be equal
  for (const search::Candidate& candidate : batch) {
    if (!at_.contains(candidate) && seen.insert(candidate).second) candidates.push_back(candidate);
  }
  std::vector<Prepared> prepared(candidates.size());
  {
    const HardwarePhase scope(*session_->phases, Phase::Search, *session_->hardware);
    session_->hardware->keep_busy([&] {
      share_among_threads(static_cast<int>(candidates.size()), session_->hardware->parallel_builds(), [&](int i) {
        prepared[static_cast<std::size_t>(i)] = prepare(candidates[static_cast<std::size_t>(i)]);
      });
    });
  }
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (prepared[i].build) {
      jobs.push_back({candidates[i], std::move(*prepared[i].build)});
      continue;
    }
    add(candidates[i], std::move(prepared[i].failure), origin, {});
    emit_trial(entries_.back());
  }
  return jobs;
}

bool TaskTuner::measure(const std::vector<search::Candidate>& batch, const std::string& origin) {
  bool complete = true;
  std::exception_ptr broken;
  try {
    const std::vector<Job> jobs = prepare(batch, origin);
    if (!jobs.empty() && fits_trial() && !session_->stop()) load_task();
    const auto chunk = static_cast<std::size_t>(std::max(session_->hardware->parallel_builds(), 1));
    for (std::size_t first = 0; first < jobs.size() && complete; first += chunk) {
      if (session_->stop() || !fits_trial()) {
        complete = false;
        break;
      }
      const auto most =
          static_cast<std::size_t>(std::min<std::int64_t>(static_cast<std::int64_t>(chunk), trials_left()));
      const std::size_t last = std::min(first + most, jobs.size());
      std::vector<BuildJob> builds;
      for (std::size_t i = first; i < last; ++i) builds.push_back(jobs[i].build);
      const double build_start = session_->phases->elapsed();
      double build_seconds = 0;  // of one
      std::vector<BuildResult> built;
      {
        note("building candidates of");
        const HardwarePhase scope(*session_->phases, Phase::Build, *session_->hardware);
        built = session_->hardware->build(builds);
        build_seconds = (session_->phases->elapsed() - build_start - scope.waited()) /
                        static_cast<double>(std::max<std::size_t>(built.size(), 1));
      }
      for (std::size_t i = 0; i < built.size(); ++i) {
        if (session_->stop() || !fits_trial()) {
          complete = false;
          break;
        }
        note("timing a candidate of");
        const double start = session_->phases->elapsed();
        Measurement measurement = built[i].ok() ? run(built[i]) : failed(built[i].failure, built[i].reason);
        measurement.build_seconds = built[i].seconds;
        const double took = build_seconds + session_->phases->elapsed() - start;
        trial_seconds_ = trials_ == 0 ? took : kLatest * took + (1 - kLatest) * trial_seconds_;
        session_->budget.spend_trial();
        budget_.spend_trial();
        ++trials_;
        add(jobs[first + i].candidate, std::move(measurement), origin, std::move(built[i].artifact));
        const Entry& added = entries_.back();
        const double best = best_by_trial_.empty() ? 0 : best_by_trial_.back(), time = added.measurement.min_seconds;
        const bool gain = usable(added) && (best == 0 || time < best);
        since_gain_ = gain && (best == 0 || time < best * (1 - kPatienceGain)) ? 0 : since_gain_ + 1;
        best_by_trial_.push_back(gain ? time : best);
        emit_trial(added);
        if (gain && trials_ > 1) emit(Event::Kind::NewBest);
      }
      if (last < std::min(first + chunk, jobs.size())) complete = false;
    }
  } catch (const Error& error) {
    // A stop that was asked for ends the batch; anything else is thrown on, once what was measured is safe.
    complete = false;
    if (error.code() == ErrorCode::Cancelled) {
      session_->cancelled = true;
    } else {
      broken = std::current_exception();
    }
  } catch (...) {  // of whoever listens
    broken = std::current_exception();
  }
  const bool any = !uncommitted_.empty();
  commit();
  if (broken) std::rethrow_exception(broken);
  if (any) emit(Event::Kind::BatchMeasured);
  return complete;
}

void TaskTuner::load_task() {
  if (!reference_) {
    reference_.emplace(task_->compute, task_->tolerance_factor, seed_, task_->cold_constants);
    session_->loaded = nullptr;
  }
  if (session_->loaded != this) {
    const PhaseClock::Scope scope(*session_->phases, Phase::Run);
    set_task();
    session_->loaded = this;
  }
  if (!reference_->established()) recover_reference();
}

void TaskTuner::set_task() {
  const std::optional<std::size_t> best = fastest();
  session_->hardware->set_task(reference_->data(),
                               best ? std::optional(entries_[*best].measurement.min_seconds) : std::nullopt);
}

void TaskTuner::recover_reference() {
  // A task that is taken up again has no verified outputs at hand: what ran before gives them, without being timed.
  std::vector<std::size_t> sources = ranking();
  if (const std::optional<std::size_t> entry = default_entry(); entry && entries_[*entry].measurement.ok())
    sources.insert(sources.begin(), *entry);
  // Outputs of the reference definition are closest to it.
  std::ranges::stable_partition(sources, [&](std::size_t i) { return algorithm_of(design_of(entries_[i])).empty(); });
  if (sources.size() > 3) sources.resize(3);
  for (const std::size_t i : sources) {
    Entry& entry = entries_[i];
    std::vector<BuildResult> built;
    {
      const HardwarePhase scope(*session_->phases, Phase::Build, *session_->hardware);
      const BuildJob job = build_job(*space_, entry.candidate, space_->materialise(entry.candidate));
      built = session_->hardware->build({&job, 1});
    }
    if (built.empty() || !built.front().ok()) continue;
    const HardwarePhase scope(*session_->phases, Phase::Run, *session_->hardware);
    const RunOnce once = session_->hardware->run_once(built.front().artifact);
    if (!once.ok() || reference_->establish(once.outputs)) continue;
    entry.artifact = std::move(built.front().artifact);
    set_task();
    return;
  }
}

const std::string& TaskTuner::design_of(const Entry& entry) const {
  return space_->designs()[static_cast<std::size_t>(entry.candidate.design)].name;
}

bool TaskTuner::usable(const Entry& entry) const {
  return entry.measurement.ok() && within_max_error(design_of(entry), entry.measurement, session_->options->max_error);
}

Measurement TaskTuner::run(const BuildResult& built) {
  const HardwarePhase scope(*session_->phases, Phase::Run, *session_->hardware);
  Measurement measurement;
  double checking = 0;
  if (!reference_->established()) {
    const RunOnce once = session_->hardware->run_once(built.artifact);
    checking = once.seconds;
    if (!once.ok()) {
      measurement = failed(once.failure, once.reason);
    } else if (std::optional<std::string> wrong = reference_->establish(once.outputs)) {
      measurement = failed(FailureKind::WrongResult, std::move(*wrong));
    } else {
      set_task();
    }
  }
  if (measurement.ok()) measurement = session_->hardware->time(built.artifact);
  measurement.run_seconds += checking;
  return measurement;
}

void TaskTuner::add(const search::Candidate& candidate, Measurement measurement, const std::string& origin,
                    std::string artifact) {
  at_.emplace(candidate, entries_.size());
  uncommitted_.push_back(entries_.size());
  entries_.push_back({candidate, std::move(measurement), origin, session_->options->seed, std::move(artifact), false});
  const Entry& entry = entries_.back();
  if (usable(entry)) return;
  const Measurement& unusable = entry.measurement;
  ++failures_[unusable.ok() ? "max_error" : std::string(record::to_string(unusable.failure))];
  if (failure_reason_.empty())
    failure_reason_ = unusable.ok() ? beyond_max_error(unusable, session_->options->max_error) : unusable.reason;
}

void TaskTuner::commit() {
  if (uncommitted_.empty()) return;
  std::vector<search::Told> told;
  for (const std::size_t i : uncommitted_) {
    const Entry& entry = entries_[i];
    told.push_back({entry.candidate, usable(entry), entry.measurement.min_seconds});
  }
  if (session_->options->store != nullptr) {
    const std::vector<std::size_t> kept = racers();
    std::vector<record::Record> records;
    for (const std::size_t i : uncommitted_) {
      records.push_back(to_record(entries_[i]));
      if (std::ranges::find(kept, i) != kept.end()) records.back().trace = trace_of(entries_[i]);
    }
    session_->options->store->append(records);
  }
  uncommitted_.clear();
  forget_artifacts();
  note("learning from candidates of");
  strategy_->tell(told);
  scorer_->tell(told);
}

record::Record TaskTuner::to_record(const Entry& entry) const {
  record::Record record;
  record.task = task_->key;
  record.definition_hash = task_->definition_hash;
  record.target = session_->fingerprint;
  record.temper_version = version();
  record.candidate = search::to_record(*space_, entry.candidate);
  record.measurement = entry.measurement;
  record.strategy = entry.origin;
  record.seed = entry.seed;
  record.created_unix_ms = session_->clock->unix_milliseconds();
  return record;
}

std::optional<std::string> TaskTuner::trace_of(const Entry& entry) const {
  if (!entry.measurement.ok()) return std::nullopt;
  return compile::print_recorded(space_->compute(entry.candidate), space_->materialise(entry.candidate).trace());
}

std::vector<std::size_t> TaskTuner::ranking() const {
  std::vector<std::size_t> ranked;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (usable(entries_[i])) ranked.push_back(i);
  }
  std::ranges::stable_sort(ranked, {}, [&](std::size_t i) { return entries_[i].measurement.min_seconds; });
  return ranked;
}

std::optional<std::size_t> TaskTuner::default_entry() const {
  if (!default_) return std::nullopt;
  const auto found = at_.find(*default_);
  if (found == at_.end()) return std::nullopt;
  return found->second;
}

void TaskTuner::forget_artifacts() {
  const std::vector<std::size_t> keep = racers();
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (std::ranges::find(keep, i) == keep.end()) std::string().swap(entries_[i].artifact);
  }
}

std::optional<std::size_t> TaskTuner::fastest() const {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const bool faster = !found || entries_[i].measurement.min_seconds < entries_[*found].measurement.min_seconds;
    if (usable(entries_[i]) && faster) found = i;
  }
  return found;
}

bool TaskTuner::open() const {
  return begun_ && (!exhausted_ || !proposals_.empty()) && !out_of_patience() &&
         budget_.allows_trial(session_->phases->task_seconds(number_), trial_seconds_);
}

bool TaskTuner::out_of_patience() const { return session_->patience > 0 && since_gain_ >= session_->patience; }

}  // namespace temper::tune
