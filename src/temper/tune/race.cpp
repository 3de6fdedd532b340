// The end of a task's search: a heat among the best dozen, then a final of the best few and the default against each
// other, so that what is kept is faster and not luckier: of hundreds of candidates timed once, the first is the one
// with the most luck among those that are equally fast. The final goes on until its leader is faster than each of the
// others or a tie with it (`measure/paired_test.h`), or its blocks are used up.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "temper/measure/paired_test.h"
#include "temper/measure/statistics.h"
#include "temper/schedule/trace.h"
#include "temper/support/error.h"
#include "temper/support/random.h"
#include "temper/tune/hardware_phase.h"
#include "temper/tune/task_tuner.h"
#include "temper/tune/verdict.h"

namespace temper::tune {
namespace {

constexpr std::size_t kHeat = 12;
constexpr int kHeatRounds = 6;
constexpr std::size_t kFinalists = 4, kThoroughFinalists = 6;
/// All racers of a final take part in its first blocks, in more only those that are undecided.
constexpr int kBlocks = 8, kThoroughBlocks = 20;
/// Rounds that a thorough final takes for most racers.
constexpr int kThoroughRounds = 24;
constexpr int kRounds = kBlocks * kBlockRounds;
static_assert(kRounds >= kSettledRepeats, "what was raced is ranked by its median");
/// Racers are decided against the leader by the best times of blocks. For two racers this is the probability of losing
/// to luck; among more the leader is chosen by the same times, so it is a guide there and no bound.
constexpr measure::PairedTest::Options kDecision{.false_alarms = 0.05, .width = kNoise};
/// A heat and the longer final are worth their time when the search took this many times theirs.
constexpr double kSearchToRace = 8;
/// A race may put a candidate behind others that did not take part; then these race too.
constexpr int kMostRaces = 8;
/// Blocks are taken again where others, or a change of the clock, disturbed one of the racers too much.
constexpr int kAttempts = 3;
/// What one sample takes at least, calls and preparation included.
constexpr double kSampleSeconds = 3e-3;

std::size_t finalists(bool thorough) { return thorough ? kThoroughFinalists : kFinalists; }

/// One of a final's racers.
struct Racer {
  std::size_t entry;
  std::int64_t number = 0;              ///< calls a sample
  std::vector<double> samples, blocks;  ///< seconds per call; of `blocks` the least of each
};

/// Whether more blocks can show which of `racer` and `leader` is the faster.
bool undecided(const Racer& racer, const Racer& leader) {
  measure::PairedTest test(kDecision);
  for (std::size_t i = 0; i < std::min(racer.blocks.size(), leader.blocks.size()); ++i)
    test.add(racer.blocks[i], leader.blocks[i]);
  return test.verdict() == measure::Verdict::Open;
}

}  // namespace

std::vector<std::size_t> TaskTuner::best(std::size_t count) const {
  std::vector<std::size_t> ranked = ranking();
  if (ranked.size() > count) ranked.resize(count);
  return ranked;
}

std::vector<std::size_t> TaskTuner::racers() const {
  std::vector<std::size_t> all = best(kHeat);
  if (const std::optional<std::size_t> entry = default_entry()) all.push_back(*entry);
  return all;
}

double TaskTuner::race_seconds(bool thorough) const {
  const auto sample = [&](std::size_t i) {
    return std::max(entries_[i].measurement.min_seconds * 2.5, kSampleSeconds);
  };
  const int rounds = thorough ? kThoroughRounds : kRounds;
  double seconds = trial_seconds_;
  if (thorough) {
    for (const std::size_t i : best(kHeat)) seconds += sample(i) * (kHeatRounds + 2);
  }
  for (const std::size_t i : best(finalists(thorough))) seconds += sample(i) * (rounds + 2);
  if (const std::optional<std::size_t> entry = default_entry()) seconds += sample(*entry) * (rounds + 2);
  return seconds;
}

bool TaskTuner::races_thoroughly() const {
  return static_cast<double>(trials_) * trial_seconds_ >= kSearchToRace * race_seconds(true);
}

double TaskTuner::race_estimate() const {
  const std::vector<std::size_t> final = best(kFinalists);
  return final.empty() || entries_[final.front()].raced ? 0 : race_seconds(races_thoroughly());
}

void TaskTuner::race() {
  if (!begun_ || !error_.empty()) return;
  bool raced = false;
  const auto announce = [&] {
    if (!std::exchange(raced, true)) emit(Event::Kind::RaceStarted);
  };
  race_rounds(announce);
  budget_.reserve(race_estimate());  // what was put aside and not used may go on with the search
  if (raced) emit(Event::Kind::RaceFinished);
}

void TaskTuner::race_rounds(const std::function<void()>& announce) {
  const bool thorough = races_thoroughly();
  if (const std::vector<std::size_t> heat = best(kHeat);
      thorough && !session_->stop() && heat.size() > finalists(thorough)) {
    announce();
    race_heat(heat);
  }
  for (int attempt = 0; attempt < kMostRaces; ++attempt) {
    std::vector<std::size_t> racers = best(finalists(thorough));
    const std::optional<std::size_t> untuned = default_entry();
    const bool unsteady = untuned && entries_[*untuned].measurement.failure == record::FailureKind::Unstable;
    if (unsteady) racers.push_back(*untuned);
    if (racers.empty() || (racers.size() == 1 && untuned && racers.front() == *untuned && !unsteady)) break;
    const bool settled = entries_[racers.front()].raced;
    const bool nothing_new = trials_ == 0 && std::ranges::all_of(racers, [&](std::size_t i) {
                               return entries_[i].measurement.repeats >= kRounds;
                             });
    if (settled || nothing_new) break;
    if (untuned && entries_[*untuned].measurement.ok() && std::ranges::find(racers, *untuned) == racers.end())
      racers.push_back(*untuned);
    if (session_->stop() || !has_time()) break;
    announce();
    if (!race_final(racers, thorough ? kThoroughBlocks : kBlocks)) break;
  }
}

void TaskTuner::finish() const {
  if (begun_ && error_.empty()) emit(Event::Kind::TaskFinished);
}

std::vector<std::size_t> TaskTuner::with_artifacts(const std::vector<std::size_t>& racers) {
  std::vector<BuildJob> jobs;
  std::vector<std::size_t> missing;
  for (const std::size_t i : racers) {
    if (!entries_[i].artifact.empty()) continue;
    const search::Candidate& candidate = entries_[i].candidate;
    missing.push_back(i);
    jobs.push_back(build_job(*space_, candidate, space_->materialise(candidate)));
  }
  if (!jobs.empty()) {
    const HardwarePhase scope(*session_->phases, Phase::Build, *session_->hardware);
    std::vector<BuildResult> built = session_->hardware->build(jobs);
    for (std::size_t i = 0; i < built.size(); ++i) entries_[missing[i]].artifact = std::move(built[i].artifact);
  }
  std::vector<std::size_t> ready = racers;
  std::erase_if(ready, [&](std::size_t i) { return entries_[i].artifact.empty(); });
  return ready;
}

RaceResult TaskTuner::time_in_turn(const std::vector<std::size_t>& entries, std::span<const std::int64_t> numbers,
                                   int rounds, std::uint64_t seed) {
  std::vector<std::string> artifacts;
  for (const std::size_t i : entries) artifacts.push_back(entries_[i].artifact);
  const HardwarePhase scope(*session_->phases, Phase::Run, *session_->hardware);
  RaceResult result;
  for (int attempt = 0; attempt < kAttempts && !session_->stop() && (attempt == 0 || has_time()); ++attempt) {
    note("racing candidates of");
    result = session_->hardware->race(artifacts, numbers, rounds, seed);
    if (result.failure != record::FailureKind::Unstable) break;
  }
  const bool complete = result.samples.size() == entries.size() && result.numbers.size() == entries.size() &&
                        std::ranges::none_of(result.samples, &std::vector<double>::empty);
  if (result.ok() && !complete) {
    result.failure = record::FailureKind::Unstable;
    result.reason = "a racer was not timed";
  }
  return result;
}

void TaskTuner::keep_race(std::size_t i, std::span<const double> samples) {
  record::Measurement& measurement = entries_[i].measurement;
  // A final that was stopped early says less than the trial did.
  if (measurement.ok() && std::ssize(samples) < measurement.repeats) return;
  measurement.min_seconds = measure::minimum(samples);
  measurement.median_seconds = measure::median(samples);
  measurement.repeats = static_cast<int>(samples.size());
  measurement.failure = record::FailureKind::None;  // of a default whose time could not be trusted before
  measurement.reason.clear();
}

void TaskTuner::store_race(const std::vector<std::size_t>& entries) {
  if (session_->options->store == nullptr) return;
  std::vector<record::Record> records;
  for (const std::size_t i : entries) {
    records.push_back(to_record(entries_[i]));
    records.back().trace = trace_of(entries_[i]);
  }
  session_->options->store->append(records, store::OnConflict::Replace);
}

void TaskTuner::race_heat(const std::vector<std::size_t>& racers) {
  try {
    load_task();
    const std::vector<std::size_t> ready = with_artifacts(racers);
    const RaceResult result = time_in_turn(ready, {}, kHeatRounds, seed_);
    if (!result.ok()) return;
    for (std::size_t i = 0; i < ready.size(); ++i) keep_race(ready[i], result.samples[i]);
    store_race(ready);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Cancelled) throw;
    session_->cancelled = true;
  }
}

