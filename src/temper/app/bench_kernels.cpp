#include "temper/app/bench_kernels.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "temper/app/exclusive.h"
#include "temper/support/error.h"
#include "temper/support/random.h"
#include "temper/tune/lookup.h"
#include "temper/tune/reference.h"
#include "temper/tune/verdict.h"

namespace temper::app {
namespace {

/// A block is run again so often when others disturb all of a kernel's samples.
constexpr int kMostDisturbed = 20;

[[noreturn]] void fail(const tune::Task& task, const std::string& reason) {
  throw Error(ErrorCode::Internal, "the kernel cannot be timed: " + reason, task.key.text());
}

std::string bytes_of(const codegen::Artifact& artifact) {
  return {reinterpret_cast<const char*>(artifact.bytes.data()), artifact.bytes.size()};
}

/// Gives the hardware the task, with outputs that the oracle has confirmed.
void load_task(const tune::Task& task, tune::HardwareTest& hardware, const target::Target& target,
               const BenchOptions& options) {
  const tune::Built untuned = build_between_timings(
      options.cancellation, [&] { return tune::artifact_for(nullptr, task, target, tune::Mode::Off); });
  tune::Reference reference(task.compute, task.tolerance_factor, options.seed, task.cold_constants);
  hardware.set_task(reference.data(), std::nullopt);
  const tune::RunOnce once = hardware.run_once(bytes_of(untuned.artifact));
  if (!once.ok()) fail(task, once.reason);
  if (const auto wrong = reference.establish(once.outputs)) fail(task, *wrong);
  hardware.set_task(reference.data(), std::nullopt);
}

}  // namespace

std::vector<OpTimes> bench_kernels(std::span<const Contest> contests, tune::HardwareTest& hardware,
                                   const target::Target& target, const BenchOptions& options) {
  TEMPER_CHECK(!contests.empty(), "nothing to time");
  const tune::Task& task = contests.front().task;
  std::vector<std::string> artifacts;
  for (const Contest& contest : contests) {
    TEMPER_CHECK(contest.peers.empty() && contest.task.key == task.key, "one task, without peers");
    artifacts.push_back(bytes_of(contest.built.artifact));
  }
  load_task(task, hardware, target, options);

  std::vector<OpTimes> out(contests.size());
  for (std::size_t c = 0; c < contests.size(); ++c) {
    const record::Measurement measurement = hardware.time(artifacts[c]);
    // A time that cannot be trusted is no matter here: the rounds below are what counts.
    if (!measurement.ok() && measurement.failure != record::FailureKind::Unstable) fail(task, measurement.reason);
    out[c].record = contests[c].built.record;
    if (!contests[c].built.note.empty()) out[c].notes.push_back(contests[c].built.note);
    out[c].max_error = measurement.max_error;
    out[c].temper.name = "temper";
  }
  RandomStream random(options.seed);
  std::vector<std::int64_t> numbers;
  int disturbed = 0;
  for (int done = 0; done < options.rounds;) {
    options.cancellation.throw_if_requested();
    const int rounds = std::min(tune::kBlockRounds, options.rounds - done);
    const tune::RaceResult race = hardware.race(artifacts, numbers, rounds, random.next());
    if (race.failure == record::FailureKind::Unstable) {
      if (++disturbed < kMostDisturbed) continue;
      throw Error(ErrorCode::Busy, "other processes never let the kernel run undisturbed: " + race.reason,
                  task.key.text(), "try again when the machine is calmer");
    }
    if (!race.ok()) fail(task, race.reason);
    if (race.samples.size() != contests.size()) fail(task, "a kernel was not timed");
    numbers = race.numbers;
    for (std::size_t c = 0; c < contests.size(); ++c) {
      std::vector<double>& samples = out[c].temper.samples;
      samples.insert(samples.end(), race.samples[c].begin(), race.samples[c].end());
    }
    done += rounds;
  }
  for (std::size_t c = 0; c < contests.size(); ++c) {
    peers::SideTimes& times = out[c].temper;
    if (times.samples.empty()) fail(task, "it was not timed");
    times.calls = numbers[c];
    peers::summarize(times);
  }
  return out;
}

}  // namespace temper::app
