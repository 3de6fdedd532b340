// What a task tuner tells: its progress to the scheduler, its events to the caller, its report at the end.
#include <algorithm>
#include <array>
#include <utility>

#include "temper/measure/statistics.h"
#include "temper/tune/task_tuner.h"

namespace temper::tune {

std::string_view to_string(Event::Kind kind) {
  using Kind = Event::Kind;
  static constexpr std::array<std::pair<Kind, std::string_view>, 10> kNames{{{Kind::Started, "started"},
                                                                             {Kind::TaskStarted, "task_started"},
                                                                             {Kind::Trial, "trial"},
                                                                             {Kind::NewBest, "best"},
                                                                             {Kind::BatchMeasured, "batch"},
                                                                             {Kind::RaceStarted, "race_started"},
                                                                             {Kind::RaceFinished, "race_finished"},
                                                                             {Kind::TaskFailed, "task_failed"},
                                                                             {Kind::TaskFinished, "task_finished"},
                                                                             {Kind::Finished, "finished"}}};
  return std::ranges::find(kNames, kind, &std::pair<Kind, std::string_view>::first)->second;
}

TaskProgress TaskTuner::progress() const {
  TaskProgress progress;
  progress.open = open() && error_.empty();
  progress.count = task_->count;
  progress.flops = task_->flops;
  progress.trials = static_cast<std::int64_t>(best_by_trial_.size());
  progress.measured = trials_;
  progress.fruitless = since_gain_;
  progress.trial_seconds = step_seconds_ > 0 ? step_seconds_ : trial_seconds_;
  if (!best_by_trial_.empty()) progress.best_seconds = best_by_trial_.back();
  if (progress.trials > kGainWindow)
    progress.window_seconds = best_by_trial_[static_cast<std::size_t>(progress.trials - 1 - kGainWindow)];
  return progress;
}

TaskReport TaskTuner::report() const {
  TaskReport report;
  report.name = task_->name;
  report.key = task_->key.text();
  report.count = task_->count;
  report.trials = trials_;
  report.resumed = resumed_;
  report.failures = failures_;
  report.failure_reason = failure_reason_;
  report.error = error_;
  report.roofline_seconds = roofline_seconds_;
  if (index_) report.valid_candidates = index_->size();
  if (scorer_) report.model = scorer_->counts();
  if (const std::optional<std::size_t> entry = default_entry(); entry && entries_[*entry].measurement.ok()) {
    report.default_seconds = entries_[*entry].measurement.min_seconds;
    report.default_median_seconds = entries_[*entry].measurement.median_seconds;
  }
  std::vector<double> sampled;
  for (const search::Candidate& candidate : sample_) {
    const auto found = at_.find(candidate);
    if (found != at_.end() && usable(entries_[found->second]))
      sampled.push_back(entries_[found->second].measurement.min_seconds);
  }
  if (!sampled.empty()) report.median_random_seconds = measure::median(sampled);
  const std::optional<std::size_t> best = winner();
  if (!best) return report;
  const Entry& entry = entries_[*best];
  report.best_seconds = entry.measurement.min_seconds;
  report.best_median_seconds = entry.measurement.median_seconds;
  if (task_->flops > 0) report.gflops = task_->flops / entry.measurement.min_seconds * 1e-9;
  const record::CandidateRecord candidate = search::to_record(*space_, entry.candidate);
  report.best_candidate = candidate.text();
  report.default_kept = entry.candidate == *default_;
  if (session_->options->store == nullptr) return report;
  for (const record::Record& record : session_->options->store->all(task_->key, session_->fingerprint)) {
    if (record.candidate == candidate) report.record_id = record.id;
  }
  return report;
}

void TaskTuner::note(const char* what) const { session_->watchdog->note(std::string(what) + " " + task_->name); }

void TaskTuner::fail(const std::string& reason) {
  error_ = reason;
  emit(Event::Kind::TaskFailed);
}

void TaskTuner::emit_trial(const Entry& entry) const {
  if (!session_->options->progress) return;
  const record::Measurement& m = entry.measurement;
  emit(Event::Kind::Trial, TrialEvent{search::to_record(*space_, entry.candidate).text(), entry.origin, m.failure,
                                      m.reason, m.ok() ? m.min_seconds : 0, m.build_seconds, m.run_seconds});
}

void TaskTuner::emit(Event::Kind kind, std::optional<TrialEvent> trial) const {
  if (!session_->options->progress) return;
  Event event = session_->event(kind);
  event.task = number_;
  event.name = task_->name;
  event.key = task_->key.text();
  event.count = task_->count;
  event.task_trials = trials_;
  event.failures = failures_;
  event.trial = std::move(trial);
  event.reason = error_;
  event.roofline_seconds = roofline_seconds_;
  if (const std::optional<std::size_t> entry = default_entry(); entry && entries_[*entry].measurement.ok())
    event.default_seconds = entries_[*entry].measurement.min_seconds;
  const bool final = kind == Event::Kind::TaskFinished;
  if (const std::optional<std::size_t> best = final ? winner() : fastest())
    event.best_seconds = entries_[*best].measurement.min_seconds;
  session_->options->progress(event);
}

}  // namespace temper::tune