bool TaskTuner::race_final(const std::vector<std::size_t>& racers, int most_blocks) {
  try {
    load_task();
    std::vector<Racer> field;
    for (const std::size_t i : with_artifacts(racers)) field.push_back({i, 0, {}, {}});
    std::vector<std::size_t> open(field.size());
    std::iota(open.begin(), open.end(), std::size_t{0});
    const RandomStream random = RandomStream(seed_).fork("final");
    for (int block = 0; block < most_blocks && !open.empty(); ++block) {
      if (block > 0 && (session_->stop() || !has_time())) break;
      RandomStream draw = random.fork(static_cast<std::uint64_t>(block));
      draw.shuffle(open);
      std::vector<std::size_t> entries;
      std::vector<std::int64_t> numbers;
      for (const std::size_t r : open) {
        entries.push_back(field[r].entry);
        if (block > 0) numbers.push_back(field[r].number);
      }
      const RaceResult result = time_in_turn(entries, numbers, kBlockRounds, draw.next());
      if (!result.ok() && block == 0) return false;
      if (!result.ok()) break;
      for (std::size_t i = 0; i < open.size(); ++i) {
        Racer& racer = field[open[i]];
        racer.number = result.numbers[i];
        racer.samples.insert(racer.samples.end(), result.samples[i].begin(), result.samples[i].end());
        racer.blocks.push_back(measure::minimum(result.samples[i]));
      }
      if (block + 1 < kBlocks) continue;
      const std::size_t leader =
          *std::ranges::min_element(open, {}, [&](std::size_t r) { return measure::median(field[r].samples); });
      std::erase_if(open, [&](std::size_t r) { return r != leader && !undecided(field[r], field[leader]); });
      if (open.size() == 1) break;
    }
    if (field.empty()) return false;
    std::vector<std::size_t> entries;
    for (const Racer& racer : field) {
      keep_race(racer.entry, racer.samples);
      if (std::ssize(racer.blocks) >= kBlocks) entries_[racer.entry].raced = true;
      entries.push_back(racer.entry);
    }
    store_race(entries);
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Cancelled) throw;
    session_->cancelled = true;
    return false;
  }
}

std::optional<std::size_t> TaskTuner::winner() const {
  std::vector<std::size_t> ranked = ranking();
  if (ranked.empty()) return std::nullopt;
  lead_with_preferred(ranked.begin(), ranked.end(),
                      [&](std::size_t i) -> const record::Measurement& { return entries_[i].measurement; });
  const std::optional<std::size_t> untuned = default_entry();
  if (!untuned || !entries_[*untuned].measurement.ok()) return ranked.front();
  for (const std::size_t i : ranked) {
    if (beats(entries_[i].measurement, entries_[*untuned].measurement)) return i;
  }
  return untuned;
}

}  // namespace temper::tune
