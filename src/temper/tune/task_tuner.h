// The search of one task: resume, default, batches, race.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "temper/search/enumeration.h"
#include "temper/search/strategy.h"
#include "temper/tune/candidate_scorer.h"
#include "temper/tune/hardware_test.h"
#include "temper/tune/reference.h"
#include "temper/tune/scheduler.h"
#include "temper/tune/session.h"
#include "temper/tune/task.h"
#include "temper/tune/task_space.h"

namespace temper::tune {

class TaskTuner {
 public:
  /// Borrows both.
  TaskTuner(const Task& task, std::size_t number, Session& session);

  /// Builds the space, takes what the store knows, and measures the default unless that is known. Throws
  /// Error{Unsupported} when there is no space, and what store and hardware test throw.
  void begin();
  /// Measures uniformly drawn candidates for the report's `median_random_seconds`.
  void sample_random();
  /// Measures `draw_sample` of the task, except what is known; ends early when the budget ends or a stop is requested.
  void measure_sample(std::size_t count, std::uint64_t seed);
  /// One batch of up to `count` candidates: fewer when the budget or the space ends. Everything measured is in the
  /// store when it returns or throws.
  void step(int count);
  /// Times the best few and the default against each other and keeps those times, unless the best was there already.
  void race();
  /// Tells that best and default are final.
  void finish() const;

  /// Takes more trials: the space is not exhausted or proposals are left, patience has not run out and the task's own
  /// budget has not ended.
  bool open() const;
  bool begun() const { return begun_; }
  std::size_t number() const { return number_; }
  /// Runs what may fail for this task alone, on its time: what it lacks is said in its report, and others go on. Throws
  /// what has to do with the machine or the store: nothing else would work either.
  void attempt(const std::function<void()>& work);
  TaskProgress progress() const;
  /// Wall-clock that `race` is expected to take; 0 when there is nothing to race.
  double race_estimate() const;
  TaskReport report() const;
  void emit(Event::Kind kind) const { emit(kind, {}); }

 private:
  struct Entry {
    search::Candidate candidate;
    record::Measurement measurement;
    std::string origin;  ///< as Record::strategy
    std::uint64_t seed = 0;
    std::string artifact;  ///< of the best few and the default
    bool raced = false;    ///< in a final of this call
  };
  /// A candidate that may be built, or why it may not.
  struct Prepared {
    std::optional<BuildJob> build;
    record::Measurement failure;
  };
  struct Job {
    search::Candidate candidate;
    BuildJob build;
  };

