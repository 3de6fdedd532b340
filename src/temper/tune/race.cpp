// The end of a task's search: a heat among the best dozen, then a final of the best few and the default against each
// other, so that what is kept is faster and not luckier: of hundreds of candidates timed once, the first is the one
// with the most luck among those that are equally fast.
#include <algorithm>
#include <utility>

#include "temper/measure/statistics.h"
#include "temper/schedule/trace.h"
#include "temper/support/error.h"
#include "temper/tune/task_tuner.h"
#include "temper/tune/verdict.h"

namespace temper::tune {
namespace {

constexpr std::size_t kHeat = 12;
constexpr int kHeatRounds = 6;
constexpr std::size_t kFinalists = 4, kThoroughFinalists = 6;
constexpr int kRounds = 16, kThoroughRounds = 24;
/// A heat and the longer final are worth their time when the search took this many times theirs.
constexpr double kSearchToRace = 8;
/// A race may put a candidate behind others that did not take part; then these race too.
constexpr int kMostRaces = 8;
/// What one sample takes at least, calls and preparation included.
constexpr double kSampleSeconds = 3e-3;

std::size_t finalists(bool thorough) { return thorough ? kThoroughFinalists : kFinalists; }

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
  const bool thorough = races_thoroughly();
  if (thorough && !session_->stop()) {
    if (const std::vector<std::size_t> heat = best(kHeat);
        heat.size() > finalists(thorough) && !race_once(heat, kHeatRounds))
      return;
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
    if (session_->stop() || !session_->budget.allows_seconds(session_->phases->elapsed(), 0)) break;
    if (!race_once(racers, thorough ? kThoroughRounds : kRounds)) break;
  }
}

void TaskTuner::finish() const {
  if (begun_ && error_.empty()) emit(Event::Kind::TaskFinished);
}

bool TaskTuner::race_once(const std::vector<std::size_t>& racers, int rounds) {
  try {
    load_task();
    std::vector<BuildJob> jobs;
    std::vector<std::size_t> missing;
    for (const std::size_t i : racers) {
      if (!entries_[i].artifact.empty()) continue;
      const search::Candidate& candidate = entries_[i].candidate;
      missing.push_back(i);
      jobs.push_back({space_->compute_text(candidate), schedule::print(space_->materialise(candidate).trace()),
                      search::to_record(*space_, candidate).text()});
    }
    if (!jobs.empty()) {
      const PhaseClock::Scope scope(*session_->phases, Phase::Build);
      std::vector<BuildResult> built = session_->hardware->build(jobs);
      for (std::size_t i = 0; i < built.size(); ++i) entries_[missing[i]].artifact = std::move(built[i].artifact);
    }
    std::vector<std::size_t> ready;
    std::vector<std::string> artifacts;
    for (const std::size_t i : racers) {
      if (entries_[i].artifact.empty()) continue;
      ready.push_back(i);
      artifacts.push_back(entries_[i].artifact);
    }
    RaceResult result;
    {
      const PhaseClock::Scope scope(*session_->phases, Phase::Run);
      const double idle = session_->hardware->idle_seconds();
      result = session_->hardware->race(artifacts, rounds, seed_);
      session_->phases->settle();
      session_->phases->transfer(Phase::Run, Phase::Idle, session_->hardware->idle_seconds() - idle);
    }
    if (!result.ok() || result.samples.size() != ready.size()) return false;
    std::vector<record::Record> records;
    for (std::size_t i = 0; i < ready.size(); ++i) {
      if (result.samples[i].empty()) return false;
      Entry& entry = entries_[ready[i]];
      entry.measurement.min_seconds = measure::minimum(result.samples[i]);
      entry.measurement.median_seconds = measure::median(result.samples[i]);
      entry.measurement.repeats = static_cast<int>(result.samples[i].size());
      entry.measurement.failure = record::FailureKind::None;  // of a default whose time could not be trusted before
      entry.measurement.reason.clear();
      entry.raced = rounds >= kRounds;
      records.push_back(to_record(entry));
      records.back().trace = trace_of(entry);
    }
    if (session_->options->store != nullptr) session_->options->store->append(records, store::OnConflict::Replace);
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
  std::vector<const record::Measurement*> times;
  for (const std::size_t i : ranked) times.push_back(&entries_[i].measurement);
  const auto chosen = ranked.begin() + static_cast<std::ptrdiff_t>(preferred(times));
  std::rotate(ranked.begin(), chosen, std::next(chosen));
  const std::optional<std::size_t> untuned = default_entry();
  if (!untuned || !entries_[*untuned].measurement.ok()) return ranked.front();
  for (const std::size_t i : ranked) {
    if (beats(entries_[i].measurement, entries_[*untuned].measurement)) return i;
  }
  return untuned;
}

}  // namespace temper::tune
