#include "temper/tune/self_test.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <csignal>
#include <optional>

#include "temper/measure/statistics.h"
#include "temper/schedule/trace.h"
#include "temper/space/template.h"
#include "temper/support/error.h"
#include "temper/support/random.h"
#include "temper/tune/reference.h"
#include "temper/tune/task.h"
#include "temper/tune/task_space.h"
#include "temper/tune/verdict.h"

namespace temper::tune {
namespace {

/// A block of a race is run again so often when others disturb all of its samples.
constexpr int kMostUnstable = 2;

/// A process that does nothing but compute, while this lives.
class BusyProcess {
 public:
  BusyProcess() : child_(fork()) {
    if (child_ < 0) throw Error(ErrorCode::Io, "cannot start a process that keeps a core busy", "self-test");
    if (child_ > 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::atomic<unsigned> turns{0};
    for (;;) turns.fetch_add(1, std::memory_order_relaxed);
  }
  ~BusyProcess() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  BusyProcess(const BusyProcess&) = delete;
  BusyProcess& operator=(const BusyProcess&) = delete;

 private:
  pid_t child_;
};

/// A square matrix product, compiled. `load` has to come before `race` where another kernel was loaded.
class Kernel {
 public:
  Kernel(const target::Target& target, HardwareTest& hardware, std::int64_t size, std::uint64_t seed)
      : hardware_(&hardware), task_(task_from_spec(fmt::format("matmul(m={0},n={0},k={0})", size), 1)) {
    const TaskSpace space(task_, target, space::builtin_templates());
    const search::Candidate candidate = space.default_candidate();
    const BuildJob job = build_job(space, candidate, space.materialise(candidate));
    BuildResult built = hardware.build(std::span(&job, 1)).front();
    if (!built.ok()) fail(built.reason);
    artifact_ = std::move(built.artifact);
    reference_.emplace(task_.compute, task_.tolerance_factor, seed);
  }
  void load() { hardware_->set_task(reference_->data(), std::nullopt); }
  const std::string& name() const { return task_.name; }
  /// Times it against itself, samples of `numbers` calls each: seconds per call.
  RaceResult race(std::span<const std::int64_t> numbers, std::uint64_t seed) const {
    const std::array<std::string, 2> racers{artifact_, artifact_};
    RaceResult result = hardware_->race(racers, numbers, kBlockRounds, seed);
    for (int again = 0; again < kMostUnstable && result.failure == record::FailureKind::Unstable; ++again)
      result = hardware_->race(racers, numbers, kBlockRounds, seed);
    if (result.failure == record::FailureKind::Unstable) {
      throw Error(ErrorCode::Busy, "other processes never let " + task_.name + " run undisturbed: " + result.reason,
                  "self-test", "try again when the machine is calmer");
    }
    if (!result.ok()) fail(result.reason);
    if (result.samples.size() != 2 || result.numbers.size() != 2) fail("a racer was not timed");
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw Error(ErrorCode::Internal, task_.name + " cannot be raced: " + reason, "self-test");
  }

  HardwareTest* hardware_;
  Task task_;
  std::string artifact_;
  std::optional<Reference> reference_;
};

/// A size whose product takes about `goal` seconds where that of `known` takes `seconds`: time grows with its cube.
std::int64_t size_for(double goal, std::int64_t known, double seconds) {
  constexpr std::int64_t kStep = 16;
  const double size = static_cast<double>(known) * std::cbrt(goal / seconds);
  return std::max<std::int64_t>(std::llround(size / kStep), 1) * kStep;
}

class Races {
 public:
  Races(const Kernel& kernel, double more_work, bool busy, const SelfTestOptions& options, RandomStream random)
      : kernel_(&kernel), options_(&options), random_(random) {
    series_.kernel = kernel.name();
    series_.more_work = more_work;
    series_.busy = busy;
    const RaceResult first = kernel.race({}, random_.next());
    series_.seconds = std::min(measure::minimum(first.samples[0]), measure::minimum(first.samples[1]));
    std::int64_t number = std::max(first.numbers[0], first.numbers[1]);
    // Whole calls make up the share of work, to a tenth of it.
    if (more_work > 0) number = std::max(number, static_cast<std::int64_t>(std::ceil(1 / more_work)));
    numbers_ = {number, std::llround(static_cast<double>(number) * (1 + more_work))};
  }

