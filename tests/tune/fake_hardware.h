// A hardware test that replays a table: nothing is compiled, nothing runs, time is told.
#pragma once

#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "temper/ir/oracle.h"
#include "temper/record/record.h"
#include "temper/support/clock.h"
#include "temper/support/error.h"
#include "temper/tune/hardware_test.h"

namespace temper::tune::testing {

/// What the table says of a candidate.
struct Fate {
  double seconds = 1e-3;
  record::FailureKind build_failure = record::FailureKind::None;
  record::FailureKind run_failure = record::FailureKind::None;
  bool wrong_output = false;  ///< of the run that returns its outputs
  double race_seconds = 0;    ///< 0: as `seconds`
  double race_swing = 0;      ///< share by which races differ from `race_seconds`, upwards and downwards in turn
  double max_error = 0;
  bool spoils_races = false;  ///< races that it takes part in have no result
};
using Table = std::function<Fate(const record::CandidateRecord&)>;

class FakeHardware final : public HardwareTest {
 public:
  /// `compute` is borrowed: it says what right outputs are.
  FakeHardware(const ir::Compute& compute, Table table) : compute_(&compute), table_(std::move(table)) {}

  int parallel_builds() const override { return 2; }

  std::vector<BuildResult> build(std::span<const BuildJob> jobs) override {
    std::vector<BuildResult> results;
    for (const BuildJob& job : jobs) {
      ++builds;
      advance(build_seconds);
      const record::FailureKind failure = fate(job.candidate).build_failure;
      if (failure != record::FailureKind::None) {
        results.push_back({failure, "cannot be built", "", build_seconds});
      } else {
        results.push_back({failure, "", job.candidate, build_seconds});
      }
    }
    return results;
  }

  void keep_busy(const std::function<void()>& work) override {
    busy = true;
    advance(idle_per_search);
    idle_ += idle_per_search;
    work();
    busy = false;
  }

  void set_task(const TaskData& data, std::optional<double> best) override {
    data_ = data;
    best_told.push_back(best);
    ++tasks_set;
  }

  RunOnce run_once(const std::string& artifact) override {
    ++outputs_returned;
    if (before_run) before_run();
    ir::Inputs inputs;
    for (const TaskData::Input& input : data_.inputs)
      inputs[input.name] = std::as_bytes(std::span(input.bytes.data(), input.bytes.size()));
    ir::Oracle oracle(*compute_, inputs);
    RunOnce once;
    for (const ir::StagePtr& output : compute_->outputs) {
      std::string bytes;
      for (const double value : oracle.all(*output)) {
        const auto element = static_cast<float>(value) + (fate(artifact).wrong_output ? 1.0F : 0.0F);
        bytes.append(reinterpret_cast<const char*>(&element), sizeof element);
      }
      once.outputs[output->name] = bytes;
    }
    return once;
  }

  record::Measurement time(const std::string& artifact) override {
    if (before_run) before_run();
    measured.push_back(artifact);
    for (const TaskData::Output& output : data_.outputs)
      compared_everything = compared_everything && !output.expected.empty();
    advance(run_seconds + idle_per_run);
    idle_ += idle_per_run;
    const Fate told = fate(artifact);
    record::Measurement measurement;
    measurement.failure = told.run_failure;
    if (!measurement.ok()) {
      measurement.reason = "failed on purpose";
      return measurement;
    }
    measurement.min_seconds = told.seconds;
    measurement.median_seconds = told.seconds * 1.001;
    measurement.max_error = told.max_error;
    measurement.repeats = 5;
    measurement.number = 1;
    return measurement;
  }

  RaceResult race(std::span<const std::string> artifacts, std::span<const std::int64_t>, int rounds,
                  std::uint64_t) override {
    ++races;
    advance(race_cost);
    RaceResult result;
    if (spoiled_races > 0) {
      --spoiled_races;
      result.failure = record::FailureKind::Unstable;
    }
    for (const std::string& artifact : artifacts) {
      raced.insert(artifact);
      const Fate told = fate(artifact);
      if (told.spoils_races) result.failure = record::FailureKind::Unstable;
      const double swing = races % 2 == 0 ? 1 + told.race_swing : 1 - told.race_swing;
      result.samples.emplace_back(static_cast<std::size_t>(rounds),
                                  swing * (told.race_seconds > 0 ? told.race_seconds : told.seconds));
      result.numbers.push_back(1);
    }
    return result;
  }

  double idle_seconds() const override { return idle_; }

  std::vector<std::string> measured;  ///< candidates that were timed, in order
  std::set<std::string> raced;
  std::vector<std::optional<double>> best_told;  ///< with each task that was set
  int builds = 0, races = 0, tasks_set = 0, outputs_returned = 0;
  bool busy = false;                ///< within `keep_busy`
  double idle_per_search = 0;       ///< waited before each `keep_busy`
  int spoiled_races = 0;            ///< so many of the next races have no result
  bool compared_everything = true;  ///< every timed run had expected outputs
  double build_seconds = 0.01, run_seconds = 0.02, race_cost = 0.05, idle_per_run = 0;
  ManualClock* clock = nullptr;
  std::function<void()> before_run;

 private:
  Fate fate(const std::string& candidate) const { return table_(record::CandidateRecord::parse(candidate)); }
  void advance(double seconds) {
    if (clock != nullptr)
      clock->advance(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds)));
  }

  const ir::Compute* compute_;
  Table table_;
  TaskData data_;
  double idle_ = 0;
};

}  // namespace temper::tune::testing
