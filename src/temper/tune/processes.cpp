#include "temper/tune/processes.h"

#include <utility>

#include "temper/measure/measurer.h"
#include "temper/protocol/failure.h"
#include "temper/protocol/messages.pb.h"
#include "temper/support/error.h"

namespace temper::tune {
namespace {

measure::MeasureOptions measure_options(int threads, const std::filesystem::path& programs,
                                        const TimingOptions& timing) {
  measure::MeasureOptions options;
  options.threads = threads;
  options.repeats = timing.repeat;
  options.number = timing.number;
  if (!programs.empty()) {
    options.builder = programs / "temper-builder";
    options.runner = programs / "temper-runner";
  }
  return options;
}

class Processes final : public HardwareTest {
 public:
  Processes(const target::Target& target, int threads, CancellationToken cancellation, const Clock& clock,
            const std::filesystem::path& programs, const TimingOptions& timing,
            std::unique_ptr<measure::RunnerAccess> runner)
      : cancellation_(std::move(cancellation)),
        measurer_(target::serialise(target), measure_options(threads, programs, timing), clock, std::move(runner)) {}

  int parallel_builds() const override { return measurer_.options().builders; }

  std::vector<BuildResult> build(std::span<const BuildJob> jobs) override {
    std::vector<measure::MeasureInput> inputs;
    for (const BuildJob& job : jobs) inputs.push_back({job.compute, job.trace});
    std::vector<BuildResult> results;
    for (protocol::BuildReply& reply : measurer_.build(inputs, cancellation_)) {
      if (reply.id() == 0) throw Error(ErrorCode::Cancelled, "stopped while candidates were built");
      BuildResult& result = results.emplace_back();
      result.failure = protocol::from_message(reply.failure());
      result.reason = reply.reason();
      result.artifact = std::move(*reply.mutable_artifact());
      result.seconds = reply.seconds();
    }
    return results;
  }

  void keep_busy(const std::function<void()>& work) override { measurer_.keep_busy(work, cancellation_); }

  void set_task(const TaskData& data, std::optional<double> best_seconds) override {
    protocol::SetTask message;
    message.set_cold_constants(data.cold_constants);
    for (const TaskData::Input& input : data.inputs) {
      protocol::TaskInput& item = *message.add_inputs();
      item.set_name(input.name);
      item.set_dtype(static_cast<int>(input.dtype));
      item.set_bytes(static_cast<std::int64_t>(input.bytes.size()));
      item.set_data(input.bytes);
    }
    for (const TaskData::Output& output : data.outputs) {
      protocol::TaskOutput& item = *message.add_outputs();
      item.set_name(output.name);
      item.set_dtype(static_cast<int>(output.dtype));
      item.set_bytes(output.bytes);
      if (!output.expected.empty()) item.set_expected(output.expected);
      item.set_absolute_tolerance(output.absolute_tolerance);
    }
    measurer_.set_task(std::move(message), best_seconds);
  }

  RunOnce run_once(const std::string& artifact) override {
    measure::Measurer::Outputs outputs = measurer_.run_once(artifact, cancellation_);
    return {outputs.measurement.failure, outputs.measurement.reason, std::move(outputs.outputs),
            outputs.measurement.run_seconds};
  }

  record::Measurement time(const std::string& artifact) override {
    return measurer_.time(artifact, true, cancellation_).measurement;
  }

  RaceResult race(std::span<const std::string> artifacts, std::span<const std::int64_t> numbers, int rounds,
                  std::uint64_t seed) override {
    measure::Measurer::Race race = measurer_.race(artifacts, numbers, rounds, seed, cancellation_);
    return {race.failure, race.reason, std::move(race.seconds), std::move(race.numbers)};
  }

  double idle_seconds() const override { return measurer_.phases().idle; }
  Disturbed disturbed() const override { return {measurer_.disturbed().clock, measurer_.disturbed().others}; }

 private:
  CancellationToken cancellation_;
  measure::Measurer measurer_;
};

}  // namespace

std::unique_ptr<HardwareTest> start_processes(const target::Target& target, int threads,
                                              const CancellationToken& cancellation, const Clock& clock,
                                              const std::filesystem::path& programs, const TimingOptions& timing) {
  return std::make_unique<Processes>(target, threads, cancellation, clock, programs, timing, nullptr);
}

RemoteHardware start_remote(const measure::RemoteRunnerOptions& runner, const CancellationToken& cancellation,
                            const Clock& clock, const std::filesystem::path& programs, const TimingOptions& timing) {
  auto remote = std::make_unique<measure::RemoteRunner>(runner);
  RemoteHardware result{target::parse_target(remote->target()), remote->cpus(), nullptr};
  result.test = std::make_unique<Processes>(result.target, runner.threads, cancellation, clock, programs, timing,
                                            std::move(remote));
  return result;
}

}  // namespace temper::tune