  /// Why it cannot be tuned, from here on.
  void fail(const std::string& reason);
  /// Throws Error{Unsupported} when the tensors exceed what processes exchange.
  void check_size() const;
  /// Takes what the store knows of the task, and proposes the best of what another version measured.
  void resume();
  /// Counts current records as measured, without a trial; those of candidates that are known already are skipped.
  void take(std::span<const record::Record> records);
  /// Takes what other tuners have stored since: nothing is measured twice but what is in flight in two of them.
  void hear_others();
  /// Proposes what won for similar tasks so far; again after twice as many trials, for they are tuned meanwhile.
  void transfer();
  /// Has a valid candidate that is new measured with the next batch.
  void propose(const search::Candidate& candidate);
  /// `step` without the account of what it took.
  void search(int count);
  /// Measures what is new of `batch`; false when the budget ended or a stop was requested before all were done.
  bool measure(const std::vector<search::Candidate>& batch, const std::string& origin);
  /// Those of `batch` that are new and may be built, in its order; the others become failures.
  std::vector<Job> prepare(const std::vector<search::Candidate>& batch, const std::string& origin);
  /// May be called by several threads at once.
  Prepared prepare(const search::Candidate& candidate) const;
  /// Those that the strategy proposes, while no tuner of this machine times; none when a stop was requested.
  std::vector<search::Candidate> ask(int count);
  record::Measurement run(const BuildResult& built);
  const std::string& design_of(const Entry& entry) const;
  /// Whether it ran and its error is one that the user allows.
  bool usable(const Entry& entry) const;
  void load_task();
  /// Gives the hardware test the task's data and its best time.
  void set_task();
  void recover_reference();
  void add(const search::Candidate& candidate, record::Measurement measurement, const std::string& origin,
           std::string artifact);
  /// Stores what is new in one transaction, then tells strategy and model of it.
  void commit();
  record::Record to_record(const Entry& entry) const;
  std::optional<std::string> trace_of(const Entry& entry) const;
  /// The usable entry with the least minimum.
  std::optional<std::size_t> fastest() const;
  /// Usable entries, fastest first.
  std::vector<std::size_t> ranking() const;
  /// The first `count` of `ranking`.
  std::vector<std::size_t> best(std::size_t count) const;
  /// Those whose artifacts are kept: they may be called to race.
  std::vector<std::size_t> racers() const;
  /// What a race takes, in seconds, about.
  double race_seconds(bool thorough) const;
  /// Whether the search was long enough for a heat before the final.
  bool races_thoroughly() const;
  /// Those of `racers` whose artifacts are there or could be built.
  std::vector<std::size_t> with_artifacts(const std::vector<std::size_t>& racers);
  /// A failure also when an entry got no time.
  RaceResult time_in_turn(const std::vector<std::size_t>& entries, std::span<const std::int64_t> numbers, int rounds,
                          std::uint64_t seed);
  void keep_race(std::size_t entry, std::span<const double> samples);
  void store_race(const std::vector<std::size_t>& entries);
  /// Calls `announce` before anything is timed.
  void race_rounds(const std::function<void()>& announce);
  /// Keeps no times when one of them could not be timed.
  void race_heat(const std::vector<std::size_t>& racers);
  /// False when nothing was timed.
  bool race_final(const std::vector<std::size_t>& racers, int most_blocks);
  std::optional<std::size_t> winner() const;
  std::optional<std::size_t> default_entry() const;
  void forget_artifacts();
  /// Budgets, of the call and of the task.
  bool fits_trial() const;
  bool has_time() const;
  std::int64_t trials_left() const;
  double spent_share() const;
  bool out_of_patience() const;
  /// Tells the watchdog what begins: "searching for candidates of", before the task's name.
  void note(const char* what) const;
  void emit(Event::Kind kind, std::optional<TrialEvent> trial) const;
  void emit_trial(const Entry& entry) const;

  const Task* task_;
  std::size_t number_;
  Session* session_;
  std::uint64_t seed_;           ///< of this task
  double roofline_seconds_ = 0;  ///< 0: unknown

  std::unique_ptr<TaskSpace> space_;
  std::unique_ptr<search::SpaceIndex> index_;
  std::unique_ptr<CandidateScorer> scorer_;
  std::unique_ptr<search::Strategy> strategy_;
  std::optional<search::Candidate> default_;
  /// Measured first: winners of other versions and of similar tasks, and what a batch that was cut short left.
  std::vector<search::Candidate> proposals_;
  std::vector<search::Candidate> sample_;
  std::optional<Reference> reference_;

  std::vector<Entry> entries_;
  search::CandidateMap<std::size_t> at_;  ///< candidate → entry
  std::int64_t newest_ = 0;               ///< the greatest number among the records that were read
  std::vector<std::size_t> uncommitted_;
  std::vector<double> best_by_trial_;  ///< the best after each trial, resumed ones first; 0: nothing ran
  std::map<std::string, std::int64_t> failures_;
  std::string failure_reason_;  ///< of the first failure
  std::int64_t trials_ = 0, resumed_ = 0, since_gain_ = 0;
  double trial_seconds_ = 0;        ///< of one trial's build and run, lately
  double step_seconds_ = 0;         ///< of one trial with search and model, lately; 0: there was no step yet
  std::int64_t next_transfer_ = 0;  ///< trials at which similar tasks are asked for their winners again
  Budget budget_;                   ///< of this task
  bool begun_ = false, exhausted_ = false;
  std::string error_;
};

}  // namespace temper::tune