  RaceSeries run(int races) {
    std::vector<double> pairs;
    for (int i = 0; i < races; ++i) {
      pairs.push_back(race());
      series_.median_pairs = measure::median(pairs);
      if (options_->progress) options_->progress(series_);
    }
    return series_;
  }

 private:
  /// The pairs that it took.
  int race() {
    measure::PairedTest test(options_->test);
    while (test.verdict() == measure::Verdict::Open && test.pairs() < options_->most_pairs) {
      options_->cancellation.throw_if_requested();
      // The racer with more work takes either place, so that no place is the faster one.
      const bool swapped = random_.chance(0.5);
      std::array<std::int64_t, 2> numbers = numbers_;
      if (swapped) std::swap(numbers[0], numbers[1]);
      const RaceResult result = kernel_->race(numbers, random_.next());
      std::array<double, 2> times{};
      for (std::size_t i = 0; i < 2; ++i)
        times[i] = measure::minimum(result.samples[i]) * static_cast<double>(numbers[i]);
      if (swapped) std::swap(times[0], times[1]);
      test.add(times[0], times[1]);
    }
    ++series_.races;
    switch (test.verdict()) {
      case measure::Verdict::FirstFaster: ++series_.first; break;
      case measure::Verdict::SecondFaster: ++series_.second; break;
      case measure::Verdict::Tie: ++series_.tie; break;
      case measure::Verdict::Open: ++series_.open; break;
    }
    return test.pairs();
  }

  const Kernel* kernel_;
  const SelfTestOptions* options_;
  RandomStream random_;
  RaceSeries series_;
  std::array<std::int64_t, 2> numbers_{};
};

void check(const SelfTestOptions& options) {
  const bool possible = options.equal_races >= 0 && options.unequal_races >= 0 && options.more_work > 0 &&
                        options.most_pairs > 0 && std::ranges::all_of(options.goals, [](double g) { return g > 0; });
  if (!possible) {
    throw Error(ErrorCode::InvalidArgument, "numbers of races cannot be negative; pairs, work and goals are positive",
                "self-test");
  }
}

}  // namespace

std::vector<RaceSeries> self_test(const target::Target& target, HardwareTest& hardware,
                                  const SelfTestOptions& options) {
  check(options);
  const RandomStream random = RandomStream(options.seed).fork("self-test");
  constexpr std::int64_t kKnown = 256;
  Kernel known(target, hardware, kKnown, options.seed);
  known.load();
  const double seconds = measure::minimum(known.race({}, options.seed).samples[0]);
  std::vector<Kernel> kernels;
  for (const double goal : options.goals)
    kernels.emplace_back(target, hardware, size_for(goal, kKnown, seconds), options.seed);

  std::vector<RaceSeries> result;
  std::uint64_t number = 0;
  const auto run = [&](Kernel& kernel, double more_work, bool busy, int races) {
    if (races == 0) return;
    kernel.load();
    result.push_back(Races(kernel, more_work, busy, options, random.fork(number++)).run(races));
  };
  for (Kernel& kernel : kernels) run(kernel, 0, false, options.equal_races);
  for (const bool busy : {false, true}) {
    std::optional<BusyProcess> process;
    if (busy && options.unequal_races > 0) process.emplace();
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      if (options.goals[i] <= options.unequal_seconds) run(kernels[i], options.more_work, busy, options.unequal_races);
    }
  }
  return result;
}

}  // namespace temper::tune
